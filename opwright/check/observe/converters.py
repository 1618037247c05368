"""The converter that somebody wrote for an operator, as against one that is derived."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from opwright.internals.modules import GE_CONVERTER

if TYPE_CHECKING:
    from collections.abc import Callable

    from opwright.check.subject import Subject

__all__ = ["converter_of", "find_registered"]


def converter_of(subject: Subject) -> Callable[..., object] | None:
    """Return the function that somebody wrote; None if there is none."""
    if subject.operator.converter is not None:
        return subject.operator.converter
    if subject.facts is not None and not subject.is_foreign:
        return None  # only a derived one is registered
    return find_registered(subject.overload)


def find_registered(operator: Any) -> Callable[..., object] | None:  # noqa: ANN401 - torch.ops has no types
    """Return the converter that was registered for an operator, as its author wrote it."""
    wrapped = vars(operator).get(GE_CONVERTER)
    return None if wrapped is None else inspect.unwrap(wrapped)
