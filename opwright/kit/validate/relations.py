"""Rules for relations between calls: they name axes of patterns, and tensors of the right kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import assert_never

from opwright.kit.declare.errors import UnknownNameError
from opwright.kit.declare.relations import Batch, Linear, MaskedPadding, PaddingBehind
from opwright.kit.declare.rules import Dims
from opwright.kit.declare.schema_text import split
from opwright.kit.declare.values import FLOATING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from opwright.errors import OpwrightError
    from opwright.kit.validate.subject import Subject

__all__ = ["RULES"]

INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8"})
MASKS = frozenset({"bool", "uint8"})


def relations(subject: Subject) -> Iterator[OpwrightError]:
    """Check the names in relations."""
    for relation in subject.operator.relations:
        where = subject.where(f"relation {str(relation)!r}")
        tensors = [a.name for a in subject.tensors if not a.is_out]
        match relation:
            case Batch(axis):
                yield from axis_name(axis, parts_of(tensors, subject), where)
            case Linear(tensor):
                yield from tensor_name(tensor, kind(tensors, FLOATING, subject), where)
            case PaddingBehind(tensor, axis, lengths):
                yield from tensor_name(tensor, with_patterns(tensors, subject), where)
                yield from axis_name(axis, parts_of([tensor], subject), where)
                known = kind(with_patterns(tensors, subject), INTEGERS, subject)
                yield from along(lengths, tensor, known, subject, where)
            case MaskedPadding(tensor, mask):
                yield from tensor_name(tensor, with_patterns(tensors, subject), where)
                known = kind(with_patterns(tensors, subject), MASKS, subject)
                yield from along(mask, tensor, known, subject, where)
            case _:
                assert_never(relation)


def tensor_name(name: str, allowed: Iterable[str], where: str) -> Iterator[OpwrightError]:
    """Check that a relation names a tensor argument that it can be about."""
    known = list(allowed)
    if name not in known:
        fix = "name a tensor argument that the relation can be about, with a pattern in shapes="
        yield UnknownNameError(where=where, got=repr(name), allowed=known, near=name, fix=fix)


def axis_name(name: str, allowed: Iterable[str], where: str) -> Iterator[OpwrightError]:
    """Check that a relation names an axis of a pattern."""
    known = sorted(set(allowed))
    if name not in known:
        fix = "name an axis as the patterns in shapes= do"
        yield UnknownNameError(where=where, got=repr(name), allowed=known, near=name, fix=fix)


def along(
    name: str, tensor: str, allowed: Iterable[str], subject: Subject, where: str
) -> Iterator[OpwrightError]:
    """Check a tensor of lengths or a mask: each of its axes is one of the padded tensor."""
    own = set(parts_of([tensor], subject))
    known = [each for each in allowed if set(parts_of([each], subject)) <= own]
    if name not in known:
        fix = f"name a tensor whose axes are among those of {tensor!r}, by the same names"
        yield UnknownNameError(where=where, got=repr(name), allowed=known, near=name, fix=fix)


def kind(names: Iterable[str], dtypes: frozenset[str], subject: Subject) -> list[str]:
    """Return the tensors that can have one of some dtypes."""
    return [
        name
        for name in names
        if (possible := subject.dtypes_of(name)) is None or bool(possible & dtypes)
    ]


def with_patterns(names: Iterable[str], subject: Subject) -> list[str]:
    """Return the tensors that have a pattern."""
    return [name for name in names if isinstance(subject.operator.shapes.get(name), Dims)]


def parts_of(names: Iterable[str], subject: Subject) -> Iterator[str]:
    """Yield the parts of the patterns of tensors that are names: N, *batch."""
    for name in names:
        rule = subject.operator.shapes.get(name)
        for part in split(rule.text) if isinstance(rule, Dims) else ():
            if part.removeprefix("*").isidentifier() and part != "_":
                yield part


RULES = (relations,)
