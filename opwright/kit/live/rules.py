"""Checks, shapes and dtypes for the arguments of a call. Sizes may be symbolic."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch
from typing_extensions import assert_never

from opwright.kit.declare.dtypes import SCALAR_TYPES
from opwright.kit.declare.rules import (
    Cpp,
    DtypeArgument,
    DtypeSet,
    Promoted,
    SameDtype,
    ShapeFunction,
)
from opwright.kit.expressions.conditions import (
    MemberCheck,
    RankCheck,
    SizeCheck,
    SpanCheck,
    ValueCheck,
    arguments_of_check,
)
from opwright.kit.expressions.decide import COMPARISONS
from opwright.kit.expressions.evaluate import evaluate, evaluate_size
from opwright.kit.expressions.messages import dtype_texts, sentence, texts_of_check
from opwright.kit.expressions.places import put_at
from opwright.kit.live.arguments import tensors_in
from opwright.kit.live.errors import CppRuleError
from opwright.kit.shipped._internals import check_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from opwright.kit.declare.rules import DtypeRule
    from opwright.kit.derive.facts import OperatorFacts, Output
    from opwright.kit.expressions.conditions import Check
    from opwright.kit.live.arguments import Values

__all__ = ["Rules"]


class Symbols:
    """How sizes are compared, which may be symbolic."""

    sym_min = staticmethod(torch.sym_min)
    sym_max = staticmethod(torch.sym_max)

    @staticmethod
    def broadcast(shapes: Sequence[tuple[Any, ...]], /) -> tuple[Any, ...]:
        """Return what shapes become together.

        A size that nobody knows yet is not 1, as everywhere in torch; that it equals the others is
        then checked when the graph runs.
        """
        rank = max(map(len, shapes))
        sizes: list[Any] = []
        for axis in range(-rank, 0):
            wide: Any = 1
            for shape in shapes:
                if -axis > len(shape) or is_one(shape[axis]):
                    continue
                if isinstance(wide, int) and wide == 1:
                    wide = shape[axis]
                else:
                    require(wide == shape[axis], partial(explain_unbroadcastable, shapes))
            sizes.append(wide)
        return tuple(sizes)


def is_one(size: Any) -> bool:  # noqa: ANN401 - an int or a SymInt
    """Return whether a size is known to be 1."""
    if isinstance(size, int):
        return size == 1
    from torch.fx.experimental.symbolic_shapes import guard_or_false  # noqa: PLC0415 - it takes half a second

    known: bool = guard_or_false(size == 1)
    return known


def explain_unbroadcastable(shapes: Sequence[tuple[Any, ...]]) -> str:
    """Return the message for shapes that do not fit together."""
    return f"shapes {', '.join(map(str, shapes))} cannot be broadcast together"


SYMBOLS = Symbols()


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of an operator; `name` is its name with namespace, for messages."""

    name: str
    facts: OperatorFacts

    @classmethod
    def of(cls, name: str, facts: OperatorFacts) -> Rules:
        """Return the rules, if Python can run them.

        Raises
        ------
        CppRuleError
            OPW-L003.
        """
        rules = [(o.name, rule) for o in facts.outputs for rule in (o.shape, o.dtype)]
        rules += [(a, rule) for a, rule in facts.dtypes.items() if facts.schema.argument(a)]
        for each, rule in rules:
            if isinstance(rule, Cpp):
                where = f"{facts.operator.place}, operator {name}, rule of {each!r}"
                raise CppRuleError(where=where, got=f"cpp({rule.text!r})")
        return cls(name, facts)

    def check(self, values: Values) -> None:
        """Raise TypeError for a dtype or None, ValueError for anything else that does not hold."""
        for argument in self.facts.schema.arguments:
            kind = argument.type
            # The dispatcher takes None for any tensor: one that is not defined.
            if values.get(argument.name, kind) is None and kind.is_tensor and not kind.optional:
                message = f"{self.name}: argument '{argument.name}' is None; it needs a tensor"
                raise TypeError(message)
        for name, rule in self.facts.dtypes.items():
            if name in values:
                self.check_dtype(name, rule, values)
        for each in self.facts.checks:
            if any(values[name] is None for name in arguments_of_check(each)):
                continue
            self.check_shape(each, values)

    def check_dtype(self, name: str, rule: DtypeRule, values: Values) -> None:
        """Check the dtype of a tensor argument, or of each tensor of a list."""
        if rule == SameDtype(name):
            return
        if isinstance(rule, DtypeSet):
            allowed = tuple(getattr(torch, each) for each in rule.names)
        elif not is_known(rule, values):
            return  # the other tensors are not given
        else:
            allowed = (dtype_of(rule, values),)
        for tensor in tensors_in(values[name]):
            if tensor.dtype not in allowed:
                names = ", ".join(map(c_name, allowed))
                got = c_name(tensor.dtype)
                raise TypeError(sentence(self.name, dtype_texts(name), got, names))

    def check_shape(self, check: Check, values: Values) -> None:
        """Check one rule."""

        def say(*found: object) -> str:
            return sentence(self.name, texts_of_check(check), *found)

        match check:
            case RankCheck(tensor=tensor, rank=rank, at_least=at_least):
                got = len(values[tensor].shape)
                require(got >= rank if at_least else got == rank, lambda: say(got))
            case SizeCheck(tensor=tensor, axis=axis, size=size):
                got, expected = values[tensor].shape[axis], evaluate_size(size, values, SYMBOLS)
                require(got == expected, lambda: say(got, expected))
            case SpanCheck(span=span, other=other):
                found = evaluate((span,), values, SYMBOLS)
                wanted = evaluate((other,), values, SYMBOLS)

                def message() -> str:
                    return say(list(found), list(wanted))

                require(len(found) == len(wanted), message)
                for one, another in zip(found, wanted, strict=True):
                    require(one == another, message)
            case ValueCheck(left=left, comparison=comparison, right=right):
                one, another = (evaluate_size(each, values, SYMBOLS) for each in (left, right))
                require(COMPARISONS[comparison](one, another), lambda: say(one, another))
            case MemberCheck(argument=argument, values=allowed):
                got = values[argument]
                require(got in allowed, lambda: say(got))
            case _:
                assert_never(check)

    def count(self, output: Output, values: Values) -> int | None:
        """Return how many tensors a new output has; None if it is no list."""
        if output.count is None:
            return None
        return max(int(evaluate_size(output.count, values, SYMBOLS)), 0)

    def shape(self, output: Output, values: Values, place: int = 0) -> tuple[Any, ...]:
        """Return the shape of a new output; of a list, that of the tensor at a place."""
        match output.shape:
            case tuple() as data:
                return evaluate(
                    data if output.count is None else put_at(data, place), values, SYMBOLS
                )
            case ShapeFunction(function):
                return tuple(function(**values))
            case rule:  # `of` refuses C++, and a new output has a rule
                raise AssertionError(rule)

    def dtype(self, output: Output, values: Values, place: int = 0) -> torch.dtype:
        """Return the dtype of a new output; of a list, that of the tensor at a place."""
        assert output.dtype is not None
        return dtype_of(output.dtype, values, place)

    def empty(
        self, output: Output, values: Values, device: torch.device
    ) -> torch.Tensor | list[torch.Tensor]:
        """Allocate a new output: a tensor or a list of them, contiguous."""
        count = self.count(output, values)
        made = [
            torch.empty(
                self.shape(output, values, place),
                dtype=self.dtype(output, values, place),
                device=device,
            )
            for place in range(1 if count is None else count)
        ]
        return made[0] if count is None else made


