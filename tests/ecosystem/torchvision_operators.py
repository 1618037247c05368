"""Two operators of torchvision, which transformers and timm import.

torchvision's wheel is built for CUDA: beside a CPU build of torch its library cannot be loaded, and
`import torchvision` fails at the Meta functions of these two. No model here calls them.
"""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["define"]

SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
LIBRARY: Any = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]  # torch's


def define() -> None:
    """Define them, where torchvision's library has not."""
    if torch.version.cuda is not None:  # the wheel's library can be loaded, and defines them
        return
    for name in ("nms", "qnms"):
        if not torch._C._dispatch_has_kernel(f"torchvision::{name}"):  # noqa: SLF001
            LIBRARY.define(name + SCHEMA)
