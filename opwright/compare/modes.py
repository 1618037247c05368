"""The ways to run a step."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

__all__ = ["COMPILED", "EAGER", "MODES", "WHOLE", "Mode", "RunName", "is_compiled"]

# captured         torch.npu.graph, replayed with the arguments of each call
# max-autotune     TorchAir: the graph is converted for the graph engine
# reduce-overhead  TorchAir: the graph is captured as an NPU graph
# npugraph_ex      torch_npu's backend of that name
Mode: TypeAlias = Literal["captured", "max-autotune", "reduce-overhead", "npugraph_ex"]
MODES: tuple[Mode, ...] = get_args(Mode)

# captured-whole   captured without copies of the operators' tensors: memory is reused as it is for
#                  a user
RunName: TypeAlias = Literal[
    "eager", "captured", "captured-whole", "max-autotune", "reduce-overhead", "npugraph_ex"
]
EAGER: RunName = "eager"
WHOLE: RunName = "captured-whole"
COMPILED: frozenset[RunName] = frozenset({"max-autotune", "reduce-overhead", "npugraph_ex"})


def is_compiled(run: RunName) -> bool:
    """Return whether the step goes through torch.compile."""
    return run in COMPILED
