"""compile and export_engine: checks of what was asked, then the C++ library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch

from torch_aie import _C, _device
from torch_aie._internals import c_module, wrap_cpp_module
from torch_aie._options import checked, profiles_of, rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_aie._input import Input

__all__ = ["compile", "compiled", "export_engine", "finalize", "set_device"]

_TORCHSCRIPT = ("ts", "torchscript")
_IRS = ("default", *_TORCHSCRIPT, "dynamo", "torch_compile")
_LAST_DEVICE = 1024


def compile(  # noqa: A001 - the API's name
    module: object,
    ir: str = "default",
    inputs: Sequence[Any] | None = None,
    **options: object,
) -> Any:  # noqa: ANN401 - what it is depends on ir
    """Return a module whose `forward` runs on engines, and where no converter is, on libtorch.

    Parameters
    ----------
    module
        A scripted or traced module in evaluation mode; for dynamo a torch.nn.Module, a
        torch.fx.GraphModule or a torch.export.ExportedProgram; for torch_compile a torch.nn.Module.
    ir
        ts or torchscript, dynamo, torch_compile; default chooses by the module, TorchScript first.
    inputs
        One Input, or one tensor that it is taken from, for each input of the graph; or a list of
        such lists, the gears (not for dynamo). Not for torch_compile; an ExportedProgram has its
        own.
    **options
        precision_policy, truncate_long_and_double, require_full_compilation,
        allow_tensor_replace_int, min_block_size (nodes), default_buffer_size_vec (MB),
        torch_executed_ops, torch_executed_modules, soc_version, optimization_level.

    Returns
    -------
    compiled
        A torch.jit.ScriptModule; for dynamo and torch_compile a torch.nn.Module. Inputs may be on
        the CPU or on the device npu; outputs are where the inputs were.

    Raises
    ------
    TypeError, ValueError
        An option or input that is not allowed, or an operator that does not convert.
    """
    chosen = checked(options)
    kind = _kind(module, ir)
    if kind == "torch_compile":
        return _torch_compile(module, inputs, options)
    if kind == "dynamo":
        from torch_aie import _exported  # noqa: PLC0415 - torch.export takes a second to import

        return _exported.compile_module(module, inputs, chosen)
    return compiled(_scripted(module), profiles_of(inputs), chosen)


def compiled(
    module: torch.jit.ScriptModule,
    profiles: Sequence[Sequence[Input]],
    options: Mapping[str, object],
) -> torch.jit.ScriptModule:
    """Compile TorchScript; the arguments are checked."""
    made = _C.compile(c_module(module), rows(profiles), dict(options))
    return wrap_cpp_module(made)


def export_engine(
    module: object,
    method_name: str = "forward",
    ir: str = "default",
    inputs: Sequence[Any] | None = None,
    path: str | Path | None = None,
    **options: object,
) -> bytes:
    """Return the serialized engine of a method that compiles as a whole; else as `compile`.

    Parameters
    ----------
    method_name
        The method, of TorchScript modules; "forward" for what dynamo takes.
    path
        A file to write the engine to as well.

    Raises
    ------
    TypeError, ValueError
        As `compile`; also that ir is torch_compile, that the module has no such method, or that an
        operator of the method does not convert.
    """
    if not isinstance(method_name, str):
        msg = f"method_name: got {method_name!r}, allowed are names of methods, such as 'forward'"
        raise TypeError(msg)
    if path is not None and not isinstance(path, (str, Path)):
        msg = f"path: got {path!r}, allowed are str, pathlib.Path and None"
        raise TypeError(msg)
    chosen = checked(options)
    kind = _kind(module, ir)
    if kind == "torch_compile":
        msg = "ir: got 'torch_compile', allowed here are default, ts, torchscript and dynamo"
        raise ValueError(msg)
    if kind == "dynamo":
        from torch_aie import _exported  # noqa: PLC0415 - torch.export takes a second to import

        script, profiles = _exported.script_of(module, inputs, chosen)
    else:
        script, profiles = _scripted(module), profiles_of(inputs)
    engine: bytes = _C.export_engine(c_module(script), method_name, rows(profiles), chosen)
    if path is not None:
        Path(path).write_bytes(engine)
    return engine


def set_device(npu_id: int) -> None:
    """Choose the device; engines of every device run on this machine's CPU.

    Parameters
    ----------
    npu_id
        0 to 1024.

    Raises
    ------
    TypeError, ValueError
        For anything else.
    """
    if isinstance(npu_id, bool) or not isinstance(npu_id, int):
        msg = f"set_device: got {npu_id!r}, allowed are integers from 0 to {_LAST_DEVICE}"
        raise TypeError(msg)
    if not 0 <= npu_id <= _LAST_DEVICE:
        msg = f"set_device: got {npu_id}, allowed are 0 to {_LAST_DEVICE}"
        raise ValueError(msg)
    _device.choose(npu_id)


def finalize() -> None:
    """End the use of the engine."""
    _C.finalize()


def _kind(module: object, ir: str) -> str:
    if ir not in _IRS:
        msg = f"ir: got {ir!r}, allowed are {', '.join(_IRS)}"
        raise ValueError(msg)
    if ir in _TORCHSCRIPT or (ir == "default" and not _is_for_dynamo(module)):
        return "ts"
    return "dynamo" if ir == "default" else ir


def _is_for_dynamo(module: object) -> bool:
    if isinstance(module, torch.jit.ScriptModule):
        return False
    return isinstance(module, (torch.nn.Module, torch.export.ExportedProgram))


def _scripted(module: object) -> torch.jit.ScriptModule:
    if not isinstance(module, torch.jit.ScriptModule):
        how = "trace or script it"
        if isinstance(module, (torch.jit.ScriptFunction, torch.ScriptMethod)):
            how = "call it in the forward of a torch.nn.Module, and script that"
        msg = f"module: got {type(module).__name__}, allowed is torch.jit.ScriptModule: {how}"
        raise TypeError(msg)
    return module


def _torch_compile(
    module: object, inputs: object, options: Mapping[str, object]
) -> torch.nn.Module:
    if inputs is not None:
        msg = "inputs: got some, allowed for ir='torch_compile' is none: calls give them"
        raise ValueError(msg)
    if not isinstance(module, torch.nn.Module):
        msg = f"module: got {type(module).__name__}, allowed is torch.nn.Module"
        raise TypeError(msg)
    made: Any = torch.compile(module, backend="mindie", options=dict(options))  # type: ignore[arg-type]  # its own options
    return cast("torch.nn.Module", made)
