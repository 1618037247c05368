"""Names without a public form that torch_aie takes from PyTorch, and why: here alone.

Names are PyTorch's, less the underscore in front.
"""
# ruff: noqa: SLF001 - that is what the file is for

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import torch
from torch._ops import OpOverload, OpOverloadPacket  # the types of torch.ops.aten.x.y and .x
from torch.utils import _pytree as pytree  # how torch.export notes what a program takes

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "DYNAMO",
    "GET_ACCELERATOR",
    "REGISTER_DEVICE_MODULE",
    "STATIC_INPUT",
    "Graph",
    "OpOverload",
    "OpOverloadPacket",
    "StorageBase",
    "c_module",
    "get_privateuse1_backend_name",
    "pytree",
    "qualified_op_name",
    "register_backend",
    "register_device_module",
    "wrap_cpp_module",
]

# TorchScript: torch.jit makes graphs of Python's source only, and modules of those.
Graph: Any = torch._C.Graph  # its declarations are not complete
wrap_cpp_module: Callable[[Any], torch.jit.ScriptModule] = torch.jit._recursive.wrap_cpp_module
# The module behind Python's: torch_aie._C compiles it.
c_module: Callable[[torch.jit.ScriptModule], Any] = attrgetter("_c")
# The name of an operator with all its overloads.
qualified_op_name: Callable[[OpOverloadPacket[..., Any]], str] = attrgetter("_qualified_op_name")

# The device: torch.utils.backend_registration renames it and gives its methods to these classes.
StorageBase = torch.storage._StorageBase
get_privateuse1_backend_name = torch._C._get_privateuse1_backend_name
# Documented by this name.
register_device_module: Callable[[str, object], None] = torch._register_device_module
# torch_npu's call when it makes a device of its own, and PyTorch's for one: owner, name.
REGISTER_DEVICE_MODULE = (torch, "_register_device_module")
GET_ACCELERATOR = (torch._C, "_get_accelerator")

# TorchDynamo takes seconds to import, and torch.compiler registers no backend.
DYNAMO = "torch._dynamo"
# It marks tensors that belong to a module: buffers; parameters have their own type.
STATIC_INPUT = "_dynamo_static_input_type"


def register_backend(backend: Callable[..., Any], name: str) -> None:
    """Give torch.compile a backend."""
    from torch._dynamo import register_backend as register  # noqa: PLC0415 - as above

    register(backend, name=name)
