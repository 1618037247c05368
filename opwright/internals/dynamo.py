"""TorchDynamo: torch.compiler publishes some of it. It takes a second to import."""

from __future__ import annotations

from torch._dynamo import config, reset  # documented by these names
from torch._dynamo.backends.common import aot_autograd  # documented for backends, by this name
from torch._dynamo.exc import BackendCompilerFailed  # what an error of a backend comes in
from torch._dynamo.source import ConstantSource  # where a symbol for a size has to come from
from torch._dynamo.utils import (
    counters,  # where a function broke
    get_compilation_metrics,  # how often it was compiled, and why again
)

__all__ = [
    "BackendCompilerFailed",
    "ConstantSource",
    "aot_autograd",
    "config",
    "counters",
    "get_compilation_metrics",
    "reset",
]
