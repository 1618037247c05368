"""Functionalized, the operator computes what it computes eagerly.

Compilers replace writes by new tensors before they do anything else: functionalization. What an
operator writes is known from its schema alone. What the schema hides, or a Functionalize kernel
forgets, is lost here.

Small functions that call the operator are run eagerly and functionalized; all that they return,
and all their arguments afterwards, have to be equal:

* `direct`: the call alone;
* `inside`: what is written is a copy that the function made, and it is returned;
* `views`: what is written is a part of a larger tensor, at an offset, several written arguments
  parts of the same one; the larger tensor is returned;
* `written`: each new result is written after the call. If it shares memory with an argument, the
  argument changes eagerly, and not when it is functionalized;
* `twice`: two arguments that may be one tensor are, where eager calls with the tensor and with a
  copy of it agree.

Column `functionalize` is `torch.func.functionalize`. Column `aot` is what `torch.compile` does:
the function is traced with AOTAutograd and its graph, with `auto_functionalized_v2` around
operators that write, is run as it is.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import torch

from opwright.check.finding import Kind
from opwright.check.observe.comparing import (
    ALIASED_RESULT,
    DIFFERENT_EACH_TIME,
    cause_text,
    programs,
    run,
    run_eagerly,
    select_few,
)
from opwright.check.observe.compiling import is_data_dependent
from opwright.check.observe.missing_meta import must_have_meta
from opwright.check.observe.program import has_pair, program_of
from opwright.check.observe.tensors import base
from opwright.check.observe.watch import silence_torch
from opwright.check.row import Row
from opwright.check.row_context import NotApplicableError
from opwright.kit.live import dispatcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from opwright.check.finding import Finding
    from opwright.check.observe.program import Program, Ran
    from opwright.check.row_context import RowContext
    from opwright.kit.declare.sample import Sample

__all__ = ["ROW"]

REFUSED = Kind(
    "refused",
    "torch refuses to functionalize the operator, as all its compilers do: a result is an argument",
    "return new tensors or nothing: a custom operator whose result is a written argument "
    "(`-> Tensor(a!)`) needs a Functionalize kernel, the tag inplace, or a declaration with "
    "OperatorSet(..., existing=True) that completes it",
)
LOST = Kind(
    "write-lost",
    "a tensor that the operator writes stays as it was",
    "declare the argument as written: Tensor(a!) x",
)
DIFFERS = Kind(
    "differs",
    "the functionalized operator computes something else than the eager one",
    "correct the functional form or the Functionalize kernel: it has to return every written "
    "argument as it is after the call",
)
SHARED = Kind(
    "shared-memory",
    "a result shares memory with an argument or another result, and the schema does not say so",
    "return a new tensor from the kernel (clone), or annotate the result: Tensor(a) x -> Tensor(a)",
)
RAISES = Kind(
    "raises",
    "the functionalized operator raises",
    "correct Meta or the Functionalize kernel: functionalized calls get other tensors than eager "
    "ones",
)

Transform: TypeAlias = "Callable[[Callable[..., Any]], Callable[..., Any]]"


def run_row(context: RowContext) -> None:
    """Compare functionalized functions with eager ones."""

    def examine(sample: Sample) -> Finding | None:
        transform: Transform = functionalize
        if context.column == "aot":
            transform = partial(trace, dynamic=is_data_dependent(context, sample))
        for program in all_programs(context, sample):
            found = compare(context, sample, program, transform)
            if found is not None:
                return found
        return None

    if context.column == "functionalize" and needs_kernel(context):
        message = (
            "torch.func.functionalize takes custom operators that write, or return views, only "
            "with a Functionalize kernel; compilers do not need one: see column aot"
        )
        raise NotApplicableError(message)
    context.each(examine, samples=select_few(context, 4))


def needs_kernel(context: RowContext) -> bool:
    """Return whether torch.func.functionalize refuses an operator, whatever it does."""
    schema = context.subject.overload._schema  # noqa: SLF001 - it has no public name
    is_aliasing = any(each.alias_info for each in (*schema.arguments, *schema.returns))
    if not is_aliasing or dispatcher.has_kernel(context.subject.overload, "Functionalize"):
        return False
    # One that is made of others can write; if its results are annotated it is refused all the same.
    is_made_of_others = dispatcher.has_kernel(context.subject.overload, "CompositeImplicitAutograd")
    return not is_made_of_others or any(each.alias_info for each in schema.returns)


def functionalize(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, functionalized."""
    wrapped: Callable[..., Any] = torch.func.functionalize(function, remove="mutations_and_views")
    return wrapped


