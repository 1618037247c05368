"""Torch-AIE on the CPU: TorchScript modules compiled into engines, with converters in C++."""

from __future__ import annotations

import sys
from importlib.util import find_spec

if find_spec("torch_aie._C") is None:  # a clone in which only `make demo` was run
    message = "torch_aie's libraries are not built: run `make native` in this clone of opwright"
    raise ImportError(message, name="torch_aie._C")

from torch_aie import _device, _device_module, _enums, npu
from torch_aie._compile import compile, export_engine, finalize, set_device  # noqa: A004 - API
from torch_aie._enums import PrecisionPolicy, TensorFormat, dtype
from torch_aie._import_hook import ImportHook
from torch_aie._input import Input
from torch_aie._internals import DYNAMO, register_backend

__all__ = [
    "Input",
    "PrecisionPolicy",
    "TensorFormat",
    "_enums",
    "compile",
    "dtype",
    "export_engine",
    "finalize",
    "npu",
    "set_device",
]


def _register_backend() -> None:
    from torch_aie._backend import mindie  # noqa: PLC0415 - torch.export takes a second

    register_backend(mindie, name="mindie")


_device.install(_device_module)
if DYNAMO in sys.modules:
    if "mindie" not in sys.modules[DYNAMO].list_backends():
        _register_backend()
else:  # torch.compile imports it
    ImportHook(DYNAMO, after=_register_backend).put_first()
