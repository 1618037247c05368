"""Compiled, the operator computes what it computes eagerly.

A function that calls the operator is compiled into one graph (`fullgraph=True`) and run. All
that it returns and all its arguments afterwards are compared with an eager run, so that a write
which the schema hides shows: the compiler removes the call, and the tensor stays as it was. Of
an operator that writes, the function also writes a copy that it made itself and returns that.

| columns | compiled by |
|---|---|
| `aot_eager`, `aot_eager-dynamic` | AOTAutograd; the graph is run as it is. Gradients, too |
| `reduce-overhead`, … | TorchAir: the graph is captured as an NPU graph and replayed |
| `max-autotune`, … | TorchAir: converters make a graph of the graph engine, which runs it |

Column `max-autotune` has a graph with attributes that are 0, False or "" where their defaults are
not, too: a converter that asks `if scale:` drops them. Of several flags, or a mask, each is set
alone: a converter that takes one for another passes the same values as long as all are equal. A
converter that somebody wrote also gets each value of a str or dtype argument, and None for a
number that may be left out.

Each graph runs twice with other values at other addresses. The columns without `dynamic` fix the
sizes and run a sample that is not contiguous as well; those with `dynamic` make every size a
symbol and run the same graph with other sizes.

An operator whose result's size depends on data, or whose result is on the host, cannot be in
graphs of TorchAir. Column `max-autotune` applies to operators that have a prototype or a converter,
declared or registered, and to those that are made of others. What was compiled is in the report.
"""

from __future__ import annotations

import dataclasses
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch

from opwright.check.finding import Kind
from opwright.check.observe.comparing import (
    ALIASED_RESULT,
    DIFFERENT_EACH_TIME,
    cause_text,
    gradients,
    programs,
    run,
    run_eagerly,
    select_few,
)
from opwright.check.observe.compiling import compile_function, fresh_compilers, inner_error
from opwright.check.observe.converters import converter_of
from opwright.check.observe.missing_meta import must_have_meta
from opwright.check.observe.sizes import other_sizes
from opwright.check.observe.tensors import base
from opwright.check.observe.tolerance import difference
from opwright.check.row import Row
from opwright.check.row_context import NotApplicableError
from opwright.check.rows.compiled.choices import find_choices
from opwright.check.rows.compiled.possible import backend_of, is_dynamic, why_no_graph
from opwright.check.subject import flat
from opwright.kit.live import dispatcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from opwright.check.finding import Finding
    from opwright.check.observe.program import Program, Ran, Shape
    from opwright.check.row_context import RowContext
    from opwright.kit.declare.sample import Sample

__all__ = ["ROW"]

RAISES = Kind(
    "raises",
    "the operator works eagerly and not in a compiled graph",
    "see what was raised: Meta, functionalization, converter and kernel have to agree",
)
REFUSED = Kind(
    "refused",
    "torch.compile refuses graphs with the operator: a result is an argument",
    "return new tensors or nothing: a custom operator whose result is a written argument "
    "(`-> Tensor(a!)`) needs a Functionalize kernel, the tag inplace, or a declaration with "
    "OperatorSet(..., existing=True) that completes it",
)
LOST = Kind(
    "write-lost",
    "a tensor that the operator writes stays as it was in a compiled graph",
    "declare the argument as written: Tensor(a!) x; a call that seems to write nothing is removed",
)
DIFFERS = Kind(
    "differs",
    "the compiled operator computes something else than the eager one",
    "compare what Meta, the converter and the kernel say of the shapes, dtypes and order of "
    "arguments",
)
GRADIENT = Kind(
    "gradient-differs",
    "gradients of the compiled operator are not those of the eager one",
    "let the backward compute with what it saved, and save what it needs: values read from "
    "elsewhere are constants in a graph",
)
NOT_CAPTURED = Kind(
    "not-capturable",
    "the kernel waits for the device, which no NPU graph allows",
    "do without .item(), .cpu() and synchronize() in the kernel: pass host values as attributes, "
    "compute with tensors",
)
HELD = Kind(
    "held-memory",
    "a captured graph fails behind another one: record_stream still holds the first one's memory",
    "call record_stream outside captures alone (torch.npu.is_current_stream_capturing()); in a "
    "graph it is enough that the streams wait for each other: wait_stream",
)
NO_CONVERTER = Kind(
    "no-converter",
    "TorchAir cannot put the operator into a graph of the graph engine",
    "give the declaration a prototype (REG_OP) and register it, or write a converter: "
    "torchair.register_fx_node_ge_converter",
)
ENGINE = Kind(
    "engine",
    "the graph engine refuses the operator's node",
    "correct the converter or the prototype: names, order, dtypes and number of inputs, outputs "
    "and attributes",
)

