"""Operators as they run in eager mode, with their tensors before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opwright.compare.calls import (
    has_defined_results,
    is_random_operator,
    name_operator,
    name_results,
    name_tensors,
    name_written,
    write_call,
)
from opwright.compare.origin import find_source
from opwright.compare.record import OperatorCall
from opwright.internals.modes import TorchDispatchMode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from opwright.compare.tensors import TensorFolder

__all__ = ["EagerRecorder"]


class EagerRecorder(TorchDispatchMode):  # type: ignore[no-untyped-call] # torch's has no types
    """Writes each operator that runs while the mode is on.

    Parameters
    ----------
    tensors
        Where tensors are written.
    """

    def __init__(self, tensors: TensorFolder) -> None:
        super().__init__()  # type: ignore[no-untyped-call] # torch's has no types
        self.tensors = tensors
        self.calls: list[OperatorCall] = []

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - whatever the operator returns
        """Run an operator between two looks at its tensors."""
        del types
        given = kwargs or {}
        inputs = self.tensors.write_all(name_tensors(func, args, given))
        text, source = write_call(func, args, given), find_source()
        returned = func(*args, **given)
        found = [*name_results(returned), *name_written(func, args, given)]
        self.calls.append(
            OperatorCall(
                operator=name_operator(func),
                source=source,
                text=text,
                inputs=inputs,
                outputs=self.tensors.write_all(found) if has_defined_results(func) else (),
                is_random=is_random_operator(func),
            )
        )
        return returned
