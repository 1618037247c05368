"""The cost of one small eager call, and whose share it is.

Start it with `opwright run -- python benchmarks/eager_call.py [PATH OF small_call]`.

`total` is a long run of `torch.add` on NPU tensors until the device is idle, divided by the number
of calls. ATen's share is the kernel called directly, the twin's share is what both aclnn phases,
the objects and the stream add to it (both from the program small_call, without torch_npu and
Python); the rest is torch_npu's share: dispatch, allocation, argument conversion, its queue. The
same call on CPU tensors stands beside it.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import torch
import torch_npu  # noqa: F401 - the device
from timing import interleaved

BUILD = Path(__file__).parents[1] / "build" / "native"
CALLS = 2000


def small_call(program: Path) -> dict[int, dict[str, float]]:
    """Run the program; microseconds by number of elements and column."""
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    header, *lines = (line.split("\t") for line in printed.splitlines())
    rows = (dict(zip(header, map(float, line), strict=True)) for line in lines)
    return {int(row.pop("elements")): row for row in rows}


def main() -> None:
    """Print the table."""
    found = [Path(path) for path in sys.argv[1:]] or sorted(BUILD.rglob("small_call"))
    if not found:
        sys.exit("small_call is not built: cmake --build build/native --target small_call")
    print("microseconds per torch.add(x, y); shares add up to total\n")
    print(
        f"{'elements':>8} {'total':>8} {'torch_npu':>10} {'twin':>8} {'ATen':>8} {'CPU call':>10}"
    )
    for elements, shares in small_call(found[0]).items():
        a, b = torch.ones(elements), torch.ones(elements)
        x, y = a.to("npu"), b.to("npu")
        times = interleaved(
            {
                "cpu": partial(torch.add, a, b),
                "npu": partial(torch.add, x, y),
            },
            calls=CALLS,
        )
        twin, aten = shares["share"], shares["aten"]
        rest = times["npu"] - twin - aten
        print(
            f"{elements:>8} {times['npu']:>8.2f} {rest:>10.2f} {twin:>8.2f} {aten:>8.2f} "
            f"{times['cpu']:>10.2f}"
        )
    print("\ndemand: the twin's share is at most 2 microseconds")


if __name__ == "__main__":
    main()
