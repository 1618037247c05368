"""The protobuf classes of ge.proto: the module that the wheel's TorchAir has.

TorchAir's package needs torch_npu and CANN's libraries; its generated module alone needs neither.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opwright.internals.modules import GE_PROTO_OF_PROTOC

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["Message", "import_generated"]

Message = Any  # generated classes; protobuf ships no types for them

FOLDER = "dynamo"  # of torch_npu, where TorchAir is


@cache
def import_generated() -> ModuleType:
    """Return TorchAir's generated module."""
    if GE_PROTO_OF_PROTOC in sys.modules:
        return sys.modules[GE_PROTO_OF_PROTOC]
    wheel = importlib.util.find_spec("torch_npu")
    assert wheel is not None
    assert wheel.origin is not None
    *folders, name = GE_PROTO_OF_PROTOC.split(".")
    file = Path(wheel.origin).parent.joinpath(FOLDER, *folders, f"{name}.py")
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
