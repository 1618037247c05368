"""A problem and a chooser -> a sample.

Sizes of named axes come first, in the order in which the tensors bind them; what is computed from
them follows. Ints that shapes need are chosen before. Of each choice only those options are asked
for that contradict no rule whose values are all known by then.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

from opwright.check.samples.choice import Contradiction, contains
from opwright.check.samples.layouts import layouts_for
from opwright.check.samples.problem import Axes, Axis, tensors_of
from opwright.check.samples.seen import Shaped, Unknown
from opwright.check.samples.usual import (
    BASES,
    BROADCAST,
    FLOATS,
    LARGEST,
    LENGTHS,
    MASKS,
    RANKS,
    RARE_SIZES,
    SIZES,
    WHOLE,
    WIDE_SIZES,
    WIDENED,
    WIDEST,
    by_size,
    default_length,
    is_integer,
)
from opwright.check.samples.values import SEEDS, UNMADE, is_default, options_of
from opwright.kit.declare.defaults import default_value
from opwright.kit.declare.rules import DtypeArgument, DtypeSet, Promoted, dtype_source
from opwright.kit.declare.sample import Sample, TensorSpec
from opwright.kit.declare.schema import Base
from opwright.kit.expressions.conditions import MemberCheck, ValueCheck, arguments_of_check
from opwright.kit.expressions.decide import COMPARISONS
from opwright.kit.expressions.evaluate import evaluate_size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opwright.check.samples.choice import Chooser
    from opwright.check.samples.problem import Part, Pattern, Problem
    from opwright.kit.declare.rules import DtypeRule
    from opwright.kit.declare.sample import Value
    from opwright.kit.declare.schema import Argument
    from opwright.kit.expressions.conditions import Check
    from opwright.kit.expressions.shape import Size

__all__ = ["Solving", "solve"]


def solve(problem: Problem, choose: Chooser) -> Sample:
    """Return the sample that a chooser makes.

    Raises
    ------
    Contradiction
        There is none for what it has chosen.
    """
    return Solving(problem, choose).sample()


class Solving:
    """One sample on its way."""

    def __init__(self, problem: Problem, choose: Chooser) -> None:
        self.problem = problem
        self.choose = choose
        self.schema = problem.operator.schema
        facts = problem.subject.facts
        self.checks: tuple[Check, ...] = () if facts is None else facts.checks
        self.conditions = [c for c in self.checks if isinstance(c, ValueCheck | MemberCheck)]
        self.sizes: dict[str, int] = {}
        self.spans: dict[str, tuple[int, ...]] = {}
        self.values: dict[str, Value] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.dtypes: dict[str, str] = {}
        self.absent: set[str] = set()
        self.open: set[str] = set()  # what is being solved, for rules that go in circles
        self.peeking = False

    # The demands of rules: arguments by name.

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - an argument
        argument = self.schema.argument(name)
        assert argument is not None, name
        if argument.type.is_tensor:
            return Shaped(self, name)
        return self.value(argument)

    def keys(self) -> list[str]:
        """Return the names of all arguments."""
        return [argument.name for argument in self.schema.arguments]

    # The order of what is chosen.

    def sample(self) -> Sample:
        """Solve all arguments."""
        tensors = tensors_of(self.problem.operator)
        self.choose_presence()
        self.is_linked = bool(
            self.problem.sample and self.choose("links", "size", (False, True), base=False)
        )
        for argument in tensors:
            if argument.type.is_tensor and argument.name not in self.absent:
                self.shape(argument.name)
        solved: dict[str, Value] = {}
        for argument in self.schema.arguments:
            if not argument.type.has_tensors:
                solved[argument.name] = self.value(argument)
        for argument in tensors:
            solved[argument.name] = self.tensors(argument)
        self.verify()
        seed = self.choose("seed", "value", SEEDS, self.base_seed())
        return Sample(
            tuple(
                (argument.name, solved[argument.name])
                for argument in self.schema.arguments
                if not is_default(argument, solved[argument.name])
            ),
            seed,
        )

    def base_seed(self) -> int:
        """Return the seed of the explicit sample."""
        return 0 if self.problem.sample is None else self.problem.sample.seed

    def choose_presence(self) -> None:
        """Choose which optional arguments are given."""
        for argument in self.schema.arguments:
            if not argument.type.optional:
                continue
            given = self.problem.given(argument.name) is not None
            if not self.problem.mentions(argument.name):
                has_default = default_value(argument) is not None
                given = has_default or (self.problem.sample is None and argument.type.has_tensors)
            is_known = bool(self.problem.known.get(argument.name))
            is_out = argument.type.base is Base.DEVICE and not is_known
            if argument.type.base in UNMADE or is_out or not self.is_given(argument.name, given):
                self.absent.add(argument.name)

    def is_given(self, name: str, base: bool) -> bool:  # noqa: FBT001 - the option that is usual
        """Choose whether something optional is there."""
        return self.choose(f"presence {name}", "presence", (False, True), base)

    def verify(self) -> None:
        """Raise Contradiction unless all rules hold whose arguments are there."""
        for check in self.conditions:
            if not self.holds(check):
                raise Contradiction(check.pattern)

    def holds(self, check: Check) -> bool:
        """Return whether a rule holds, or says nothing."""
        if self.absent and not self.absent.isdisjoint(arguments_of_check(check)):
            return True
        try:
            match check:
                case ValueCheck(left=left, comparison=comparison, right=right):
                    one, other = self.evaluated(left), self.evaluated(right)
                    return bool(COMPARISONS[comparison](one, other))
                case MemberCheck(argument=name, values=values):
                    value = self[name]
                    return any(value == each for each in values)
        except (ValueError, IndexError, TypeError):
            return False
        return True

    def evaluated(self, size: Size) -> Any:  # noqa: ANN401 - a number
        """Return the value of an expression."""
        return evaluate_size(size, cast("Mapping[str, Any]", self))  # it only asks for items

    def undecided(self) -> list[Check]:
        """Return the rules that what is known so far does not decide."""
        return [check for check in self.conditions if self.peek(check) is None]

    def peek(self, check: Check) -> bool | None:
        """Return whether a rule holds by what is known so far; None if that does not decide it."""
        before, self.peeking = self.peeking, True
        try:
            return self.holds(check)
        except Unknown:
            return None
        finally:
            self.peeking = before

    # Shapes.

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor."""
        if name not in self.shapes:
            if name in self.open:
                raise Unknown(name) if self.peeking else Contradiction(name)
            self.open.add(name)
            try:
                whole = self.laid(self.problem.patterns[name][0])
                self.shapes[name] = self.narrowed(name, whole)
            finally:
                self.open.discard(name)
        return self.shapes[name]

    def narrowed(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape that a tensor has of those that broadcasting makes to this one."""
        if name not in self.problem.broadcast or not shape:
            return shape
        whole = self.find_broadcast_shape()
        shapes = {"whole": shape} | {text: change(shape) for text, change in BROADCAST.items()}
        if len(shape) < len(whole):
            shapes |= {text: change(whole) for text, change in WIDENED.items()}
        unique = {shape: text for text, shape in reversed(shapes.items())}
        options = [text for text in shapes if text in unique.values()]
        return shapes[self.choose(f"broadcast {name}", "size", options, "whole")]

    def find_broadcast_shape(self) -> tuple[int, ...]:
        """Return the shape of the tensors that are broadcast with the most axes."""
        names = sorted(self.problem.broadcast - self.absent)
        return max((self.laid(self.problem.patterns[name][0]) for name in names), key=len)

    def laid(self, pattern: Pattern) -> tuple[int, ...]:
        """Return the sizes of a pattern."""
        sizes: list[int] = []
        for part in pattern:
            sizes += self.span(part.name) if isinstance(part, Axes) else [self.size(part)]
        return tuple(sizes)

    def size(self, part: Part) -> int:
        """Return the size of one axis."""
        assert not isinstance(part, Axes)
        if isinstance(part, Axis):
            return self.named(part.name)
        try:
            size: int = self.evaluated(part.size)
        except (ValueError, IndexError) as error:  # a division by 0, a list that is too short
            raise Contradiction(str(part.size)) from error
        if size < 0:
            raise Contradiction(str(part.size))
        return size

    def named(self, name: str, base: int | None = None) -> int:
        """Return the size of a named axis."""
        if name not in self.sizes:
            if self.peeking:
                raise Unknown(name)
            base = self.problem.sizes.get(name, base)
            if base is None:
                taken = set(self.sizes.values())
                base = next((each for each in BASES if each not in taken), BASES[-1])
            is_wide = self.problem.is_wide
            taken_up = math.prod(max(size, 1) for size in self.sizes.values())
            room = (WIDEST if is_wide else LARGEST) // taken_up
            wanted = {*SIZES, *self.problem.bounds, *(WIDE_SIZES if is_wide else ())}
            usual = {size for size in wanted if size <= room}
            options = self.possible_sizes(name, by_size({*usual, base}))
            options = options or self.possible_sizes(name, RARE_SIZES)
            if not options:
                raise Contradiction(name)
            self.sizes[name] = self.choose(f"size {name}", "size", options, base)
        return self.sizes[name]

    def possible_sizes(self, name: str, sizes: Sequence[int]) -> list[int]:
        """Return the sizes that contradict no rule."""
        possible, undecided = [], self.undecided()
        for size in sizes:
            self.sizes[name] = size
            if all(self.peek(check) is not False for check in undecided):
                possible.append(size)
        del self.sizes[name]
        return possible

    def span(self, name: str) -> tuple[int, ...]:
        """Return the sizes of the axes that a name stands for."""
        if name not in self.spans:
            if self.peeking:
                raise Unknown(name)
            known = self.problem.spans.get(name)
            # Without a sample `*batch, D` has one batch axis, and a whole shape two axes.
            usual = 2 if name == "shape" else 1
            base = usual if known is None else len(known)
            options = tuple(sorted({*RANKS, base}))
            rank = self.choose(f"rank {name}", "rank", options, base)
            of_sample = known or ()
            # The last axes are those of the sample.
            bases = [*[None] * rank, *of_sample][-rank:] if rank else []
            self.spans[name] = tuple(
                self.named(f"{name}[{index - rank}]", each) for index, each in enumerate(bases)
            )
        return self.spans[name]

    # Values.

    def value(self, argument: Argument) -> Value:
        """Return the value of an argument that is no tensor."""
        name = argument.name
        if name in self.absent:
            return None
        if name not in self.values:
            if self.peeking or name in self.open:
                raise Unknown(name)
            if argument.type.is_list:
                self.values[name] = self.list_of(argument)
            else:
                self.values[name] = self.scalar(argument, name, self.problem.given(name))
        return self.values[name]

    def scalar(self, argument: Argument, name: str, given: Value) -> Value:
        """Choose one value."""
        options, base = options_of(argument, self.problem, self.known_sizes()), given
        if base is None and options:
            base = options[0]
        if self.is_linked and isinstance(base, int) and not isinstance(base, bool):
            base = self.linked(base)
        if base is not None and not contains(options, base):
            options = (base, *options)
        possible, undecided = [], [] if argument.type.is_list else self.undecided()
        for option in options:
            self.values[argument.name] = option
            if all(self.peek(check) is not False for check in undecided):
                possible.append(option)
        self.values.pop(argument.name, None)
        if not possible:
            raise Contradiction(name)
        return self.choose(f"value {name}", "value", possible, base)

    def list_of(self, argument: Argument) -> Value:
        """Choose a list."""
        given = self.problem.given(argument.name)
        if not isinstance(given, tuple):
            default = options_of(argument, self.problem, (), whole=True)
            given = default[0] if default and isinstance(default[0], tuple) else None
        base = tuple(given) if isinstance(given, tuple) else None
        if argument.type.length is not None:
            length = argument.type.length if base is None else len(base)
        else:
            usual = 2 if base is None else len(base)
            simple = default_length(argument)
            lengths = sorted({*LENGTHS, usual}, key=lambda each: (each != simple, each))
            length = self.choose(f"length {argument.name}", "length", lengths, usual)
        items = []
        for index in range(length):
            element = base[index % len(base)] if base else None
            items.append(self.scalar(argument, f"{argument.name}[{index}]", element))
        return tuple(items)

    def linked(self, base: int) -> int:
        """Return the size that an axis has now which the sample has with this size."""
        names = (name for name, size in self.problem.sizes.items() if size == base and base > 1)
        return next((self.sizes[name] for name in names if name in self.sizes), base)

    def known_sizes(self) -> tuple[int, ...]:
        """Return sizes that ints may have to do with."""
        return tuple(dict.fromkeys(self.sizes.values()))

    # Tensors.

    def tensors(self, argument: Argument) -> Value:
        """Return a tensor, or a list of them."""
        name = argument.name
        if name in self.absent:
            return None
        dtype = self.dtype(name)
        if argument.type.is_tensor:
            return self.tensor(argument, self.shape(name), dtype, 0)
        given = self.problem.given(name)
        count = len(given) if isinstance(given, tuple) else 2
        if argument.type.length is None:
            lengths = tuple(sorted({*LENGTHS, count}))
            length = self.choose(f"length {name}", "length", lengths, count)
        else:
            length = argument.type.length
        is_mixed = length > 1 and self.is_mixed(name, dtype)
        dtypes = (dtype, other_float(dtype)) if is_mixed else (dtype,)
        patterns = self.problem.patterns[name]
        items: list[Value] = []
        place = 0
        for index in range(length):
            if argument.type.optional_elements:
                there = not isinstance(given, tuple) or not given
                if isinstance(given, tuple) and given:
                    there = given[index % len(given)] is not None
                if not self.is_given(f"{name}[{index}]", there):
                    items.append(None)
                    continue
            shape = self.laid(patterns[place % len(patterns)])
            items.append(self.tensor(argument, shape, dtypes[place % len(dtypes)], place))
            place += 1
        return tuple(items)

    def is_mixed(self, name: str, dtype: str) -> bool:
        """Choose whether an argument brings a second floating-point dtype.

        Of an operator that nobody describes it may: its kernel for the CPU says whether.
        """
        if self.problem.subject.facts is not None or dtype not in FLOATS:
            return False
        return self.choose(f"mixed {name}", "dtype", (False, True), base=False)

    def tensor(
        self, argument: Argument, shape: tuple[int, ...], dtype: str, index: int
    ) -> TensorSpec:
        """Return a tensor: its layout is chosen, its bounds are those of the samples."""
        known = self.problem.spec(argument, index)
        if known is not None and known.values is not None and known.shape == shape:
            values = known.values
            low, high = None, None
        else:
            values = None
            low, high = (None, None) if known is None else known.bounds
        of_sample = None if known is None else known.layout
        layout = self.choose(
            f"layout {argument.name}",
            "layout",
            layouts_for(shape, is_written=argument.is_written),
            of_sample if self.problem.sample else "contiguous",
        )
        high = self.bound(high, dtype)
        if known is None and not self.problem.known and is_integer(dtype):
            low, high = 0, 1  # it may be an index, and each axis has at least one element
        if high is not None and low is not None and high < low:
            if 0 not in shape:
                raise Contradiction(argument.name)
            high = low
        return TensorSpec(
            shape=shape, dtype=dtype, low=low, high=high, layout=layout, values=values
        )

    def bound(self, high: float | None, dtype: str) -> float | None:
        """Return the largest value of an integer tensor: an index of an axis stays within it."""
        if high is None or not is_integer(dtype):
            return high
        for name, size in self.problem.sizes.items():
            if size == high + 1 and name in self.sizes:
                return self.sizes[name] - 1
        bounded = [n for n, s in self.problem.sizes.items() if s > high and n in self.sizes]
        if bounded and all(self.sizes[name] <= high for name in bounded):
            raise Contradiction(high)
        return high

    def dtype(self, name: str) -> str:
        """Return the dtype of a tensor argument."""
        root = dtype_source(self.problem.operator.dtypes, name)
        if root not in self.dtypes:
            self.dtypes[root] = self.dtype_by(self.problem.operator.dtypes.get(root), root)
        return self.dtypes[root]

    def dtype_by(self, rule: DtypeRule | None, name: str) -> str:
        """Return the dtype that a rule leaves."""
        argument = self.schema.argument(name)
        if isinstance(rule, Promoted):
            return self.dtype(rule.tensors[0])
        if isinstance(rule, DtypeArgument):
            given = self[rule.name]
            return given if isinstance(given, str) else self.dtype_by(rule.otherwise, name)
        spec = None if argument is None else self.problem.spec(argument)
        shown = None if spec is None else spec.dtype
        if isinstance(rule, DtypeSet):
            base = shown or rule.names[0]
            return self.choose(f"dtype {name}", "dtype", rule.names, base)
        if shown is not None and argument is not None:
            seen = self.shown_dtypes(argument)
            if seen or shown not in FLOATS:
                options = tuple(dict.fromkeys((*seen, shown)))
                return self.choose(f"dtype {name}", "dtype", options, shown)
        if argument is not None and argument.name in self.problem.integers:
            usual = WHOLE[1] if self.problem.is_int32 else WHOLE[0]
            return self.choose(f"dtype {name}", "dtype", WHOLE, usual)
        if argument is not None and argument.name in self.problem.masks:
            return self.choose(f"dtype {name}", "dtype", MASKS, MASKS[0])
        if "" not in self.dtypes:  # tensors of which nothing is declared have one dtype together
            options = FLOATS[:1] if self.problem.is_narrow else FLOATS
            if self.problem.subject.facts is None:
                options = (*options, *WHOLE)  # its kernels say whether they take them
            self.dtypes[""] = self.choose("dtype", "dtype", options, shown or FLOATS[0])
            return self.dtypes[""]
        dtype = self.dtypes[""]
        is_single = argument is not None and argument.type.is_tensor  # a list mixes its own
        return other_float(dtype) if is_single and self.is_mixed(name, dtype) else dtype

    def shown_dtypes(self, argument: Argument) -> tuple[str, ...]:
        """Return the dtypes that samples give for an argument."""
        values = self.problem.known.get(argument.name, ())
        specs = [s for v in values for s in (v if isinstance(v, tuple) else (v,))]
        found = [s.dtype for s in specs if isinstance(s, TensorSpec) and s.dtype is not None]
        return tuple(dict.fromkeys(found))


def other_float(dtype: str) -> str:
    """Return a floating-point dtype that is another one."""
    return next(each for each in FLOATS if each != dtype)
