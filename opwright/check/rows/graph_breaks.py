"""Compiled code has no graph breaks around the operator, and is not compiled for every size.

Where dynamo cannot trace a call it breaks the graph: what is before and behind becomes two
graphs, and nothing is fused or captured over the call. And where a guard of the operator fails,
the whole function is compiled again; after eight times torch gives up and runs it eagerly.

Both are counted (`torch._dynamo.utils.counters`, and calls of the backend), for a function with
the operator between two others, compiled with `fullgraph=False`:

* the first call makes one graph, without a break;
* when sizes change, at most one more: then they are symbols;
* further sizes make none;
* other values of the same sizes make none.

Sizes change all at once, and those that are equal stay equal: torch makes a symbol of those
alone that changed, and one of equal sizes. They are neither 0 nor 1. Attributes do not change:
each value of an `int`, `float` or `str` attribute, and the sizes 0 and 1, are compiled apart by
torch itself. An operator whose result's size depends on data breaks graphs unless
`torch._dynamo.config.capture_dynamic_output_shape_ops` is set; it is set here. A finding has
dynamo's reason and the line it names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from opwright.check.finding import Kind
from opwright.check.observe.comparing import run, run_eagerly
from opwright.check.observe.compiling import fresh_compilers, inner_error
from opwright.check.observe.missing_meta import NO_META, must_have_meta
from opwright.check.observe.program import program_of
from opwright.check.observe.sizes import has_no_special_size, other_sizes
from opwright.check.observe.watch import place_in_text
from opwright.check.row import Row
from opwright.check.row_context import EagerCallError, NotApplicableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opwright.check.finding import Finding
    from opwright.check.observe.program import Program
    from opwright.check.row_context import RowContext
    from opwright.kit.declare.sample import Sample

__all__ = ["ROW"]

BREAK = Kind(
    "graph-break",
    "dynamo breaks the graph at the operator",
    "register a Meta function that works with fake tensors, and keep Python that dynamo cannot "
    "trace out of the operator's wrapper",
)
RECOMPILES = Kind(
    "recompiles",
    "the function is compiled anew for sizes that one graph could serve",
    "leave sizes symbolic in Meta: no int(), no comparison with a number (row symbolic names the "
    "line)",
)
RAISES = Kind(
    "raises",
    "dynamo cannot compile a function that calls the operator",
    "see what was raised: Meta has to work with fake tensors",
)

SIZES = 3  # sizes that are tried beside the first


def run_row(context: RowContext) -> None:
    """Count graph breaks and graphs."""
    sample = first_sample(context)
    with fresh_compilers():
        found = context.examine(lambda each: examine(context, each), sample)
    if found is not None:
        context.findings.append(found)


def first_sample(context: RowContext) -> Sample:
    """Return the first sample without sizes of 0 and 1, or the first."""
    first = None
    for sample in context.samples.of({"size"}, 4):
        first = first or sample
        if has_no_special_size(context.arguments(sample, "cpu")):
            return sample
    if first is None:
        raise NotApplicableError(context.samples.why_none() or "the operator has no samples")
    return first


class Counter:
    """A backend that runs graphs as they are, and keeps them."""

    def __init__(self) -> None:
        self.graphs: list[str] = []

    def __call__(self, graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        """Compile a graph."""
        del inputs
        self.graphs.append(str(graph.print_readable(print_output=False)))
        forward: Callable[..., Any] = graph.forward
        return forward


def examine(context: RowContext, sample: Sample) -> Finding | None:
    """Call one compiled function with several sizes and count."""
    from opwright.internals import dynamo  # noqa: PLC0415 - rows without a compiler do without it

    program = program_of(context.subject, context.arguments(sample), "between")
    run_eagerly(context, program, sample)
    backend = Counter()
    function = torch.compile(program.function(context.subject.overload), backend=backend)
    lines = (
        *program.lines(),
        "counted = torch._dynamo.testing.CompileCounter()",
        "compiled = torch.compile(call, backend=counted)",
        "compiled(*given())",
        "assert counted.frame_count == 1, torch._dynamo.utils.counters['graph_break']",
    )
    counts = []
    numbers: set[int] = set()  # of results
    others = list(other_sizes(context, sample, count=SIZES, alike=True))
    for each in (sample, sample.with_seed(sample.seed + 1), *others, sample):
        before = len(backend.graphs)
        try:
            numbers.add(len(run_eagerly(context, program, each).returned))
            with torch.no_grad():
                run(context, program, function, each)
        except EagerCallError:
            continue
        except Exception as error:  # noqa: BLE001 - Meta is the author's
            must_have_meta(error)
            inner = inner_error(error)
            text = " ".join(str(inner).split())[:500]
            return context.finding(
                RAISES,
                expected="a graph",
                got=f"{type(inner).__name__}: {text}",
                sample=each,
                error=inner,
                script=lines,
            )
        counts.append(len(backend.graphs) - before)
        if dynamo.counters["graph_break"] or counts[0] > 1:
            return report_break(context, sample, program, lines)
    context.details.setdefault("graphs", "\n\n".join(backend.graphs))
    first, same, *rest = counts
    context.details["counts"] = (
        f"graphs made by the first call: {first}; by other values: {same}; by other sizes: {rest}"
    )
    if first == 0:
        message = "the function has no operator that a graph could hold"
        raise NotApplicableError(message)
    if len(numbers) > 1:
        message = "the number of results is a size: each size is a graph of its own"
        raise NotApplicableError(message)
    if same or sum(rest) > 1:
        return report_recompilation(context, sample, counts, lines)
    return None


def report_break(
    context: RowContext, sample: Sample, program: Program, lines: tuple[str, ...]
) -> Finding:
    """Make the finding of a graph break."""
    from opwright.internals import dynamo  # noqa: PLC0415 - rows without a compiler do without it

    count = sum(dynamo.counters["graph_break"].values())
    reason = break_reason(context, sample, program) or next(
        iter(dynamo.counters["graph_break"]), ""
    )
    if "does not support running with fake tensors" in reason:
        raise NotApplicableError(NO_META)
    return context.finding(
        BREAK,
        expected="one graph",
        got=f"{count or 'some'} breaks; dynamo says: {' '.join(reason.split())[:700]}",
        sample=sample,
        place=place_in_text(reason),
        script=lines,
    )


def break_reason(context: RowContext, sample: Sample, program: Program) -> str:
    """Return why dynamo breaks the graph: what it raises if it must not."""
    from opwright.internals import dynamo  # noqa: PLC0415 - rows without a compiler do without it

    dynamo.reset()
    function = program.function(context.subject.overload)
    try:
        with torch.no_grad():
            run(
                context, program, torch.compile(function, backend=Counter(), fullgraph=True), sample
            )
    except Exception as error:  # noqa: BLE001 - its text is what is wanted
        return str(inner_error(error))
    return ""


def report_recompilation(
    context: RowContext, sample: Sample, counts: list[int], lines: tuple[str, ...]
) -> Finding:
    """Make the finding of a function that is compiled again and again."""
    from opwright.internals import dynamo  # noqa: PLC0415 - rows without a compiler do without it

    reasons = [
        " ".join(str(each.recompile_reason).split())
        for each in dynamo.get_compilation_metrics()
        if each.recompile_reason
    ]
    why = f"; the last time because of: {reasons[-1][:400]}" if reasons else ""
    return context.finding(
        RECOMPILES,
        expected="one graph, and one more when sizes change",
        got=f"graphs made by calls with the sample, other values, other sizes: {counts}{why}",
        sample=sample,
        place=None if not reasons else place_in_text(reasons[-1]),
        script=lines[:-2],
    )


ROW = Row(
    name="graph_breaks",
    title="no graph breaks, no compilation for every size",
    kinds=(BREAK, RECOMPILES, RAISES),
    run=run_row,
    columns=("dynamo",),
    cost="high",
)
