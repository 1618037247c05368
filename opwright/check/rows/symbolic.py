"""Meta leaves sizes symbolic: one graph serves all of them.

With `dynamic=True`, and after a size changed once, compilers run Meta with symbols in place of
sizes. A Meta that turns a symbol into a number (`int(x.shape[0])`, `range(x.shape[0])`,
`sizes()` in C++, comparing with the size of one model) makes a graph that is right for that size
alone: each new size is compiled again, and `torch.export` refuses it. Worse is a Meta that reads
the hint of a symbol (`.node.hint`): no guard is left, and the graph is wrong for other sizes.

* Column `backed`: each size that is not 0 or 1, and each SymInt argument, is a symbol of its
  own, with the value of the sample. No symbol may become a number, but where the declaration
  says the size. The line that did it is found in the stack at that moment. Results are then
  expressions in the symbols: computed for other sizes, they must equal the shapes of real
  results of the kernel there, as long as the guards that Meta made hold. A guard such as
  `x.shape[0] > 2` or `x.shape[0] != 1` is no fault: torch compiles the other case when it comes.
* Column `unbacked`: sizes have no value at all, as behind an operator whose result depends on
  data (`nonzero`, the routing of a mixture of experts). Equal sizes of the sample are one
  symbol. A Meta that branches on such a size (`if x.shape[0] > 2`, `assert x.shape[0] == n`)
  cannot be traced; the finding has the line. `torch._check(condition)` states what has to hold,
  and is checked when the graph runs; `torch.sym_max`, `torch.sym_min` and `guard_or_false` take
  the place of a branch.

Sizes 0 and 1 are always compiled apart by torch; they stay numbers here.
"""

from __future__ import annotations

import linecache
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, ShapeEnv

from opwright.check.finding import Kind
from opwright.check.observe.metadata import Metadata, metadata, render
from opwright.check.observe.missing_meta import must_have_meta
from opwright.check.observe.sizes import other_sizes
from opwright.check.observe.symbols import Symbolic, sizes_of
from opwright.check.observe.watch import Seen, place_in_stack, silence_torch, watch
from opwright.check.row import Row
from opwright.check.row_context import EagerCallError, NotApplicableError
from opwright.check.subject import flat
from opwright.internals.fake_tensors import FakeTensorMode
from opwright.kit.expressions.shape import Length
from opwright.kit.live.arguments import map_tensors

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch

    from opwright.check.finding import Finding
    from opwright.check.observe.symbols import Frozen, Size
    from opwright.check.row_context import RowContext
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = ["ROW"]

FROZEN = Kind(
    "specialised",
    "Meta turns a symbolic size into a number",
    "compute with the size as it is, without int(), range() or a comparison with a number; in C++ "
    "use sym_sizes() and at::empty_symint",
)
HINT = Kind(
    "reads-hint",
    "Meta reads the value of a symbolic size behind torch's back",
    "compute with the size itself, not with .node.hint or a size hint: the graph is used for other "
    "sizes, too",
)
WRONG = Kind(
    "wrong-at-other-sizes",
    "the shape that Meta gives as an expression is wrong for other sizes",
    "compute the shape from those sizes that the kernel computes it from",
)
RAISES = Kind(
    "raises",
    "Meta raises when sizes are symbols",
    "use only what takes symbols: x.shape, arithmetic, torch.sym_max, torch.sym_min, "
    "x.new_empty(...); in C++ sym_size() and at::empty_symint",
)
BRANCHES = Kind(
    "branches-on-unbacked",
    "Meta branches on a size that nobody knows while it runs",
    "state what has to hold with torch._check(condition); choose with torch.sym_max, torch.sym_min "
    "or guard_or_false in place of if",
)

AS_INT = "Could not extract specialized integer"  # torch's words about int() and range()
TO_INT = frozenset({"guard_int", "__int__", "__index__"})


def run(context: RowContext) -> None:
    """Run Meta with symbols."""

    def examine(sample: Sample) -> Finding | None:
        trial = Trial(context, sample)
        return trial.backed() if context.column == "backed" else trial.unbacked()

    context.each(examine, vary={"rank", "presence", "length"}, examples=3)


@dataclass(slots=True)
class Traced:
    """A call of Meta with symbols."""

    symbolic: Symbolic
    results: Metadata
    seen: Seen


