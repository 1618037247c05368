"""The options of compile and export_engine: names, defaults, allowed values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from torch_aie._enums import PrecisionPolicy
from torch_aie._input import Input
from torch_aie._internals import OpOverload, OpOverloadPacket, qualified_op_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["DEFAULTS", "Row", "checked", "inputs_of", "profiles_of", "rows"]

# Least shape, greatest shape, number of the dtype: what the C++ library takes.
Row = tuple[list[int], list[int], int]

DEFAULTS: Mapping[str, object] = {
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
_MOST_INPUTS = 4096
_MOST_GEARS = 100


def checked(options: Mapping[str, object]) -> dict[str, object]:
    """Return all options; raise TypeError or ValueError that says what is allowed."""
    unknown = sorted(set(options) - set(DEFAULTS))
    if unknown:
        msg = f"got the option {unknown[0]!r}, allowed are {', '.join(sorted(DEFAULTS))}"
        raise TypeError(msg)
    chosen = {**DEFAULTS, **options}
    chosen["torch_executed_ops"] = _names(chosen["torch_executed_ops"])
    for name, value in chosen.items():
        _check(name, value)
    # In C++ it is from 1; the same is meant.
    chosen["min_block_size"] = chosen["min_block_size"] or 1
    return chosen


def _names(operators: object) -> object:
    """Return the names of operators: of PyTorch's own objects as of strings."""
    if not isinstance(operators, (list, tuple)):
        return operators
    return [_name(given) for given in operators]


def _name(given: object) -> object:
    if isinstance(given, OpOverload):
        return given._schema.name  # noqa: SLF001 - operators have their schema there
    if isinstance(given, OpOverloadPacket):
        return qualified_op_name(given)
    return given


def _check(name: str, value: object) -> None:
    wanted = type(DEFAULTS[name])
    fits = isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))
    if not fits:
        msg = f"{name}: got {value!r}, allowed is {wanted.__name__}"
        raise TypeError(msg)
    if name in ("torch_executed_ops", "torch_executed_modules"):
        _check_names(name, value)
    if name not in _RANGES:
        return
    least, most = _RANGES[name]
    for number in value if isinstance(value, list) else [value]:
        if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
            msg = f"{name}: got {number!r}, allowed are {least} to {most}"
            raise ValueError(msg)


def _check_names(name: str, value: object) -> None:
    for given in value if isinstance(value, list) else []:
        if not isinstance(given, str):
            msg = f"{name}: got {given!r}, allowed are names, such as 'aten::relu', or operators"
            raise TypeError(msg)


def profiles_of(inputs: Sequence[Any] | None) -> list[list[Input]]:
    """Return the profiles of inputs: one, or a gear for each list in the list."""
    if inputs is None:
        msg = "inputs: give one Input or tensor for each input of the graph"
        raise ValueError(msg)
    if not isinstance(inputs, (list, tuple)):
        msg = f"inputs: got {type(inputs).__name__}, allowed are lists of Input or torch.Tensor"
        raise TypeError(msg)
    gears = [isinstance(given, (list, tuple)) for given in inputs]
    if any(gears) and not all(gears):
        msg = "inputs: got lists beside inputs, allowed are either, not both"
        raise TypeError(msg)
    profiles = list(inputs) if any(gears) else [inputs]
    if len(profiles) > _MOST_GEARS:
        msg = f"inputs: got {len(profiles)} gears, allowed are at most {_MOST_GEARS}"
        raise ValueError(msg)
    return [inputs_of(profile) for profile in profiles]


def inputs_of(profile: Sequence[Any]) -> list[Input]:
    """Return the declared inputs; tensors become static ones."""
    if len(profile) > _MOST_INPUTS:
        msg = f"inputs: got {len(profile)}, allowed are at most {_MOST_INPUTS}"
        raise ValueError(msg)
    return [_input(given) for given in profile]


def _input(given: object) -> Input:
    if isinstance(given, torch.Tensor):
        return Input.like(given)
    if not isinstance(given, Input):
        msg = f"inputs: got {type(given).__name__}, allowed are Input and torch.Tensor"
        raise TypeError(msg)
    return given


def rows(profiles: Sequence[Sequence[Input]]) -> list[list[Row]]:
    """Return the profiles as the C++ library takes them."""
    return [[given.row() for given in profile] for profile in profiles]
