"""Stand-ins for the stubs of TorchAir's system tests: answered by torch_npu itself.

They are made for a build without torch_npu: `_privateuse1_backend` is a device of their own, and
functions put stubs in the place of torch.npu, torch.ops.npu and torch_npu. Here the device is the
NPU, and those functions leave everything as it is.
"""

from __future__ import annotations

import contextlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch
import torch_npu

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["allow_registering_again", "device_module", "replace_stubs"]


def torch_npu_itself(*_: object) -> ModuleType:
    """Return torch_npu, which a stub would have replaced."""
    module: ModuleType = torch_npu
    return module


# By module: the functions that would put a stub in the place of something, and what is there.
STUBS: Mapping[str, Mapping[str, Callable[..., object]]] = {
    "torchair_st_stub_aclgraph_utils": {
        "patch_ops_npu_module": lambda *_: torch.ops.npu,
        "patch_torch_point_npu_module": lambda *_: torch_npu.npu,
        "patch_torch_npu_module": torch_npu_itself,
    },
    "torchair_st_utils": {"register_is_npu": lambda: None},  # torch_npu has Tensor.is_npu
    "torchair_fx_pattern_st": {"patch_torch_npu_module": torch_npu_itself},
    "torchair_explicit_order_st": {
        "npu_ctx": contextlib.nullcontext,
        "_mock_npu": lambda: None,
        "npu_tensor": torch.ones,  # theirs says of the tensor that it is on the NPU, as it is
    },
}


def device_module() -> ModuleType:
    """Return the module `_privateuse1_backend` of the tests, whose device is the NPU."""
    backend: Any = ModuleType("_privateuse1_backend")
    backend.npu_device = lambda: torch.device("npu:0")
    backend.register_hook = backend.register_generator = lambda: None  # torch_npu did
    backend.default_generator = lambda index: torch_npu.npu.default_generators[index]
    module: ModuleType = backend
    return module


def allow_registering_again() -> None:
    """Let the tests register a module for the device `npu`, which keeps the one that it has."""
    register = torch._register_device_module  # noqa: SLF001 - the name that the tests call

    def register_others(name: str, module: ModuleType) -> None:
        if name != "npu":
            register(name, module)  # type: ignore[no-untyped-call] # of torch

    torch._register_device_module = register_others  # noqa: SLF001 - as above


def replace_stubs(module: ModuleType) -> None:
    """Replace a module's functions that put stubs in the place of something.

    Raises
    ------
    AttributeError
        The module has no such function: this is another revision of the tests.
    """
    for name, answer in STUBS.get(module.__name__, {}).items():
        getattr(module, name)
        setattr(module, name, answer)