# TorchAir's words about an operator that it has no converter for.
WITHOUT_CONVERTER = (
    "No AscendIR",
    "find optype",
    "has no converter",
    "not have a converter",
    # A node of CANN has the operator's name and other inputs: Fills, Constant.
    "Failed to auto-generated converter",
    "Failed to convert torch args to AscendIR args",
    # For an operator that C++ defines TorchAir writes a class and compiles it with headers of CANN:
    # where one is missing, or no compiler is there, that is the machine's and not the operator's.
    "g++ compilation failed for",
    "torchair_custom_op_cpp_pid",  # its folder: the class was compiled and cannot be loaded
    "No such file or directory: 'g++'",
    "Environment variable 'ASCEND_HOME_PATH' is not set",
)
# The words of opwright's converters about an attribute that would be a symbol.
CONSTANT_ATTRIBUTE = "attributes are constants"
# torch_npu's message where a call draws seed and offset in a capture.
DRAWN_IN_CAPTURE = "philox_engine_inputs during NPU graph capture"
SAME_DRAWS = (
    "torch_npu draws no seed in a capture: each replay of the graph would compute with the same one"
)
# CANN's codes for what a capture does not allow.
CAPTURE = tuple(f"1070{code}" for code in range(20, 42))
# torch_npu's messages where it sets the memory of graphs back to what a capture left, for a second
# one, and tensors that record_stream was called for are not free yet: it looks for them among the
# free blocks alone (setCheckpointPoolState in NPUCachingAllocator.cpp).
HELD_BLOCK = (" could not find 0x", "block->event_count == 0")
ENGINES = ("OPW-N0", "E10501", "E19025", "E89999")


def run_row(context: RowContext) -> None:
    """Compile functions and compare."""
    samples = select_few(context, 2)
    if not samples:
        raise NotApplicableError(context.samples.why_none() or "the operator has no samples")
    if is_dynamic(context):
        samples += more_sizes(context)
    elif strided := find_strided(context):
        # Its attributes are distinct, if any can be: another graph for these alone takes long.
        alone = [each.sample for each in context.samples.distinct]
        samples = [each for each in samples if each not in alone] + strided
    if context.column == "max-autotune":  # here alone a converter passes the attributes
        samples += [each.sample for each in (*context.samples.falsy, *context.samples.flags)]
        if converter_of(context.subject) is not None:
            samples += find_choices(context, samples)
    reasons = [why_no_graph(context, each) for each in samples]
    possible = [each for each, why in zip(samples, reasons, strict=True) if why is None]
    if not possible:
        raise NotApplicableError(reasons[0] or "")
    for sample in possible[:1] if is_dynamic(context) else possible:
        found = context.examine(lambda each: Trial(context, each).finding(), sample)
        if found is not None:
            context.findings.append(
                found
            )  # compiling again for smaller samples would take too long
            return


def more_sizes(context: RowContext) -> list[Sample]:
    """Return samples that may do where the first one cannot be in a graph."""
    return list(islice(context.samples.of({"size"}, 0), 8))