class Trial:
    """A call of Meta with symbols for one sample."""

    def __init__(self, context: RowContext, sample: Sample) -> None:
        self.context = context
        self.subject = context.subject
        self.sample = sample
        self.symbolic = Symbolic(context.subject.schema, context.column == "backed")
        self.seen = Seen()

    def backed(self) -> Finding | None:
        """Examine Meta with symbols that have a value."""
        traced = self.trace()
        if not isinstance(traced, Metadata):
            return traced
        if self.seen.hints:
            return self.context.finding(
                HINT,
                expected="a shape that is an expression in the symbols",
                got=f"the value of a size is read: {with_source(self.seen.hints[0])}",
                sample=self.sample,
                place=self.seen.hints[0],
                script=self.lines()[:-2],  # no assertion: the row follows
            )
        others = list(self.others())
        allowed = self.stated()
        for frozen in self.symbolic.frozen():
            place = self.symbolic.origins[frozen.symbol]
            if place not in allowed and self.is_wrong(frozen, place, others):
                return self.froze(frozen, place)
        return self.wrong_elsewhere(traced, others)

    def unbacked(self) -> Finding | None:
        """Examine Meta with symbols without values."""
        traced = self.trace()
        return None if isinstance(traced, Metadata) else traced

    def trace(self) -> Metadata | Finding | None:
        """Call Meta with symbols; return what is known of the results, or what is wrong."""
        values = self.context.arguments(self.sample)
        symbolic = self.symbolic.arguments(values)
        self.context.calls += 1
        try:
            with silence_torch(), self.symbolic.mode, watch() as self.seen:
                returned = self.subject.call(symbolic)
        except GuardOnDataDependentSymNode as error:
            if AS_INT not in str(error):
                return self.raised(BRANCHES, "a Meta that does not ask for the size", error)
            own = dict(sizes_of(self.subject.schema, self.context.arguments(self.sample)))
            others = list(self.others())
            if any(self.counts_results(others, size) for size in own.values()):
                message = "the number of results is a size: no graph can leave it open"
                raise NotApplicableError(message) from error
            return self.raised(FROZEN, "a size stays a symbol", error)
        except Exception as error:  # noqa: BLE001 - Meta is an author's function
            self.must_work_with_numbers(values, error)
            return self.raised(RAISES, "results as with sizes that are numbers", error)
        return metadata(self.subject, returned, symbolic)

    def must_work_with_numbers(self, values: Values, error: Exception) -> None:
        """Leave it to the row `meta` if Meta raises for fixed sizes, too."""
        must_have_meta(error)
        mode = FakeTensorMode(shape_env=ShapeEnv())
        fixed = {
            name: map_tensors(lambda t: mode.from_tensor(t, static_shapes=True), value)
            for name, value in values.items()
        }
        try:
            with silence_torch(), mode:
                self.subject.call(fixed)
        except Exception as another:
            message = f"Meta raises for sizes that are numbers, too ({another}): see row meta"
            raise NotApplicableError(message) from another

    def raised(self, kind: Kind, expected: str, error: Exception) -> Finding:
        """Make a finding of an error, at the line of Meta that led to it."""
        frames = traceback.extract_tb(error.__traceback__)
        place = place_in_stack(frames, __file__) or self.seen.function
        first = str(error).strip().partition("\n")[0]
        where = "" if place is None else f", at {with_source(place)}"
        return self.context.finding(
            kind,
            expected=expected,
            got=f"{type(error).__name__}: {first}{where}",
            sample=self.sample,
            place=place,
            error=error,
            # Lines that make symbols of tensors' sizes alone may not raise: the row does.
            script=() if kind is FROZEN else self.lines(),
        )

    def stated(self) -> set[Size]:
        """Return the sizes that the declaration itself says as numbers."""
        rules = self.subject.rules
        if rules is None:
            return set()
        other = Symbolic(self.subject.schema, are_backed=True)
        values = other.arguments(self.context.arguments(self.sample))
        with other.mode:
            rules.check(values)
        return {other.origins[each.symbol] for each in other.frozen()}

    def others(self) -> Iterator[tuple[Values, Metadata]]:
        """Yield calls of the kernel with other sizes."""
        for sample in other_sizes(self.context, self.sample):
            values = self.context.arguments(sample)
            try:
                returned = self.context.call(values, sample)
            except EagerCallError:
                continue
            yield self.context.arguments(sample), metadata(self.subject, returned, values)

    def is_wrong(self, frozen: Frozen, place: Size, others: list[tuple[Values, Metadata]]) -> bool:
        """Return whether a symbol that became a number is a fault.

        It is none if the kernel takes no other size, or if the number of results depends on it.
        """
        if self.counts_results(others, frozen.value):
            return False
        return any(frame.name in TO_INT for frame in frozen.stack) or any(
            dict(sizes_of(self.subject.schema, values))[place] != frozen.value
            for values, _ in others
        )

    def counts_results(
        self, others: list[tuple[Values, Metadata]], value: int | None = None
    ) -> bool:
        """Return whether the number of results depends on sizes.

        Parameters
        ----------
        value
            A size: where no other sizes are known, a list of so many results is a hint.
        """
        lists = {
            name: len(results)
            for name, results in self.real().results.items()
            if isinstance(results, list | tuple)
        }
        if not others:
            return value in lists.values()
        if any(count == value for count in self.declared_numbers()):
            return True
        return any(
            count != len(other.results[name])
            for name, count in lists.items()
            for _, other in others
        )

    def declared_numbers(self) -> Iterator[int]:
        """Yield how many tensors lists of results have, where the declaration computes it."""
        rules = self.subject.rules
        values = self.context.arguments(self.sample)
        for output in () if rules is None else rules.facts.outputs:
            if rules is not None and not isinstance(output.count, Length | None):
                count = rules.count(output, values)
                if count is not None:
                    yield count

    def real(self) -> Metadata:
        """Call the kernel."""
        values = self.context.arguments(self.sample)
        return metadata(self.subject, self.context.call(values, self.sample), values)

    def froze(self, frozen: Frozen, place: Size) -> Finding:
        """Make the finding of a symbol that became a number."""
        line = place_in_stack(frozen.stack, __file__) or self.seen.function
        where = "in C++" if line is None else f"at {with_source(line)}"
        return self.context.finding(
            FROZEN,
            expected=f"{size_text(place)} stays a symbol",
            got=f"{size_text(place)} became {frozen.value} {where}",
            sample=self.sample,
            place=line,
            # Without its assertion where the script makes no symbol of it: the row follows.
            script=self.lines() if place[2] is not None else self.lines()[:-2],
        )

    def wrong_elsewhere(
        self, traced: Metadata, others: list[tuple[Values, Metadata]]
    ) -> Finding | None:
        """Compare the shapes of Meta, as expressions, with real results at other sizes."""
        own = self.symbolic.values_at(self.context.arguments(self.sample))
        tensors = flat(traced.results)
        first = flat(self.real().results)
        for values, real in others:
            at = self.symbolic.values_at(values)
            if not self.symbolic.holds(at):
                continue
            for name, tensor in flat(real.results).items():
                if name not in tensors or not self.agrees(tensors[name], first[name], own):
                    continue  # wrong for the sizes of the sample, too: row meta reports it
                if not self.agrees(tensors[name], tensor, at):
                    sizes = {size_text(self.symbolic.origins[each]): n for each, n in at.items()}
                    shape = tuple(self.symbolic.evaluated(size, at) for size in tensors[name].shape)
                    return self.context.finding(
                        WRONG,
                        expected=f"{name} of shape {render(tuple(tensor.shape))} for {sizes}",
                        got=f"{render(shape)} from {render(tuple(tensors[name].shape))}",
                        sample=self.sample,
                        place=self.seen.function,
                        script=self.lines()[:-2],  # no assertion: the row follows
                    )
        return None

    def agrees(self, fake: torch.Tensor, real: torch.Tensor, at: dict[Any, int]) -> bool:
        """Return whether a shape is right for values of the symbols."""
        sizes = [self.symbolic.evaluated(size, at) for size in fake.shape]
        return len(sizes) == real.ndim and all(
            got is None or got == want for got, want in zip(sizes, real.shape, strict=True)
        )

    def lines(self) -> tuple[str, ...]:
        """Return the lines that show it alone."""
        if self.context.column != "backed":
            return (
                "from torch._subclasses.fake_tensor import FakeTensorMode",
                "from torch.fx.experimental.symbolic_shapes import ShapeEnv",
                "from torch.utils import _pytree",
                "shapes = ShapeEnv()",
                "symbols = {}",
                "",
                "def without_values(tensor):",
                "    for n in tensor.shape:",
                "        symbols.setdefault(n, n if n < 2 else shapes.create_unbacked_symint())",
                "    sizes = [symbols[n] for n in tensor.shape]",
                "    return torch.empty(sizes, dtype=tensor.dtype, device=tensor.device)",
                "",
                "values = arguments('npu')",
                "with FakeTensorMode(shape_env=shapes):",
                "    operator(**_pytree.tree_map_only(torch.Tensor, without_values, values))",
            )
        return (
            "from torch._subclasses.fake_tensor import FakeTensorMode",
            "from torch.fx.experimental.symbolic_shapes import ShapeEnv",
            "from torch.utils import _pytree",
            "shapes = ShapeEnv(duck_shape=False)",
            "mode = FakeTensorMode(shape_env=shapes)",
            "values = _pytree.tree_map_only(torch.Tensor, mode.from_tensor, arguments('npu'))",
            "with mode:",
            "    print(operator(**values))",
            "frozen = {s: n for s, n in shapes.replacements.items() if n.is_Integer}",
            "assert not frozen, frozen",
        )


def size_text(place: Size) -> str:
    """Return a size as an author would write it."""
    name, index, axis = place
    item = name if index is None else f"{name}[{index}]"
    return item if axis is None else f"{item}.shape[{axis}]"


def with_source(place: str) -> str:
    """Return a place with the text of its line."""
    file, _, line = place.rpartition(":")
    text = linecache.getline(file, int(line)).strip()
    return f"{place}: {text}" if text else place


ROW = Row(
    name="symbolic",
    title="Meta leaves sizes symbolic",
    kinds=(FROZEN, HINT, WRONG, RAISES, BRANCHES),
    run=run,
    columns=("backed", "unbacked"),
)
