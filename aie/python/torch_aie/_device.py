"""The device npu of this process: torch_npu's if it is loaded, else this package's.

Importing this package gives PyTorch the name and the methods (`torch.npu`, `Tensor.npu`), and makes
nothing. The device itself is made when it is first asked for. Until then, importing torch_npu takes
the name and the methods back and makes its own; afterwards it is refused: PyTorch has one such
device in a process, and cannot give it back.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import backend_registration

from torch_aie import _C
from torch_aie._import_hook import ImportHook
from torch_aie._internals import (
    GET_ACCELERATOR,
    REGISTER_DEVICE_MODULE,
    StorageBase,
    get_privateuse1_backend_name,
    register_device_module,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

__all__ = ["choose", "index_of", "install", "is_shared", "module", "ready"]

NAME = "npu"
_chosen = [0]  # what set_device named
_LENT = (  # the classes that get methods
    torch.Tensor,
    torch.nn.Module,
    torch.nn.utils.rnn.PackedSequence,
    StorageBase,
    torch.TypedStorage,
)


def is_shared() -> bool:
    """Return whether the device is torch_npu's."""
    return "torch_npu" in sys.modules and not _C.owns_npu()


def module() -> Any:  # noqa: ANN401 - torch_npu's module or ours
    """Return torch.npu."""
    return sys.modules[f"torch.{NAME}"]


def ready() -> None:
    """Make the device, unless there is one; torch_npu's is initialised."""
    if is_shared():
        module().init()
    elif not _C.owns_npu():
        _C.register_npu()
        _C.set_device(_chosen[0])
        _before_torch_npu.put_first()


def choose(npu_id: int) -> None:
    """Make `npu_id` the current device; if none is made yet, when it is made."""
    if is_shared():
        module().set_device(npu_id)
    else:
        _C.set_device(npu_id)
        _chosen[0] = npu_id


def index_of(device: torch.device | str | int | None) -> int:
    """Return the index of a device npu; the current one for None and for 'npu'."""
    ready()
    if isinstance(device, int) and not isinstance(device, bool):
        if not 0 <= device < _C.device_count():
            last = _C.device_count() - 1
            msg = f"device npu:{device}: there is none, allowed are npu:0 to npu:{last}"
            raise ValueError(msg)
        return device
    if device is None:
        return _C.current_device()
    given = torch.device(device)
    if given.type != NAME:
        msg = f"device: got {str(device)!r}, allowed are npu devices, such as 'npu:0'"
        raise ValueError(msg)
    index: int | None = given.index
    return _C.current_device() if index is None else index


def install(module: ModuleType) -> None:
    """Give PyTorch the name, the methods and `module` as torch.npu, unless torch_npu has."""
    taken = get_privateuse1_backend_name() not in ("privateuseone", NAME)
    if taken or "torch_npu" in sys.modules or hasattr(torch, NAME):
        return
    backend_registration.rename_privateuse1_backend(NAME)
    register_device_module(NAME, module)
    backend_registration.generate_methods_for_privateuse1_backend()
    _replaced.append((*REGISTER_DEVICE_MODULE, _register_device_module))
    _replaced.append((*GET_ACCELERATOR, _get_accelerator))
    for owner, name, ours in _replaced:
        _original[name] = getattr(owner, name)
        setattr(owner, name, ours)
    _before_torch_npu.put_first()


_replaced: list[tuple[ModuleType, str, Callable[..., Any]]] = []
_original: dict[str, Callable[..., Any]] = {}


def _register_device_module(device_type: str, module: ModuleType) -> None:
    """Give way to torch_npu, which calls this after its libraries are loaded."""
    register = _original[REGISTER_DEVICE_MODULE[1]]
    if torch.device(device_type).type == NAME:
        _take_back()
    register(device_type, module)


def _get_accelerator(check: bool | None = None) -> torch.device:  # noqa: FBT001 - PyTorch's
    """Answer for a device that is not made; torch_npu asks this first of all."""
    if "torch_npu" in sys.modules:
        _expect_not_made()
        return torch.device(NAME)
    ready()
    accelerator: torch.device = _original[GET_ACCELERATOR[1]](check)
    return accelerator


def _take_back() -> None:
    """Undo `install`: the owner of the name registers it now."""
    for owner, name, _ in _replaced:
        setattr(owner, name, _original[name])
    delattr(torch, NAME)
    del sys.modules[f"torch.{NAME}"]
    for lent in _LENT:
        for name in (NAME, f"is_{NAME}"):
            if name in vars(lent):
                delattr(lent, name)


def _expect_not_made() -> None:
    if _C.owns_npu():
        msg = (
            "torch_npu cannot be imported: the device npu of this process is torch_aie's, which"
            " made it when it was first used, and PyTorch has one of them. Import torch_npu at the"
            " top of the program"
        )
        raise ImportError(msg, name="torch_npu")


_before_torch_npu = ImportHook("torch_npu", before=_expect_not_made)
