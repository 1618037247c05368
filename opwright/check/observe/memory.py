"""The memory of tensors: what is in it, whose it is, and views that leave gaps in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from opwright.check.observe.tensors import tensors_by_place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Form", "Snapshot", "content", "identity", "label_tensors", "share_memory", "snapshots"]


@dataclass(frozen=True, slots=True)
class Form:
    """Where in its storage a tensor is; strides and offset in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    @classmethod
    def of(cls, tensor: torch.Tensor) -> Form:
        """Return the form of a tensor."""
        return cls(tuple(tensor.shape), tensor.stride(), int(tensor.storage_offset()))

    def __str__(self) -> str:
        return f"sizes {list(self.shape)}, strides {list(self.strides)}, offset {self.offset}"


def identity(tensor: torch.Tensor) -> int:
    """Return what identifies a tensor's storage: one without bytes, a meta and a fake one too."""
    return int(tensor.untyped_storage()._cdata)  # noqa: SLF001 - two empty storages have one data_ptr


def share_memory(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Return whether two tensors have one storage, or storages over the same bytes."""
    if identity(one) == identity(other):
        return True
    if one.device != other.device:
        return False
    first, second = one.untyped_storage(), other.untyped_storage()
    return (
        first.data_ptr() < second.data_ptr() + second.nbytes()
        and second.data_ptr() < first.data_ptr() + first.nbytes()
    )


def content(tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy of all bytes of a tensor's storage, on the CPU."""
    whole = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    whole.set_(tensor.untyped_storage())
    return whole.cpu().clone()


def label_tensors(values: Mapping[str, Any]) -> Iterator[tuple[str, str, torch.Tensor]]:
    """Yield the tensors of a call's arguments: the argument, it with the index in a list, itself.

    >>> [label for _, label, _ in label_tensors({"x": torch.ones(1), "ys": [torch.ones(1)]})]
    ['x', 'ys[0]']
    """
    for name in values:
        for place, tensor in tensors_by_place(values, [name]):
            yield name, place, tensor


def argument_text(label: str) -> str:
    """Return the Python for an argument of `values`.

    >>> argument_text("xs[0]")
    "values['xs'][0]"
    """
    name, bracket, rest = label.partition("[")
    return f"values[{name!r}]{bracket}{rest}"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A tensor of an argument before a call.

    Parameters
    ----------
    name, label
        The argument; and it with the index in a list.
    content
        All bytes of its storage.
    version
        How often autograd saw it written.
    """

    name: str
    label: str
    tensor: torch.Tensor
    content: torch.Tensor
    version: int
    storage: int
    form: Form

    @property
    def is_moved(self) -> bool:
        """Whether the call gave the tensor other sizes, strides or memory."""
        return Form.of(self.tensor) != self.form or identity(self.tensor) != self.storage

    @property
    def is_bumped(self) -> bool:
        """Whether autograd saw a write."""
        return self.tensor._version != self.version  # noqa: SLF001 - as in `snapshots`

    def written(self) -> torch.Tensor:
        """Return by element whether the call changed the tensor's bytes."""
        return self.seen(self.changed())

    def outside(self) -> torch.Tensor:
        """Return the elements of the storage that changed and are not the tensor's, by index."""
        changed = self.changed()
        self.seen(changed).fill_(False)  # noqa: FBT003 - a fill value
        return changed.nonzero().flatten()

    def changed(self) -> torch.Tensor:
        """Return by element of the storage whether it changed."""
        size = self.tensor.element_size()
        count = self.content.numel() // size
        now = content(self.tensor)
        if self.is_moved or now.numel() != self.content.numel():
            return torch.zeros(count, dtype=torch.bool)
        different = now[: count * size] != self.content[: count * size]
        return different.reshape(count, size).any(dim=1)

    def seen(self, elements: torch.Tensor) -> torch.Tensor:
        """Return elements of the storage as the tensor shows them."""
        return elements.as_strided(self.form.shape, self.form.strides, self.form.offset)

    def before(self) -> torch.Tensor:
        """Return the tensor's values before the call, on the CPU."""
        size = self.tensor.element_size()
        whole = self.content[: self.content.numel() // size * size]
        return self.seen(whole.view(self.tensor.dtype))

    def difference(self) -> str:
        """Say what a call changed."""
        written = self.written()
        index = written.nonzero()[0].tolist()
        was, is_now = self.before()[tuple(index)].item(), self.tensor[tuple(index)].item()
        count = f"{int(written.sum())} of {written.numel()} elements"
        return f"{self.label}{index} was {was} and is {is_now}; {count} changed"


def snapshots(values: Mapping[str, Any]) -> list[Snapshot]:
    """Return what the tensors of a call's arguments are before it."""
    return [
        Snapshot(
            name=name,
            label=label,
            tensor=tensor,
            content=content(tensor),
            version=tensor._version,  # noqa: SLF001 - documented for extensions, without another name
            storage=identity(tensor),
            form=Form.of(tensor),
        )
        for name, label, tensor in label_tensors(values)
    ]
