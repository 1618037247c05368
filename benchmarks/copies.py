"""Copies between host and device against a plain copy of the same size on the host.

Start it with `opwright run -- python benchmarks/copies.py`.

The plain copy is torch's copy_ between two CPU tensors with one thread, which is memcpy.
"""

from __future__ import annotations

from functools import partial

import torch
import torch_npu  # noqa: F401 - the device
from timing import interleaved

SIZES = (4 << 10, 64 << 10, 1 << 20, 16 << 20, 128 << 20)  # bytes


def main() -> None:
    """Print gigabytes per second, and each copy's time divided by memcpy's."""
    torch.set_num_threads(1)
    names = ("memcpy", "to npu", "to npu, pinned", "to host", "to host, pinned")
    print(f"{'bytes':>10}" + "".join(f"{name:>22}" for name in names))
    for size in SIZES:
        source, target = (torch.ones(size, dtype=torch.uint8) for _ in range(2))
        pinned = torch.ones(size, dtype=torch.uint8, pin_memory=True)
        device = torch.ones(size, dtype=torch.uint8, device="npu")
        times = interleaved(
            {
                "memcpy": partial(target.copy_, source),
                "to npu": partial(device.copy_, source),
                "to npu, pinned": partial(device.copy_, pinned, non_blocking=True),
                "to host": partial(target.copy_, device),
                "to host, pinned": partial(pinned.copy_, device, non_blocking=True),
            },
            calls=max(3, min(500, (64 << 20) // size)),
        )
        cells = (
            f"{size / times[name] / 1e3:>9.2f} GB/s ({times[name] / times['memcpy']:>4.2f})"
            for name in names
        )
        print(f"{size:>10}" + "".join(f"{cell:>22}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
