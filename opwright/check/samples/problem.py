"""The problem to solve: shapes of an operator's tensors with named axes, and known values.

The names are those of the declaration. Where it has no pattern for a tensor, an explicit sample
shows one: axes of equal sizes have one name. Without a sample all such tensors have one shape.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from opwright.check.samples.specs import specs_in
from opwright.kit.declare.rules import Dims
from opwright.kit.declare.schema_text import split
from opwright.kit.expressions.conditions import ValueCheck, arguments_of_check, constants_of_size
from opwright.kit.expressions.patterns import bind
from opwright.kit.expressions.read import read_size, size_names
from opwright.kit.expressions.shape import Broadcast, Const, Dim, Span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opwright.check.subject import Subject
    from opwright.kit.declare.operator import Operator
    from opwright.kit.declare.sample import Sample, TensorSpec, Value
    from opwright.kit.declare.schema import Argument
    from opwright.kit.expressions.shape import Size

__all__ = [
    "Axes",
    "Axis",
    "Computed",
    "Part",
    "Pattern",
    "Problem",
    "problem_of",
    "tensors_of",
]


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis with a name, whose size is free."""

    name: str


@dataclass(frozen=True, slots=True)
class Axes:
    """Any number of axes."""

    name: str


@dataclass(frozen=True, slots=True)
class Computed:
    """An axis whose size is a rule's."""

    size: Size


