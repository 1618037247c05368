"""Tensors -> files, by content; and back."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import torch

from opwright.compare.record import Value

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["TensorFolder", "load_tensor"]

SUFFIX = ".pt"


class TensorFolder:
    """A folder that tensors are written to, each content once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write_all(self, named: Iterable[tuple[str, torch.Tensor]]) -> tuple[Value, ...]:
        """Write tensors; return them with their names."""
        return tuple(self.write(name, tensor) for name, tensor in named)

    def write(self, name: str, tensor: torch.Tensor) -> Value:
        """Write a tensor of any device, unless its content is there already."""
        dtype, shape = str(tensor.dtype).removeprefix("torch."), tuple(map(int, tensor.shape))
        file = ""
        if tensor.layout is torch.strided:  # others have no memory of their own to compare
            file = self.write_elements(tensor.detach().cpu().resolve_conj().resolve_neg())
        return Value(name=name, dtype=dtype, shape=shape, device=str(tensor.device), file=file)

    def write_elements(self, tensor: torch.Tensor) -> str:
        """Write a tensor of the CPU; return the name of its file."""
        content = tensor.contiguous().reshape(-1).view(torch.uint8).numpy()
        described = f"{tensor.dtype} {list(tensor.shape)} {tensor.stride()}"
        digest = hashlib.blake2b(content.tobytes(), digest_size=16, key=described.encode()[:64])
        file = self.folder / f"{digest.hexdigest()}{SUFFIX}"
        if not file.exists():
            # A view of large memory would be written with all of that.
            whole = tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes()
            torch.save(tensor if whole else tensor.clone(), file)
        return file.name


def load_tensor(folder: Path, value: Value) -> torch.Tensor:
    """Return the tensor of a file, on the CPU."""
    found: torch.Tensor = torch.load(folder / value.file, weights_only=True)
    return found