def find_strided(context: RowContext) -> list[Sample]:
    """Return a sample with a tensor that is not contiguous, if there is one.

    It is one that the operator reads: dynamo has no graphs for some that are written.
    """
    written = {argument.name for argument in context.subject.schema.mutated}
    views = context.samples.distinct_views() if context.samples.distinct else None
    for sample in islice(views or context.samples.of({"layout"}, 0), 12):
        tensors = flat(context.arguments(sample, "cpu"))
        unusual = {base(name) for name, t in tensors.items() if not t.is_contiguous()}
        if unusual and not unusual & written:
            return [sample]
    return []


class Trial:
    """A compiled function for one sample, beside eager calls."""

    def __init__(self, context: RowContext, sample: Sample) -> None:
        self.context = context
        self.sample = sample
        self.backend = backend_of(context)
        self.is_dynamic = is_dynamic(context)
        self.texts: dict[str, str] = {}

    def finding(self) -> Finding | None:
        """Compile, run and compare."""
        is_mutating = bool(self.context.subject.schema.mutated)
        shape: Shape = "inside" if is_mutating else "direct"
        for program in programs(self.context, self.sample, (shape,)):
            with fresh_compilers():
                found = self.forward(program)
                if found is None and self.backend == "aot_eager":
                    found = self.backward(program)
            for name, text in self.texts.items():
                self.context.details.setdefault(name, text)
            if found is not None:
                return found
        return None

    def compiled(self, program: Program) -> Callable[..., Any]:
        """Return the function, compiled."""
        return compile_function(
            program.function(self.context.subject.overload),
            self.backend,
            dynamic=self.is_dynamic,
            texts=self.texts,
        )

    def inputs(self) -> Iterator[Sample]:
        """Yield what one compiled function is called with."""
        yield self.sample
        if self.is_dynamic:
            yield from other_sizes(self.context, self.sample, count=1)
        yield dataclasses.replace(self.sample, seed=self.sample.seed + 1)

    def forward(self, program: Program) -> Finding | None:
        """Compare results and written arguments."""
        function = self.compiled(program)
        for sample in self.inputs():
            want = run_eagerly(self.context, program, sample)
            try:
                with torch.no_grad():
                    got = run(self.context, program, function, sample)
            except Exception as error:  # noqa: BLE001 - kernels, Meta and converters are the author's
                return self.raised(program, sample, inner_error(error))
            found = self.differs(program, sample, want, got)
            if found is not None:
                return found
        return None

    def raised(self, program: Program, sample: Sample, error: Exception) -> Finding:
        """Make the finding of an error, by who is at fault."""
        must_have_meta(error)
        text = cause_text(error)
        if CONSTANT_ATTRIBUTE in text:
            raise NotApplicableError(shorten_error(error)) from error
        if self.context.subject.schema.generators and DRAWN_IN_CAPTURE in text:
            raise NotApplicableError(SAME_DRAWS) from error
        kind = RAISES
        if ALIASED_RESULT in text:
            kind = REFUSED
        elif any(each in text for each in WITHOUT_CONVERTER):
            if not is_for_graphs(self.context):
                message = (
                    "nothing says that it is for TorchAir's graphs, which says: "
                    f"{shorten_error(error)}"
                )
                raise NotApplicableError(message) from error
            kind = NO_CONVERTER
        elif any(each in text for each in CAPTURE):
            kind = NOT_CAPTURED
        elif self.backend == "reduce-overhead" and any(each in text for each in HELD_BLOCK):
            kind = HELD
        elif self.backend == "max-autotune" and any(each in text for each in ENGINES):
            kind = ENGINE
        return self.context.finding(
            kind,
            expected="what the eager call computes",
            got=shorten_error(error),
            sample=sample,
            error=error,
            script=(*self.lines(program), "compiled(*given())", "torch.npu.synchronize()"),
        )

    def differs(self, program: Program, sample: Sample, want: Ran, got: Ran) -> Finding | None:
        """Make the finding of a difference."""
        tolerances = self.context.subject.operator.tolerances
        found = want.difference(got, tolerances)
        if found is None:
            return None
        if want.difference(run_eagerly(self.context, program, sample), tolerances) is not None:
            raise NotApplicableError(DIFFERENT_EACH_TIME)
        name, role, text = found
        written = {argument.name for argument in self.context.subject.schema.mutated}
        is_secret = role == "argument" and base(name) not in written
        what = f"argument {name} after the call" if role == "argument" else name
        return self.context.finding(
            LOST if is_secret else DIFFERS,
            expected=f"{what} as in an eager call",
            got=f"{values_text(want, got, name)}{text}",
            sample=sample,
            script=(
                *self.lines(program),
                "eager, other = given(), given()",
                "want, got = call(*eager), compiled(*other)",
                "torch.testing.assert_close((got, other), (want, eager))",
            ),
        )

    def backward(self, program: Program) -> Finding | None:
        """Compare gradients, where the operator has a backward and eager calls work."""
        keys = ("Autograd", "AutogradPrivateUse1", "CompositeImplicitAutograd")
        if not any(dispatcher.has_kernel(self.overload, key) for key in keys):
            return None  # gradients of what a kernel calls inside are no backward: row gradients
        try:
            want = gradients(self.context, program, program.function(self.overload), self.sample)
        except Exception:  # noqa: BLE001 - without a backward eager calls raise, too: row gradients
            return None
        if not want:
            return None
        try:
            got = gradients(self.context, program, self.compiled(program), self.sample)
        except Exception as error:  # noqa: BLE001 - as above
            return self.raised(program, self.sample, inner_error(error))
        for name, gradient in want.items():
            other = got.get(name)
            text = (
                "no gradient"
                if other is None
                else difference(other, gradient, self.context.subject.operator.tolerances)
            )
            if text is not None:
                return self.context.finding(
                    GRADIENT,
                    expected=f"the gradient of {name} as in an eager call",
                    got=text,
                    sample=self.sample,
                    script=self.lines(program),
                )
        return None

    @property
    def overload(self) -> Any:  # noqa: ANN401 - torch.ops has no types
        """The operator."""
        return self.context.subject.overload

    def lines(self, program: Program) -> tuple[str, ...]:
        """Return the lines of a script that compile the function."""
        if self.backend == "aot_eager":
            backend: tuple[str, ...] = ("backend = 'aot_eager'",)
        else:
            backend = (
                "import torchair",
                "config = torchair.CompilerConfig()",
                f"config.mode = {self.backend!r}",
                "backend = torchair.get_npu_backend(compiler_config=config)",
            )
        options = f"dynamic={self.is_dynamic}, fullgraph=True"
        return (
            *program.lines(),
            *backend,
            f"compiled = torch.compile(call, backend=backend, {options})",
        )