def require(condition: Any, message: Callable[[], str]) -> None:  # noqa: ANN401 - a bool or SymBool
    """Raise ValueError unless a condition holds; one on symbolic sizes is kept with the graph."""
    check_value(condition, message)


def c_name(dtype: torch.dtype) -> str:
    """Return what C++ calls a dtype."""
    return SCALAR_TYPES[str(dtype).removeprefix("torch.")]


def is_known(rule: DtypeRule, values: Values) -> bool:
    """Return whether something is given that a dtype rule can be computed from."""
    match rule:
        case SameDtype(tensor):
            return any(True for _ in tensors_in(values[tensor]))
        case Promoted(names):
            return any(is_known(SameDtype(name), values) for name in names)
        case DtypeArgument(name, otherwise):
            return values[name] is not None or (
                otherwise is not None and is_known(otherwise, values)
            )
        case _:
            return True


def dtype_of(rule: DtypeRule, values: Values, place: int = 0) -> torch.dtype:
    """Return the dtype that a rule gives; in a list of results, to the tensor at a place."""
    match rule:
        case DtypeSet(names):
            dtype: torch.dtype = getattr(torch, names[0])
            return dtype
        case SameDtype(tensor, is_each):
            return dtype_at(values[tensor], place if is_each else 0)
        case Promoted(names):
            return promote([values[name] for name in names])
        case DtypeArgument(name, otherwise):
            given: torch.dtype | None = values[name]
            if given is not None:
                return given
            assert otherwise is not None  # validate refuses a rule for None without it
            return dtype_of(otherwise, values, place)
        case Cpp():
            raise AssertionError(rule)  # Rules.of refused it
        case _:
            assert_never(rule)


def dtype_at(value: object, place: int) -> torch.dtype:
    """Return the dtype of a tensor, or of the one at a place of a list."""
    return next(islice(tensors_in(value), place, None)).dtype


def promote(values: Iterable[Any]) -> torch.dtype:
    """Return the dtype that tensors, lists of them and numbers have together.

    Tensors with axes come before 0-d ones, and these before numbers, whatever their order.
    """
    groups: dict[int, list[torch.dtype]] = {}
    numbers = []
    for value in values:
        if isinstance(value, bool | int | float | complex):
            numbers.append(value)
        for tensor in tensors_in(value):
            groups.setdefault(min(tensor.ndim, 1), []).append(tensor.dtype)
    stand_ins: list[Any] = [
        torch.empty((1,) * axes, dtype=reduce(torch.promote_types, dtypes), device="meta")
        for axes, dtypes in sorted(groups.items(), reverse=True)
    ]
    stand_ins += numbers
    if len(stand_ins) == 1:
        stand_ins *= 2
    result: torch.dtype = torch.result_type(stand_ins[0], stand_ins[1])
    for number in stand_ins[2:]:
        result = torch.result_type(torch.empty((1,), dtype=result, device="meta"), number)
    return result
