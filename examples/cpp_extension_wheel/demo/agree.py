"""Runs the operator on the NPU and on the CPU and prints how far apart the results are."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import torch

from custom_ops import add_custom


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One result on the NPU (or of Meta) against the same on the CPU."""

    what: str
    on: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    difference: str
    agrees: bool


def compare_values(what: str, actual: torch.Tensor, expected: torch.Tensor) -> Comparison:
    """Compare values exactly: one addition is rounded once, on both sides alike."""
    difference = (actual.cpu().double() - expected.double()).abs().max().item()
    return Comparison(
        what=what,
        on=str(actual.device),
        shape=tuple(actual.shape),
        dtype=actual.dtype,
        difference=f"max difference {difference:g}",
        agrees=difference == 0.0 and actual.shape == expected.shape,
    )


def compare_layout(what: str, actual: torch.Tensor, expected: torch.Tensor) -> Comparison:
    """Compare what a tensor without data has: shape, dtype and strides."""
    layouts = [(tuple(t.shape), t.dtype, t.stride()) for t in (actual, expected)]
    return Comparison(
        what=what,
        on=str(actual.device),
        shape=tuple(actual.shape),
        dtype=actual.dtype,
        difference="same shape, dtype, strides" if layouts[0] == layouts[1] else str(layouts),
        agrees=layouts[0] == layouts[1],
    )


def comparisons(shape: tuple[int, ...], dtype: torch.dtype) -> list[Comparison]:
    """Forward, backward and Meta for one shape and dtype."""
    x, y, weight = (torch.randn(shape).to(dtype) for _ in range(3))
    leaves = {
        device: [tensor.detach().to(device).requires_grad_() for tensor in (x, y)]
        for device in ("cpu", "npu", "meta")
    }
    forward = {
        device: (torch.add if device == "cpu" else add_custom)(*pair)
        for device, pair in leaves.items()
    }
    gradients = {
        device: torch.autograd.grad(out, leaves[device], weight.to(device))
        for device, out in forward.items()
    }
    rows = [compare_values("forward", forward["npu"].detach(), forward["cpu"].detach())]
    for name, actual, expected in zip(("x", "y"), gradients["npu"], gradients["cpu"], strict=True):
        rows.append(compare_values(f"backward d/d{name}", actual, expected))
    rows.append(compare_layout("Meta forward", forward["meta"], forward["cpu"]))
    for name, actual, expected in zip(("x", "y"), gradients["meta"], gradients["cpu"], strict=True):
        rows.append(compare_layout(f"Meta backward d/d{name}", actual, expected))
    return rows


def main() -> int:
    """Print the table; exit with 1 if anything disagrees."""
    torch.manual_seed(2024)
    rows = [
        row for dtype in (torch.float32, torch.float16) for row in comparisons((8, 2048), dtype)
    ]
    for row in rows:
        verdict = "agrees" if row.agrees else "DIFFERS"
        dtype = str(row.dtype).removeprefix("torch.")
        print(f"  {verdict:8}{row.what:20}{dtype:9}{row.shape!s:11}{row.on:7}{row.difference}")
    agreeing = sum(row.agrees for row in rows)
    print(f"  {agreeing} of {len(rows)} results agree with the CPU")
    return 0 if agreeing == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
