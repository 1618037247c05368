"""The cost of replaying a captured graph, beside the same work launched eagerly.

Start it with `opwright run -- python benchmarks/graph_replay.py [PATH OF small_call]`.

The first table is a chain of `torch.add(x, y)` on 64 floats: a step is the whole chain. `per node`
is a step of the replay divided by its nodes; `over ATen` is that without `ATen`, the kernel alone,
which the program small_call times just before. The second table is one decoder layer (batch 1,
hidden size 256) that decodes one token against a cache of 64, with all of ATen's threads and with
one. `products` are its five products with weights, on the CPU, without anything around them: they
read 4 MB, on one thread, and no replay can be faster.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path

import torch
import torch_npu
from eager_call import BUILD, small_call
from timing import interleaved
from torch.nn.functional import linear, rms_norm, silu

ELEMENTS = 64
LENGTHS = (10, 100, 1_000, 10_000)
NODES_PER_ROUND = 20_000  # so that short chains are called often enough to be measured
LAYER_NODES = 30  # about as many as the decoder layer launches
ROUNDS_OF_PRODUCTS = 2_000
HIDDEN, HEADS, CACHED = 256, 4, 64
WEIGHTS = ("query_key_value", "out", "gate", "up", "down")


def aten_microseconds(program: Path) -> float:
    """Return what ATen's kernel alone takes for one addition of ELEMENTS floats."""
    return small_call(program)[ELEMENTS]["aten"]


def chain(x: torch.Tensor, y: torch.Tensor, length: int) -> torch.Tensor:
    """Add `y` that many times."""
    for _ in range(length):
        x = torch.add(x, y)
    return x


def decoder_weights() -> dict[str, torch.Tensor]:
    """Return random weights and an empty cache of one decoder layer, on the NPU."""
    shapes = {
        "query_key_value": (3 * HIDDEN, HIDDEN),
        "out": (HIDDEN, HIDDEN),
        "gate": (4 * HIDDEN, HIDDEN),
        "up": (4 * HIDDEN, HIDDEN),
        "down": (HIDDEN, 4 * HIDDEN),
        "first_norm": (HIDDEN,),
        "second_norm": (HIDDEN,),
        "keys": (1, HEADS, CACHED, HIDDEN // HEADS),
        "values": (1, HEADS, CACHED, HIDDEN // HEADS),
    }
    return {name: torch.randn(shape).mul(0.05).to("npu") for name, shape in shapes.items()}


def decode(x: torch.Tensor, position: torch.Tensor, layer: dict[str, torch.Tensor]) -> torch.Tensor:
    """Decode one token: attention over the cache, written at `position`, and a gated MLP."""
    normal = rms_norm(x, (HIDDEN,), layer["first_norm"])
    projected = linear(normal, layer["query_key_value"]).view(1, 1, 3, HEADS, -1)
    query, key, value = projected.permute(2, 0, 3, 1, 4)
    layer["keys"].index_copy_(2, position, key)
    layer["values"].index_copy_(2, position, value)
    scores = query @ layer["keys"].transpose(-1, -2) * (HIDDEN // HEADS) ** -0.5
    heads = scores.softmax(-1) @ layer["values"]
    x = x + linear(heads.transpose(1, 2).reshape(1, 1, HIDDEN), layer["out"])
    normal = rms_norm(x, (HIDDEN,), layer["second_norm"])
    gated = silu(linear(normal, layer["gate"])) * linear(normal, layer["up"])
    return x + linear(gated, layer["down"])


def products_microseconds(layer: dict[str, torch.Tensor]) -> float:
    """Return what the products with the layer's weights take on the CPU; the best of many rounds.

    Each is called once in a round, as in the layer: none finds its weights in the innermost cache.
    """
    pairs = [(torch.randn(1, layer[name].shape[1]), layer[name].cpu().t()) for name in WEIGHTS]
    outputs = [torch.empty(1, weight.shape[1]) for _, weight in pairs]
    best = float("inf")
    for _ in range(ROUNDS_OF_PRODUCTS):
        begin = time.perf_counter()
        for (x, weight), output in zip(pairs, outputs, strict=True):
            torch.mm(x, weight, out=output)
        best = min(best, time.perf_counter() - begin)
    return best * 1e6


def captured(function: partial[torch.Tensor]) -> torch_npu.npu.NPUGraph:
    """Return the graph of one call, after a warm-up."""
    function()
    torch_npu.npu.synchronize()
    graph = torch_npu.npu.NPUGraph()
    with torch_npu.npu.graph(graph):
        function()
    return graph


def compare(step: partial[torch.Tensor], nodes: int) -> tuple[float, float]:
    """Return microseconds per step, eager and replayed."""
    graph = captured(step)
    sides = {"eager": step, "replay": graph.replay}
    times = interleaved(sides, calls=max(2, NODES_PER_ROUND // nodes))
    return times["eager"], times["replay"]


def main() -> None:
    """Print the tables."""
    found = [Path(path) for path in sys.argv[1:]] or sorted(BUILD.rglob("small_call"))
    if not found:
        sys.exit("small_call is not built: cmake --build build/native --target small_call")
    x, y = torch.ones(ELEMENTS).to("npu"), torch.ones(ELEMENTS).to("npu")
    print("microseconds\n")
    columns = ("nodes", "eager", "replay", "ratio", "per node", "ATen", "over ATen")
    print("".join(f"{column:>11}" for column in columns))
    for length in LENGTHS:
        aten = aten_microseconds(found[0])
        eager, replay = compare(partial(chain, x, y, length), length)
        node = replay / length
        print(
            f"{length:>11}{eager:>11.1f}{replay:>11.1f}{eager / replay:>11.1f}{node:>11.3f}"
            f"{aten:>11.3f}{node - aten:>11.3f}"
        )
    heads = ("layer", "eager", "replay", "ratio", "products", "by them")
    print("\n" + "".join(f"{head:>11}" for head in heads))
    token, position = torch.randn(1, 1, HIDDEN).to("npu"), torch.tensor([7]).to("npu")
    for threads in (torch.get_num_threads(), 1):
        torch.set_num_threads(threads)
        layer = decoder_weights()
        eager, replay = compare(partial(decode, token, position, layer), LAYER_NODES)
        products = products_microseconds(layer)
        name = f"{threads} threads" if threads > 1 else "1 thread"
        print(
            f"{name:>11}{eager:>11.1f}{replay:>11.1f}{eager / replay:>11.1f}{products:>11.1f}"
            f"{replay / products:>11.2f}"
        )
    print(
        "\ndemands: 100 nodes 10 times faster, 0.5 microseconds over ATen, the layer 3 times "
        "faster, at most 1.8 times its products, and with all threads no slower than with one"
    )


if __name__ == "__main__":
    main()