def is_for_graphs(context: RowContext) -> bool:
    """Return whether an operator is declared for graphs of the graph engine."""
    facts = context.subject.facts
    return facts is not None and (
        facts.prototype is not None or facts.operator.converter is not None
    )


def shorten_error(error: BaseException) -> str:
    """Return what an error says, its first lines."""
    lines = [each.strip() for each in str(error).strip().splitlines() if each.strip()]
    return f"{type(error).__name__}: {' '.join(lines[:3])[:600]}"


def values_text(want: Ran, got: Ran, name: str) -> str:
    """Return the first element of a tensor in both runs, for a reader to see a lost write."""
    pairs = [(each.arguments.get(name), each.returned.get(name)) for each in (want, got)]
    tensors = [one if other is None else other for one, other in pairs]
    if any(each is None or each.numel() == 0 for each in tensors):
        return ""
    first = [each.detach().cpu().reshape(-1)[0].item() for each in tensors if each is not None]
    return f"first element: eager {first[0]}, compiled {first[1]}; "


ROW = Row(
    name="compiled",
    title="compiled, it computes what it computes eagerly",
    kinds=(RAISES, REFUSED, LOST, DIFFERS, GRADIENT, NOT_CAPTURED, HELD, NO_CONVERTER, ENGINE),
    run=run_row,
    columns=(
        "aot_eager",
        "aot_eager-dynamic",
        "reduce-overhead",
        "reduce-overhead-dynamic",
        "max-autotune",
        "max-autotune-dynamic",
    ),
    cost="high",
)