def trace(function: Callable[..., Any], *, dynamic: bool) -> Callable[..., Any]:
    """Return the function as AOTAutograd traces it.

    Parameters
    ----------
    dynamic
        Sizes are symbols: a size that depends on data can be nothing else.
    """
    # It takes a second, which column functionalize need not wait for.
    from functorch.compile import (  # type: ignore[import-untyped]  # noqa: PLC0415 - it has no types
        aot_function,
        nop,
    )

    wrapped: Callable[..., Any] = aot_function(
        function, fw_compiler=nop, bw_compiler=nop, inference_compiler=nop, dynamic=dynamic
    )
    return wrapped


def all_programs(context: RowContext, sample: Sample) -> Iterator[Program]:
    """Yield the functions that are run."""
    yield from programs(context, sample, ("direct", "inside", "views", "written"))
    values = context.arguments(sample)
    if has_pair(context.subject, values):
        program = program_of(context.subject, values, "twice")
        apart = run_eagerly(context, program_of(context.subject, values, "copied"), sample)
        together = run_eagerly(context, program, sample)
        # Else the kernel reads what it wrote, and nobody says what that should be.
        if apart.difference(together, context.subject.operator.tolerances) is None:
            yield program


def compare(
    context: RowContext,
    sample: Sample,
    program: Program,
    transform: Transform,
) -> Finding | None:
    """Run a function both ways and compare."""
    want = run_eagerly(context, program, sample)
    function = transform(program.function(context.subject.overload))
    try:
        with silence_torch(), torch.no_grad():
            got = run(context, program, function, sample)
    except Exception as error:  # noqa: BLE001 - kernels and Meta are the author's
        return report_error(context, sample, program, error)
    return differs(context, sample, program, want, got)


def report_error(
    context: RowContext, sample: Sample, program: Program, error: Exception
) -> Finding:
    """Make the finding of an error, if no other row reports it."""
    text = cause_text(error)
    must_have_meta(error)
    kind = REFUSED if ALIASED_RESULT in text else RAISES
    return context.finding(
        kind,
        expected="what the eager call computes",
        got=text.partition("\n")[0][:500],
        sample=sample,
        error=error,
        script=(*program.lines(), *transform_lines(context), "functional(*given())"),
    )


def differs(
    context: RowContext, sample: Sample, program: Program, want: Ran, got: Ran
) -> Finding | None:
    """Make the finding of a difference."""
    found = want.difference(got, context.subject.operator.tolerances)
    if found is None:
        return None
    again = want.difference(
        run_eagerly(context, program, sample), context.subject.operator.tolerances
    )
    if again is not None:
        raise NotApplicableError(DIFFERENT_EACH_TIME)
    name, role, text = found
    written = {argument.name for argument in context.subject.schema.mutated}
    is_written = base(name) in written
    if ".add_(1)" in program.text:
        kind = SHARED
    elif role == "argument" and not is_written:
        kind = LOST
    else:
        kind = DIFFERS
    what = f"argument {name} after the call" if role == "argument" else name
    return context.finding(
        kind,
        expected=f"{what} as in an eager call of: {one_line(program)}",
        got=text,
        sample=sample,
        script=(
            *program.lines(),
            *transform_lines(context),
            "eager, other = given(), given()",
            "want, got = call(*eager), functional(*other)",
            "torch.testing.assert_close((got, other), (want, eager))",
        ),
    )


def transform_lines(context: RowContext) -> tuple[str, ...]:
    """Return the lines of a script that functionalize the function."""
    if context.column == "functionalize":
        return ("functional = torch.func.functionalize(call, remove='mutations_and_views')",)
    return (
        "from functorch.compile import aot_function, nop",
        "functional = aot_function(call, fw_compiler=nop, inference_compiler=nop)",
    )


def one_line(program: Program) -> str:
    """Return the body of a function in one line."""
    return "; ".join(line.strip() for line in program.text.splitlines()[1:])


ROW = Row(
    name="functionalization",
    title="functionalized, it computes what it computes eagerly",
    kinds=(REFUSED, LOST, DIFFERS, SHARED, RAISES),
    run=run_row,
    columns=("functionalize", "aot"),
)
