"""The cost of one call of a built operator, beside a C++ operator written by hand.

Start it with `opwright run -- python benchmarks/built_call.py [PATH OF liblive_call_peer.so]`.

All call aclnnAdd. `by hand` is a TORCH_LIBRARY operator with EXEC_NPU_CMD_EXT (live_call.cpp),
`built` is what `opwright gen` emits, `with backward` is the same with a C++ derivative, and no
input requires grad. `wall` is a long run until the device is idle, divided by the number of calls;
`thread` is the CPU time of the calling thread alone, on which the demands are made.
"""

from __future__ import annotations

import os
import sys
import tempfile
from functools import partial
from pathlib import Path

import torch
import torch_npu  # noqa: F401 - the device
from live_call import BUILD, CALLS, ELEMENTS, thread_times
from timing import interleaved

import opwright as ow
from opwright.kit.derive import derive
from opwright.kit.emit import EmitOptions
from opwright.kit.emit.cpp import emit_cpp
from opwright.kit.packaging.cache import cache_folder
from opwright.kit.packaging.compile import Builder, compile_units, link
from opwright.kit.packaging.toolchain import cores, find_toolchain
from opwright.pairs import installed_minor

NAMESPACE = "opwright_built_call"
# The most that a ratio to `by hand` may be, and what a backward may add to it.
MOST, MOST_ADDED = 1.3, 0.2

ops = ow.OperatorSet(NAMESPACE)


@ops.operator(
    "plain(Tensor x, Tensor y, *, Scalar alpha=1) -> Tensor",
    aclnn="aclnnAdd(x, y, alpha, out)",
    shapes={"x": "*S", "y": "*S", "out": "*S"},
    dtypes={"y": "x"},
)
def plain(x: torch.Tensor, y: torch.Tensor, *, alpha: float = 1) -> torch.Tensor:
    """Add."""
    return torch.add(x, y, alpha=alpha)


@ops.operator(
    "differentiable(Tensor x, Tensor y, *, Scalar alpha=1) -> Tensor",
    aclnn="aclnnAdd(x, y, alpha, out)",
    shapes={"x": "*S", "y": "*S", "out": "*S"},
    dtypes={"y": "x"},
    backward={"x": "grad", "y": "grad * alpha"},
)
def differentiable(x: torch.Tensor, y: torch.Tensor, *, alpha: float = 1) -> torch.Tensor:
    """Add."""
    return torch.add(x, y, alpha=alpha)


def build() -> Path:
    """Emit the operators and compile them; what was compiled before is taken from the cache."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in emit_cpp(
            derive(ops.freeze()), EmitOptions(package=NAMESPACE, torch=installed_minor())
        ).items():
            file = Path(folder) / path
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        builder = Builder(
            toolchain=find_toolchain(os.environ, installed_minor()),
            sources=(Path(folder) / "csrc",),
            cache=cache_folder(os.environ),
            stable_abi=False,
        )
        units = sorted((Path(folder) / "csrc").glob("*.cpp"))
        compiled = compile_units(builder, units, cores(), lambda _: None)
        return link(builder, [each.object for each in compiled], f"lib{NAMESPACE}.so").file


def main() -> None:
    """Print the table; exit with an error if a ratio is too high."""
    peers = [Path(path) for path in sys.argv[1:]] or sorted(BUILD.rglob("liblive_call_peer.so"))
    if not peers:
        sys.exit("not built: cmake --build build/native --target live_call_peer")
    torch.ops.load_library(str(peers[0]))  # type: ignore[no-untyped-call] # torch's
    torch.ops.load_library(str(build()))  # type: ignore[no-untyped-call] # torch's
    built = getattr(torch.ops, NAMESPACE)
    functions = {
        "by hand": torch.ops.opwright_live_call.by_hand.default,
        "built": built.plain.default,
        "backward": built.differentiable.default,
    }
    print("microseconds per call of aclnnAdd\n")
    head = ("elements", "measure", *functions, "ratio", "backward adds")
    print("{:>8} {:>8} {:>9} {:>9} {:>9} {:>6} {:>14}".format(*head))
    holds = True
    for elements in ELEMENTS:
        x, y = torch.ones(elements).to("npu"), torch.ones(elements).to("npu")
        sides = {name: partial(function, x, y) for name, function in functions.items()}
        for measure, times in (
            ("wall", interleaved(sides, calls=CALLS)),
            ("thread", thread_times(sides)),
        ):
            ratio = times["built"] / times["by hand"]
            added = (times["backward"] - times["built"]) / times["by hand"]
            cells = " ".join(f"{times[name]:>9.2f}" for name in functions)
            print(f"{elements:>8} {measure:>8} {cells} {ratio:>6.2f} {added:>13.2f}x")
            holds = holds and (measure == "wall" or (ratio <= MOST and added <= MOST_ADDED))
    print(f"\ndemand on thread: ratio at most {MOST}, a backward adds at most {MOST_ADDED}x")
    sys.exit(not holds)


if __name__ == "__main__":
    main()
