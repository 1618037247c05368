"""Calls of Meta: arguments without data, the Meta kernel alone, and what it allocates or reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from opwright.check.subject import flat
from opwright.internals.modes import TorchDispatchMode
from opwright.kit.live import dispatcher
from opwright.kit.live.arguments import Binder

if TYPE_CHECKING:
    from opwright.check.row_context import RowContext
    from opwright.kit.live.arguments import Values

__all__ = ["Allocations", "call_meta", "is_data_read", "move_to_meta", "remove_data"]


class Allocations(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's own
    """Notes tensors with data, of given shapes, that operators make."""

    def __init__(self, shapes: set[torch.Size]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch's own
        self.shapes = shapes
        self.found: list[str] = []

    def __torch_dispatch__(
        self,
        func: Any,  # noqa: ANN401 - torch.ops has no types
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - what the operator returns
        """Run an operator and look at what it returns."""
        del types
        returned = func(*args, **(kwargs or {}))
        for tensor in flat({"result": returned}).values():
            if tensor.device.type != "meta" and (
                tensor.numel() > 1 and tensor.shape in self.shapes
            ):
                text = f"{func} made a tensor {tuple(tensor.shape)} on {tensor.device}"
                self.found.append(text)
        return returned


def call_meta(context: RowContext, values: Values) -> None:
    """Call the Meta kernel itself, below everything else."""
    operator = context.subject.overload
    binder = Binder.of(context.subject.schema)
    binder.call(
        lambda *args, **kwargs: dispatcher.call_at(operator, "Meta", *args, **kwargs), values
    )


def remove_data(tensor: torch.Tensor) -> torch.Tensor:
    """Return a meta tensor of the same sizes, strides and storage offset."""
    storage = torch.empty(
        tensor.untyped_storage().nbytes() // tensor.element_size(),
        dtype=tensor.dtype,
        device="meta",
    )
    return storage.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def move_to_meta(value: Any) -> Any:  # noqa: ANN401 - any argument
    """Replace an argument that names a device."""
    return torch.device("meta") if isinstance(value, torch.device) else value


def is_data_read(error: BaseException) -> bool:
    """Return whether an error says that Meta read a tensor."""
    text = str(error)
    return any(
        each in text
        for each in (
            "cannot be called on meta tensors",
            "Cannot copy out of meta tensor",
            "data-dependent",
            "_local_scalar_dense",
            "no data",
            "doesn't have storage",
        )
    )
