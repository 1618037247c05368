"""The cost of one call of a live operator, beside a C++ operator written by hand.

Start it with `opwright run -- python benchmarks/live_call.py [PATH OF liblive_call_peer.so]`.

All call aclnnAdd. `by hand` is a TORCH_LIBRARY operator with EXEC_NPU_CMD_EXT (live_call.cpp),
`live` runs a plan, `live, autograd` has an Autograd kernel besides, and no input requires grad.
`wall` is a long run until the device is idle, divided by the number of calls; `thread` is the CPU
time of the calling thread alone, which the device's work cannot hide and other programs barely
disturb: the demands are made on it.
"""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import torch
import torch_npu
from timing import ROUNDS, interleaved

from opwright.kit.live import _aclnn, _boxed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

BUILD = Path(__file__).parents[1] / "build" / "native"
NAMESPACE = "opwright_live_call"
ELEMENTS = (16, 65536)
CALLS = 2000
# The most that a ratio to `by hand` may be, and what autograd may add to it.
MOST, MOST_ADDED = 2.0, 0.2
PLAN = {
    "function": "aclnnAdd",
    "outputs": ({"shape": (("span", 0, 0, None),), "dtype": ("like", 0)},),
    "parameters": (
        ("aclTensor", ("argument", 0)),
        ("aclTensor", ("argument", 1)),
        ("aclScalar", ("argument", 2)),
        ("aclTensor", ("output", 0)),
    ),
    "returns": (("output", 0),),
}


def thread_times(sides: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Return microseconds of the calling thread per call; the sides take turns."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(ROUNDS):
        for name, side in sides.items():
            torch_npu.npu.synchronize()
            begin = time.thread_time()
            for _ in range(CALLS):
                side()
            times[name].append((time.thread_time() - begin) / CALLS * 1e6)
    return {name: median(values) for name, values in times.items()}


def slow_path(*_: object, **__: object) -> object:
    """Stand in for the backward, which no call of this benchmark needs."""
    message = "an input requires grad"
    raise RuntimeError(message)


@contextmanager
def operators(peer: Path) -> Iterator[dict[str, Callable[..., object]]]:
    """Load the operator that is written by hand, register the live ones, and yield all."""
    torch.ops.load_library(str(peer))  # type: ignore[no-untyped-call] # torch's
    library = torch.library.Library(NAMESPACE, "FRAGMENT")  # type: ignore[no-untyped-call] # torch's
    with ExitStack() as stack:
        for name in ("live", "live_autograd"):
            library.define(f"{name}(Tensor x, Tensor y, *, Scalar alpha=1) -> Tensor")  # type: ignore[no-untyped-call]
            stack.enter_context(_aclnn.implement(NAMESPACE, name, PLAN))
        stack.enter_context(
            _boxed.autograd(NAMESPACE, "live_autograd", "Autograd", slow_path, [0, 1])
        )
        ops = getattr(torch.ops, NAMESPACE)
        yield {
            "by hand": ops.by_hand.default,
            "live": ops.live.default,
            "autograd": ops.live_autograd.default,
        }


def line(elements: int, measure: str, times: Mapping[str, float]) -> bool:
    """Print a line of the table; return whether its ratios are within the demands."""
    ratio = times["live"] / times["by hand"]
    added = (times["autograd"] - times["live"]) / times["by hand"]
    print(
        f"{elements:>8} {measure:>8} {times['by hand']:>9.2f} {times['live']:>9.2f} "
        f"{ratio:>6.2f} {added:>13.2f}x"
    )
    return ratio <= MOST and added <= MOST_ADDED


def main() -> None:
    """Print the table; exit with an error if a ratio is too high."""
    found = [Path(path) for path in sys.argv[1:]] or sorted(BUILD.rglob("liblive_call_peer.so"))
    if not found:
        sys.exit("not built: cmake --build build/native --target live_call_peer")
    print("microseconds per call of aclnnAdd\n")
    head = ("elements", "measure", "by hand", "live", "ratio", "autograd adds")
    print("{:>8} {:>8} {:>9} {:>9} {:>6} {:>14}".format(*head))
    holds = True
    with operators(found[0]) as called:
        for elements in ELEMENTS:
            x, y = torch.ones(elements).to("npu"), torch.ones(elements).to("npu")
            sides = {name: partial(function, x, y) for name, function in called.items()}
            line(elements, "wall", interleaved(sides, calls=CALLS))
            holds = line(elements, "thread", thread_times(sides)) and holds
    print(f"\ndemand on thread: ratio at most {MOST}, autograd adds at most {MOST_ADDED}x")
    sys.exit(not holds)


if __name__ == "__main__":
    main()
