"""Exported, saved, loaded and run with other sizes, the operator computes what it computes eagerly.

A module that calls the operator is exported with `torch.export.export`, every size a dimension
of its own (`Dim.AUTO`), written with `torch.export.save`, read again, and run: on the arguments
that it was exported with, and on other sizes. All that it returns and all its arguments
afterwards have to equal an eager run. Then the same of `run_decompositions()`, which makes the
graph functional.

torch turns a size into a constant without a word where Meta asks for it; the exported program
then refuses all others, which is a finding as long as the kernel takes them.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import torch
from torch.export import Dim

from opwright.check.finding import Kind
from opwright.check.observe.comparing import (
    ALIASED_RESULT,
    DIFFERENT_EACH_TIME,
    cause_text,
    run,
    run_eagerly,
    select_few,
)
from opwright.check.observe.compiling import fresh_compilers
from opwright.check.observe.missing_meta import must_have_meta
from opwright.check.observe.program import program_of
from opwright.check.observe.sizes import find_special_axes, other_sizes
from opwright.check.row import Row
from opwright.check.row_context import EagerCallError, NotApplicableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.export import ExportedProgram

    from opwright.check.finding import Finding
    from opwright.check.row_context import RowContext
    from opwright.kit.declare.sample import Sample

__all__ = ["ROW"]

RAISES = Kind(
    "raises",
    "the operator cannot be exported",
    "see what was raised: Meta has to work with symbolic sizes, and every argument has to be one "
    "that a graph can hold",
)
REFUSED = Kind(
    "refused",
    "the exported program cannot be made functional",
    "return new tensors or nothing: a custom operator whose result is a written argument "
    "(`-> Tensor(a!)`) needs a Functionalize kernel, the tag inplace, or a declaration with "
    "OperatorSet(..., existing=True) that completes it",
)
NOT_SAVED = Kind(
    "not-saved",
    "the exported program cannot be saved and loaded",
    "use types of arguments that torch.export writes: tensors, numbers, strings, dtypes, devices "
    "and lists of them",
)
FROZEN = Kind(
    "specialised",
    "the exported program takes only the sizes that it was exported with",
    "leave sizes symbolic in Meta: no int(), no comparison with a number (row symbolic names the "
    "line)",
)
DIFFERS = Kind(
    "differs",
    "the exported program computes something else than the eager operator",
    "declare all that the operator writes; compare Meta with the kernel (rows meta, mutation)",
)


def run_row(context: RowContext) -> None:
    """Export, save, load, run."""
    samples = select_few(context, 2)
    if not samples:
        raise NotApplicableError(context.samples.why_none() or "the operator has no samples")
    for sample in samples:
        with fresh_compilers():
            found = context.examine(lambda each: Trial(context, each).finding(), sample)
        if found is not None:
            context.findings.append(
                found
            )  # exporting again for smaller samples would take too long
            return


class Trial:
    """An exported program for one sample."""

    def __init__(self, context: RowContext, sample: Sample) -> None:
        self.context = context
        self.sample = sample
        self.program = program_of(context.subject, context.arguments(sample))

    def finding(self) -> Finding | None:
        """Export and compare each form of the program with eager runs."""
        self.sample = self.choose_sample()
        try:
            exported = self.exported()
        except Exception as error:  # noqa: BLE001 - Meta is the author's
            must_have_meta(error)
            return self.report(RAISES, "a program", error, ())
        self.context.details.setdefault("graph", str(exported))
        try:
            loaded = exported if has_empty_list(exported) else through_a_file(exported)
        except Exception as error:  # noqa: BLE001 - what torch cannot write, it raises in many ways
            return self.report(NOT_SAVED, "the program as it was", error, SAVE_LINES)
        found = self.compare(loaded.module(), "the exported program")
        if found is not None:
            return found
        try:
            decomposed = loaded.run_decompositions()
        except Exception as error:  # noqa: BLE001 - Functionalize kernels are the author's
            kind = REFUSED if ALIASED_RESULT in cause_text(error) else RAISES
            return self.report(kind, "a functional program", error, DECOMPOSE_LINES)
        return self.compare(decomposed.module(), "the program after run_decompositions()")

    def choose_sample(self) -> Sample:
        """Return the sample, or one of another size if a result of the sample has size 0 or 1.

        torch makes a program for that size alone then, whatever Meta does.
        """
        ran = run_eagerly(self.context, self.program, self.sample)
        if find_special_axes(ran.returned):
            for other in other_sizes(self.context, self.sample, count=1):
                try:
                    returned = run_eagerly(self.context, self.program, other).returned
                except EagerCallError:
                    continue
                if len(find_special_axes(returned)) < len(find_special_axes(ran.returned)):
                    return other
        return self.sample

    def exported(self) -> ExportedProgram:
        """Export a module that calls the operator."""
        given = self.program.given(self.context.arguments(self.sample))
        shapes = [
            dict.fromkeys(range(each.ndim), Dim.AUTO)
            if isinstance(each, torch.Tensor)
            else Dim.AUTO
            for each in given
        ]
        module = module_of(self.program.function(self.context.subject.overload))
        with torch.no_grad():
            return torch.export.export(
                module, (given,), dynamic_shapes={"given": shapes} if given else None
            )

    def compare(self, function: Callable[..., Any], what: str) -> Finding | None:
        """Compare a program with eager runs, for this and for other sizes."""
        tolerances = self.context.subject.operator.tolerances
        of_base = None
        for sample in (self.sample, *other_sizes(self.context, self.sample, count=1)):
            try:
                want = run_eagerly(self.context, self.program, sample)
            except EagerCallError:
                if sample == self.sample:
                    raise
                continue
            # The number of results is a size that no program can leave open; nor one of 0 or 1.
            form = (len(want.returned), find_special_axes(want.returned))
            of_base = of_base or form
            if form != of_base:
                continue
            try:
                with torch.no_grad():
                    got = run(
                        self.context, self.program, lambda *given: function(list(given)), sample
                    )
            except Exception as error:  # noqa: BLE001 - guards of the program, and kernels
                kind = RAISES if sample == self.sample else FROZEN
                lines = (*SAVE_LINES, "program.module()(given())")
                return self.report(kind, f"results of {what}", error, lines, sample)
            found = want.difference(got, tolerances)
            if found is None:
                continue
            if want.difference(run_eagerly(self.context, self.program, sample), tolerances):
                raise NotApplicableError(DIFFERENT_EACH_TIME)
            name, role, text = found
            label = f"argument {name} after the call" if role == "argument" else name
            return self.context.finding(
                DIFFERS,
                expected=f"{label} as in an eager call",
                got=f"{text}, from {what}",
                sample=sample,
                script=(
                    *self.lines(),
                    *SAVE_LINES,
                    "eager, other = given(), given()",
                    "want, got = call(*eager), program.module()(other)",
                    "torch.testing.assert_close((got, other), (want, eager))",
                ),
            )
        return None

    def report(
        self,
        kind: Kind,
        expected: str,
        error: Exception,
        lines: tuple[str, ...],
        sample: Sample | None = None,
    ) -> Finding:
        """Make the finding of an error."""
        text = " ".join(str(error).strip().split())[:600]
        return self.context.finding(
            kind,
            expected=expected,
            got=f"{type(error).__name__}: {text}",
            sample=sample or self.sample,
            error=error,
            script=(*self.lines(), *lines),
        )

    def lines(self) -> tuple[str, ...]:
        """Return the lines of a script that export."""
        return (
            *self.program.lines(),
            "class Module(torch.nn.Module):",
            "    def forward(self, given):",
            "        return call(*given)",
            "",
            "auto = torch.export.Dim.AUTO",
            "shapes = [dict.fromkeys(range(t.ndim), auto) if isinstance(t, torch.Tensor) else auto",
            "          for t in given()]",
            "shapes = {'given': shapes}",
            "program = torch.export.export(Module(), (given(),), dynamic_shapes=shapes)",
        )


SAVE_LINES = (
    "import io",
    "file = io.BytesIO()",
    "torch.export.save(program, file)",
    "file.seek(0)",
    "program = torch.export.load(file)",
)
DECOMPOSE_LINES = ("program.run_decompositions()",)


def module_of(function: Callable[..., Any]) -> torch.nn.Module:
    """Return a module that calls a function with the items of a list.

    Not with arguments of its own: for a `*given`, some releases of torch make guards that look for
    a name that is not there.
    """

    class Call(torch.nn.Module):
        def forward(self, given: list[Any]) -> Any:  # noqa: ANN401 - what the function takes and returns
            return function(*given)

    return Call()


def has_empty_list(exported: ExportedProgram) -> bool:
    """Return whether an operator's list of results is empty, which torch writes and cannot read."""
    return any(node.meta.get("val") == [] for node in exported.graph.nodes)


def through_a_file(exported: ExportedProgram) -> ExportedProgram:
    """Save and load a program."""
    file = io.BytesIO()
    torch.export.save(exported, file)
    file.seek(0)
    return torch.export.load(file)


ROW = Row(
    name="export",
    title="exported, saved and loaded, it computes what it computes eagerly",
    kinds=(RAISES, REFUSED, NOT_SAVED, FROZEN, DIFFERS),
    run=run_row,
    columns=("export",),
    cost="high",
)
