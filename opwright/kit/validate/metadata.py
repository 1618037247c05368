"""Rules for versions, tags, deprecation and other words with a fixed meaning."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, get_args

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from opwright.kit.declare.errors import FieldError
from opwright.kit.declare.operator import Autocast, Layout, Vmap
from opwright.kit.validate.errors import (
    DeterminismError,
    ReplacementError,
    UnknownTagError,
    VersionError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.errors import OpwrightError
    from opwright.kit.declare.operator import Declaration
    from opwright.kit.declare.place import Place
    from opwright.kit.validate.subject import Subject

__all__ = ["RULES", "SET_RULES", "TAGS"]

# torch.Tag of the newest torch (aten/src/ATen/native/tags.yaml); a test compares it.
TAGS = frozenset(
    {"core", "cudagraph_unsafe", "data_dependent_output", "dynamic_output_shape"}
    | {"flexible_layout", "generated", "inplace", "inplace_view", "maybe_aliasing_or_mutating"}
    | {"needs_contiguous_strides", "needs_exact_strides", "needs_fixed_stride_order"}
    | {"nondeterministic_bitwise", "nondeterministic_seeded", "out", "out_variant", "pointwise"}
    | {"pt2_compliant_tag", "reduction", "view_copy"}
)
NONDETERMINISTIC = frozenset({"nondeterministic_bitwise", "nondeterministic_seeded"})


def version(text: str, where: str) -> Iterator[OpwrightError]:
    """Check a version."""
    try:
        Version(text)
    except InvalidVersion:
        yield VersionError(where=where, got=repr(text))


def specifier(text: str | None, where: str) -> Iterator[OpwrightError]:
    """Check a range of versions."""
    try:
        SpecifierSet(text or "")
    except InvalidSpecifier:
        fix = 'write a range of versions such as ">=2.13,<2.14"'
        yield VersionError(where=where, got=repr(text), fix=fix)


def of_set(declaration: Declaration) -> Iterator[tuple[Place, OpwrightError]]:
    """Check the versions of the set."""
    where = f"{declaration.place}, operator set {declaration.namespace}"
    for error in (
        *version(declaration.version, f"{where}, version"),
        *specifier(declaration.torch, f"{where}, torch"),
        *specifier(declaration.torch_npu, f"{where}, torch_npu"),
    ):
        yield declaration.place, error


def versions(subject: Subject) -> Iterator[OpwrightError]:
    """Check the versions of an operator."""
    yield from specifier(subject.operator.torch, subject.where("torch"))
    yield from specifier(subject.operator.torch_npu, subject.where("torch_npu"))


def tags(subject: Subject) -> Iterator[OpwrightError]:
    """Check tags, and that they agree with the rest."""
    for tag in subject.operator.tags:
        if tag not in TAGS:
            yield UnknownTagError(
                where=subject.where("tags"), got=repr(tag), allowed=TAGS, near=tag
            )
        elif tag in NONDETERMINISTIC and subject.operator.deterministic:
            yield DeterminismError(
                where=subject.where("tags"), got=f"{tag!r} beside deterministic=True"
            )


def deprecation(subject: Subject) -> Iterator[OpwrightError]:
    """Check since when an operator is deprecated, and what replaces it."""
    deprecated = subject.operator.deprecated
    if deprecated is None:
        return
    yield from version(deprecated.since, subject.where("deprecated"))
    use = deprecated.use
    others = [name for name in subject.declared if name != subject.operator.name]
    if use is None or use in others:
        return
    space, _, name = use.rpartition("::")
    if space not in {"", subject.declaration.namespace} or (space and name in others):
        return
    got = f"{use!r}, the operator itself" if name == subject.operator.name else repr(use)
    where = subject.where("deprecated, use")
    yield ReplacementError(where=where, got=got, allowed=others, near=name)


def words(subject: Subject) -> Iterator[OpwrightError]:
    """Check fields that have one of a few values."""
    operator = subject.operator
    given: list[tuple[str, object, tuple[str, ...]]] = [
        (f"layout of {name!r}", layout, get_args(Layout))
        for name, layout in operator.layouts.items()
    ]
    if operator.autocast is not None:
        given.append(("autocast", operator.autocast, get_args(Autocast)))
    if not callable(operator.vmap):
        given.append(("vmap", operator.vmap, get_args(Vmap)))
    for field, value, allowed in given:
        if value not in allowed:
            yield FieldError(
                where=subject.where(field),
                got=repr(value),
                allowed=allowed,
                near=str(value),
                fix="use one of them",
            )


def budget(subject: Subject) -> Iterator[OpwrightError]:
    """Check that the budget of a call is a ratio that can be."""
    value: object = subject.operator.cost_budget
    if value is None:
        return
    if isinstance(value, bool) or not (isinstance(value, int | float) and 0 < value < math.inf):
        yield FieldError(
            where=subject.where("cost_budget"),
            got=repr(value),
            allowed=("a number above 0",),
            fix="give a multiple of the cost of torch.add: cost_budget=3",
        )


RULES = (versions, tags, deprecation, words, budget)
SET_RULES = (of_set,)
