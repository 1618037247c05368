"""The protobuf classes of ge.proto: the module that the wheel's TorchAir has.

TorchAir's package needs torch_npu and CANN's libraries; its generated module alone needs neither.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["Message", "generated"]

Message = Any  # generated classes; protobuf ships no types for them

MODULE = "ge_ir_by_protoc_3_19_pb2"
FOLDER = ("dynamo", "torchair", "_ge_concrete_graph")


@cache
def generated() -> ModuleType:
    """Return TorchAir's generated module."""
    name = f"torchair._ge_concrete_graph.{MODULE}"
    if name in sys.modules:
        return sys.modules[name]
    wheel = importlib.util.find_spec("torch_npu")
    assert wheel is not None
    assert wheel.origin is not None
    file = Path(wheel.origin).parent.joinpath(*FOLDER, f"{MODULE}.py")
    spec = importlib.util.spec_from_file_location(MODULE, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
