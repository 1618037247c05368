"""One operator whose kernel is in the same file as its binding: add.asc."""

from pathlib import Path

import torch
import torch_npu  # noqa: F401 - its libraries have to be there before this one

torch.ops.load_library(str(Path(__file__).with_name("libadd.so")))


@torch.library.register_fake("asc_add::add")
def _(x, y, *, blocks=8):
    return torch.empty_like(x)


def add(x: torch.Tensor, y: torch.Tensor, *, blocks: int = 8) -> torch.Tensor:
    """Return x + y, computed by `blocks` blocks."""
    return torch.ops.asc_add.add(x, y, blocks=blocks)
