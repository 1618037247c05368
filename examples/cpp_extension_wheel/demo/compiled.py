"""Compiles a model with the operator in TorchAir's two modes and compares it with the CPU."""

from __future__ import annotations

import sys

import torch
import torchair

import custom_ops.converter  # noqa: F401 - for max-autotune
from custom_ops import add_custom

MODES = {"reduce-overhead": "captures the calls", "max-autotune": "a graph of Ascend IR for GE"}
SIZES = {"static": (4, 4), "dynamic": (4, 7, 12)}


def model(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Call the operator between others."""
    return torch.relu(add_custom(2 * x, y)) - x


def difference(mode: str, shapes: str) -> float:
    """Return how far the compiled model is from the CPU at most."""
    torch.compiler.reset()
    config = torchair.CompilerConfig()
    config.mode = mode
    backend = torchair.get_npu_backend(compiler_config=config)
    call = torch.compile(model, backend=backend, dynamic=shapes == "dynamic", fullgraph=True)
    found = 0.0
    for size in SIZES[shapes]:
        x, y = torch.randn(size, 8), torch.randn(size, 8)
        with torch.no_grad():
            got = call(x.npu(), y.npu())
        found = max(found, (got.cpu() - (torch.relu(2 * x + y) - x)).abs().max().item())
    return found


def main() -> int:
    """Print a line for each mode and kind of shapes; 1 if one differs."""
    torch.manual_seed(2024)
    differ = False
    for mode, what in MODES.items():
        for shapes, sizes in SIZES.items():
            found = difference(mode, shapes)
            word = "DIFFERS" if found else "agrees "
            differ |= bool(found)
            calls = f"{len(sizes)} calls"
            print(f"  {word} {mode:<16} {shapes:<8} {calls}  max difference {found:g}  ({what})")
    return int(differ)


sys.exit(main())
