"""compile and export_engine: checks of what was asked, then the C++ library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from torch_aie import _C
from torch_aie._enums import PrecisionPolicy
from torch_aie._input import Input

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["compile", "export_engine", "finalize", "set_device"]

_DEFAULTS: Mapping[str, object] = {
    "precision_policy": PrecisionPolicy.PREF_FP32,
    "truncate_long_and_double": True,
    "require_full_compilation": False,
    "allow_tensor_replace_int": False,
    "min_block_size": 1,
    "default_buffer_size_vec": [500],
    "torch_executed_ops": [],
    "torch_executed_modules": [],
    "soc_version": "Ascend310P3",
    "optimization_level": 0,
}
_RANGES = {
    "min_block_size": (0, 1024),
    "optimization_level": (0, 2),
    "default_buffer_size_vec": (1, 36864),  # MB
}
_IRS = ("default", "ts", "torchscript")
_LAST_DEVICE = 1024


def compile(  # noqa: A001 - the API's name
    module: torch.jit.ScriptModule,
    ir: str = "default",
    inputs: Sequence[Any] | None = None,
    **options: object,
) -> torch.jit.ScriptModule:
    """Return a module whose `forward` runs on engines, and where no converter is, on libtorch.

    Parameters
    ----------
    module
        A scripted or traced module in evaluation mode.
    ir
        ts, torchscript or default.
    inputs
        One Input, or one tensor that it is taken from, for each input of the graph.
    **options
        precision_policy, truncate_long_and_double, require_full_compilation,
        allow_tensor_replace_int, min_block_size, default_buffer_size_vec, torch_executed_ops,
        torch_executed_modules, soc_version, optimization_level.

    Raises
    ------
    TypeError, ValueError
        An option or input that is not allowed, or an operator that does not convert.
    """
    rows, chosen = _arguments(module, ir, inputs, options)
    compiled = _C.compile(module._c, rows, chosen)  # noqa: SLF001 - the module behind Python's
    wrap = torch.jit._recursive.wrap_cpp_module  # noqa: SLF001 - PyTorch has no public way
    wrapped: torch.jit.ScriptModule = wrap(compiled)  # type: ignore[no-untyped-call]  # torch's
    return wrapped


def export_engine(
    module: torch.jit.ScriptModule,
    method_name: str = "forward",
    ir: str = "default",
    inputs: Sequence[Any] | None = None,
    **options: object,
) -> bytes:
    """Return the serialized engine of a method that compiles as a whole; else as `compile`."""
    rows, chosen = _arguments(module, ir, inputs, options)
    engine: bytes = _C.export_engine(module._c, method_name, rows, chosen)  # noqa: SLF001 - as above
    return engine


def set_device(npu_id: int) -> None:
    """Choose the device, 0 to 1024; every device is this machine's CPU."""
    if isinstance(npu_id, bool) or not isinstance(npu_id, int):
        msg = f"set_device: got {npu_id!r}, allowed are integers from 0 to {_LAST_DEVICE}"
        raise TypeError(msg)
    _C.set_device(npu_id)


def finalize() -> None:
    """End the use of the engine."""
    _C.finalize()


def _arguments(
    module: object, ir: str, inputs: Sequence[Any] | None, options: Mapping[str, object]
) -> tuple[list[list[tuple[list[int], list[int], int]]], dict[str, object]]:
    if ir not in _IRS:
        msg = f"ir: got {ir!r}, allowed are {', '.join(_IRS)}"
        raise ValueError(msg)
    if not isinstance(module, torch.jit.ScriptModule):
        msg = f"module: got {type(module).__name__}, allowed is torch.jit.ScriptModule: trace it"
        raise TypeError(msg)
    if inputs is None:
        msg = "inputs: give one Input or tensor for each input of the graph"
        raise ValueError(msg)
    return _profiles(inputs), _options(options)


def _profiles(inputs: Sequence[Any]) -> list[list[tuple[list[int], list[int], int]]]:
    profiles = inputs if inputs and isinstance(inputs[0], (list, tuple)) else [inputs]
    return [[_input(given).row() for given in profile] for profile in profiles]


def _input(given: object) -> Input:
    if isinstance(given, torch.Tensor):
        return Input.like(given)
    if not isinstance(given, Input):
        msg = f"inputs: got {type(given).__name__}, allowed are Input and torch.Tensor"
        raise TypeError(msg)
    return given


def _options(options: Mapping[str, object]) -> dict[str, object]:
    unknown = sorted(set(options) - set(_DEFAULTS))
    if unknown:
        msg = f"got the option {unknown[0]!r}, allowed are {', '.join(sorted(_DEFAULTS))}"
        raise TypeError(msg)
    for name, value in options.items():
        _check(name, value)
    return {**_DEFAULTS, **options}


def _check(name: str, value: object) -> None:
    wanted = type(_DEFAULTS[name])
    fits = isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))
    if not fits:
        msg = f"{name}: got {value!r}, allowed is {wanted.__name__}"
        raise TypeError(msg)
    if name not in _RANGES:
        return
    least, most = _RANGES[name]
    for number in value if isinstance(value, list) else [value]:
        if not isinstance(number, int) or not least <= number <= most:
            msg = f"{name}: got {number!r}, allowed are {least} to {most}"
            raise ValueError(msg)
