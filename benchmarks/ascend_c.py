"""A kernel in Ascend C: how long it compiles, and how fast it runs beside memcpy.

Start it with `opwright run -- python benchmarks/ascend_c.py`.

The kernel adds two arrays of float32, tile by tile through local memory. Its bandwidth counts what
it reads and writes in global memory, 12 bytes an element; memcpy's is two times what one thread of
the host copies a second. `checked` is the same launch with the checks of instructions.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import torch
import torch_npu
from machine import MI
from timing import interleaved

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCE = Path(__file__).with_suffix("") / "add.asc"
ELEMENTS = 16 * MI
ROUNDS = 3
BLOCKS = (1, 8, 40)
# Seconds that one kernel may take to compile, and the part of memcpy's bandwidth that it must have.
MOST_SECONDS, LEAST_PART = 5.0, 1 / 3


def compiled(target: Path) -> float:
    """Compile the kernel to a library; return seconds, those of the fastest round."""
    command = ["bisheng", "--npu-arch=dav-2201", "-shared", "-fPIC", str(SOURCE), "-o", str(target)]
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        subprocess.run(command, check=True)
        times.append(time.perf_counter() - begin)
    return min(times)


def launches(library: Path, elements: int) -> dict[str, Callable[[], object]]:
    """Return what to measure, by name."""
    add = ctypes.CDLL(str(library)).launch_add
    add.argtypes = [ctypes.c_uint32, *[ctypes.c_void_p] * 4, ctypes.c_uint64]
    x, y, z = (torch.full((elements,), value, device="npu") for value in (1.0, 2.0, 0.0))
    stream = torch_npu.npu.current_stream().npu_stream
    pointers = [each.data_ptr() for each in (x, y, z)]
    check = ctypes.CDLL("libascendc_runtime.so").opwright_ascendc_checks
    check.argtypes = [ctypes.c_int]

    def run(blocks: int, *, checks: bool) -> None:
        check(checks)
        add(blocks, stream, *pointers, elements)
        torch_npu.npu.synchronize()

    run(BLOCKS[0], checks=True)
    if not torch.equal(z.cpu(), torch.full((elements,), 3.0)):
        sys.exit("the kernel is wrong")
    source, target = torch.ones(elements), torch.ones(elements)
    sides: dict[str, Callable[[], object]] = {"memcpy": partial(target.copy_, source)}
    sides |= {f"{blocks} blocks": partial(run, blocks, checks=False) for blocks in BLOCKS}
    return sides | {f"{blocks} checked": partial(run, blocks, checks=True) for blocks in BLOCKS}


def main() -> None:
    """Print the table; exit with an error if a figure is missed."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "libadd.so")
        seconds = compiled(library)
        times = interleaved(launches(library, ELEMENTS), calls=1, choose=min)
    moved = {name: (8 if name == "memcpy" else 12) * ELEMENTS for name in times}
    speeds = {name: moved[name] / times[name] / 1e3 for name in times}
    print(f"compilation of one kernel: {seconds:.1f} s\n")
    print(f"{ELEMENTS >> 20} Mi elements of float32\n")
    print(f"{'':<12} {'ms':>8} {'GB/s':>8} {'of memcpy':>10}")
    for name, speed in speeds.items():
        part = speed / speeds["memcpy"]
        print(f"{name:<12} {times[name] / 1e3:>8.1f} {speed:>8.2f} {part:>10.2f}")
    least = min(speeds[f"{blocks} blocks"] for blocks in BLOCKS) / speeds["memcpy"]
    print(f"\ndemand: at most {MOST_SECONDS:.0f} s, at least {LEAST_PART:.2f} of memcpy")
    sys.exit(not (seconds <= MOST_SECONDS and least >= LEAST_PART))


if __name__ == "__main__":
    main()