Part: TypeAlias = Axis | Axes | Computed
Pattern: TypeAlias = tuple[Part, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """The problem to solve.

    Parameters
    ----------
    patterns
        By tensor argument; for a list one for each element, which the last one goes on.
    sizes, spans
        What the base has for each name.
    sample
        The explicit sample that the base is; None if there is none.
    known
        By argument, the values that explicit samples give.
    is_declared
        Whether the declaration has a pattern for each tensor, so that nothing was guessed.
    integers, masks
        Of an operator that nobody describes: the tensors that are taken for whole numbers, and for
        masks.
    is_int32
        Whether whole numbers have 32 bits rather than 64.
    broadcast
        Tensors without a pattern that an output's shape is broadcast from.
    is_wide
        Whether tensors may be larger than those of most samples.
    is_tried
        Whether another library's operator is tried with more than what is known: what it raises for
        is no sample then.
    """

    subject: Subject
    patterns: Mapping[str, tuple[Pattern, ...]]
    sizes: Mapping[str, int] = field(default_factory=dict)
    spans: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    sample: Sample | None = None
    known: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    is_declared: bool = True
    integers: frozenset[str] = frozenset()
    masks: frozenset[str] = frozenset()
    is_int32: bool = False
    broadcast: frozenset[str] = frozenset()
    is_wide: bool = False
    is_tried: bool = False

    @property
    def is_narrow(self) -> bool:
        """Whether only what is known is tried: another library's operator may refuse the rest."""
        return self.is_foreign and not self.is_tried

    @property
    def is_foreign(self) -> bool:
        """Whether it is another library's operator, which somebody describes."""
        return self.subject.is_foreign and self.subject.facts is not None

    @property
    def bounds(self) -> set[int]:
        """The sizes at which rules begin to hold, or end."""
        facts = self.subject.facts
        checks = () if facts is None else facts.checks
        found = {
            number + step
            for check in checks
            if isinstance(check, ValueCheck)
            for number in (*constants_of_size(check.left), *constants_of_size(check.right))
            if isinstance(number, int)
            for step in (-1, 0, 1)
        }
        return {each for each in found if each >= 0}

    @property
    def operator(self) -> Operator:
        """The operator."""
        return self.subject.operator

    @property
    def ruled(self) -> set[str]:
        """The arguments that checks are about."""
        facts = self.subject.facts
        checks = () if facts is None else facts.checks
        return {name for check in checks for name in arguments_of_check(check)}

    def given(self, name: str) -> Value:
        """Return what the sample gives for an argument."""
        return None if self.sample is None else dict(self.sample.values).get(name)

    def mentions(self, name: str) -> bool:
        """Return whether the sample gives an argument, be it as None: else it has its default."""
        return self.sample is not None and name in dict(self.sample.values)

    def spec(self, argument: Argument, index: int = 0) -> TensorSpec | None:
        """Return the tensor that a sample has for an argument, or an element of it."""
        values = [self.given(argument.name), *self.known.get(argument.name, ())]
        for value in values:
            specs = list(specs_in(value))
            if specs:
                return specs[min(index, len(specs) - 1)]
        return None


def problem_of(subject: Subject, sample: Sample | None) -> Problem:
    """Return the problem whose base is an explicit sample, or the simplest one without."""
    declared = list_declared_patterns(subject.operator)
    sizes: dict[str, int] = {}
    spans: dict[str, tuple[int, ...]] = {}
    if sample is not None:
        for name, pattern in declared.items():
            for spec in specs_in(dict(sample.values).get(name)):
                read_off(pattern, spec.shape, sizes, spans)
    patterns: dict[str, tuple[Pattern, ...]] = {
        name: (pattern,) for name, pattern in declared.items()
    }
    rest = [a for a in tensors_of(subject.operator) if a.name not in declared]
    shown = (
        {} if sample is None else collect_shown_shapes(rest, [sample, *subject.operator.samples])
    )
    shapes = {shape for each in shown.values() for shape in each}
    for argument in rest:
        if argument.name not in shown or (len(shapes) == 1 and not subject.is_foreign):
            patterns[argument.name] = ((Axes("shape"),),)
            spans.update(("shape", shape) for shape in shapes)
        else:
            patterns[argument.name] = tuple(
                tuple(part_of(size, sizes) for size in shape) for shape in shown[argument.name]
            )
    return Problem(
        subject=subject,
        patterns=patterns,
        sizes=sizes,
        spans=spans,
        sample=sample,
        known=collect_known_values(subject.operator.samples),
        is_declared=not rest,
        broadcast=broadcast_tensors(subject) - declared.keys(),
    )


def broadcast_tensors(subject: Subject) -> frozenset[str]:
    """Return the tensors that an output's shape is broadcast from."""
    outputs = () if subject.facts is None else subject.facts.outputs
    shapes = [output.shape for output in outputs if isinstance(output.shape, tuple)]
    return frozenset(
        item.tensor
        for shape in shapes
        for whole in shape
        if isinstance(whole, Broadcast)
        for part in whole.shapes
        for item in part
        if isinstance(item, Span)
    )


def tensors_of(operator: Operator) -> list[Argument]:
    """Return the arguments with tensors; those that may be missing bind names last."""
    tensors = [a for a in operator.schema.arguments if a.type.has_tensors]
    return sorted(tensors, key=lambda a: a.type.optional)


def collect_shown_shapes(
    arguments: Sequence[Argument], samples: Sequence[Sample]
) -> dict[str, tuple[tuple[int, ...], ...]]:
    """Return the shapes that samples show, by argument: those of the first that has it."""
    found: dict[str, tuple[tuple[int, ...], ...]] = {}
    for sample in samples:
        for name, value in sample.values:
            shapes = tuple(spec.shape for spec in specs_in(value))
            if shapes and any(argument.name == name for argument in arguments):
                found.setdefault(name, shapes)
    return found


def part_of(size: int, sizes: dict[str, int]) -> Part:
    """Return the axis of a size: that of an equal one, else a new one. 0 and 1 stay."""
    if size <= 1:
        return Computed(Const(size))
    name = next((name for name, known in sizes.items() if known == size), f"{size}")
    sizes[name] = size
    return Axis(name)


def read_off(
    pattern: Pattern,
    shape: tuple[int, ...],
    sizes: dict[str, int],
    spans: dict[str, tuple[int, ...]],
) -> None:
    """Read the sizes of named axes off a shape that has the pattern."""
    count = len(shape) - len(pattern) + 1
    index = 0
    for part in pattern:
        if isinstance(part, Axes):
            spans.setdefault(part.name, shape[index : index + count])
            index += count
            continue
        if isinstance(part, Axis) and index < len(shape):
            sizes.setdefault(part.name, shape[index])
        index += 1


def list_declared_patterns(operator: Operator) -> dict[str, Pattern]:
    """Return the patterns of tensor arguments, in the order in which they bind names."""
    rules = {
        name: rule
        for name, rule in operator.shapes.items()
        if isinstance(rule, Dims) and operator.schema.argument(name) is not None
    }
    scope, _ = bind(operator.schema, rules, where=operator.name)
    patterns: dict[str, Pattern] = {}
    for argument in tensors_of(operator):
        rule = rules.get(argument.name)
        if rule is None:
            continue
        texts = split(rule.text)
        names = dict(scope.names)  # and those that only this one has, if it may be missing
        parts: list[Part] = []
        for index, text in enumerate(texts):
            inner = dataclasses.replace(scope, names=names)
            if text.startswith("*"):
                word = text[1:].strip()
                parts.append(Axes(f"{argument.name}[{index}:]" if word == "_" else word))
            elif text == "_":
                parts.append(Axis(f"{argument.name}[{index}]"))
            elif text in names:
                parts.append(Axis(text))
            elif text.isidentifier() and text not in size_names(inner):
                is_behind = any(isinstance(part, Axes) for part in parts)
                names[text] = Dim(argument.name, index - len(texts) if is_behind else index)
                parts.append(Axis(text))
            else:
                parts.append(Computed(read_size(text, inner, where=operator.name)))
        patterns[argument.name] = tuple(parts)
    return patterns


def collect_known_values(samples: Sequence[Sample]) -> dict[str, tuple[Value, ...]]:
    """Return the values that samples give, by argument."""
    known: dict[str, tuple[Value, ...]] = {}
    for sample in samples:
        for name, value in sample.values:
            if value not in known.get(name, ()):
                known[name] = (*known.get(name, ()), value)
    return known
