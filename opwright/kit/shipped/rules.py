"""Checks and shapes of Meta kernels. Sizes may be symbolic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ._internals import check_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = [
    "as_list",
    "broadcast",
    "check_axes",
    "check_dtype",
    "device_of",
    "reduced",
    "require",
    "several",
    "tensors_in",
]

# Names of dtypes in C++, as in messages of the other kernels.
C_NAMES = {
    "float32": "Float",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "float64": "Double",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "uint8": "Byte",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
    "complex32": "ComplexHalf",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}


def require(condition: Any, texts: Sequence[str], *values: object) -> None:  # noqa: ANN401 - a bool or SymBool
    """Raise ValueError unless a condition holds; one on symbolic sizes is kept with the graph.

    Parameters
    ----------
    texts
        What stands around the values in the message.
    """
    check_value(condition, lambda: sentence(texts, values))


def sentence(texts: Sequence[str], values: Iterable[object]) -> str:
    """Return a message; floats have six digits, as in C++."""
    first, *rest = texts
    shown = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
    return first + "".join(value + text for value, text in zip(shown, rest, strict=True))


def check_axes(got: Sequence[Any], expected: Sequence[Any], texts: Sequence[str]) -> None:
    """Check the sizes of several axes."""
    require(len(got) == len(expected), texts, list(got), list(expected))
    for one, another in zip(got, expected, strict=True):
        require(one == another, texts, list(got), list(expected))


def check_dtype(value: object, allowed: Sequence[torch.dtype], texts: Sequence[str]) -> None:
    """Check the dtype of a tensor, or of each of a list."""
    for tensor in tensors_in(value):
        if tensor.dtype not in allowed:
            names = ", ".join(map(c_name, allowed))
            raise TypeError(sentence(texts, (c_name(tensor.dtype), names)))


def c_name(dtype: torch.dtype) -> str:
    """Return what C++ calls a dtype."""
    name = str(dtype).removeprefix("torch.")
    return C_NAMES.get(name, name.capitalize())


def tensors_in(value: object) -> list[torch.Tensor]:
    """Return the tensors of an argument: itself, or those of a list."""
    items = value if isinstance(value, list | tuple) else [value]
    return [each for each in items if isinstance(each, torch.Tensor)]


def several(count: int, make: Callable[[int], torch.Tensor]) -> list[torch.Tensor]:
    """Return a list of results: what is made for each place in it."""
    return [make(place) for place in range(count)]


def device_of(*values: object) -> torch.device:
    """Return the device of the first tensor."""
    return next(tensor for value in values for tensor in tensors_in(value)).device


def as_list(value: Any) -> Sequence[Any]:  # noqa: ANN401 - ints or SymInts
    """Return an int list, for which PyTorch also takes a single int (`int[2]`)."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def broadcast(*shapes: Sequence[Any]) -> Sequence[Any]:
    """Return what shapes become together."""
    together: Any = torch.broadcast_shapes
    wide: Sequence[Any] = together(*(tuple(shape) for shape in shapes))
    return wide


def wrap(axis: int, rank: int) -> int:
    """Return an axis counted from the first; a tensor without axes has 0 and -1, as in PyTorch."""
    wide = max(rank, 1)
    if not -wide <= axis < wide:
        message = f"axis {axis} of a tensor with {rank} axes"
        raise IndexError(message)
    return axis % wide


def reduced(tensor: torch.Tensor, dims: Any, *, keepdim: bool = False) -> tuple[Any, ...]:  # noqa: ANN401 - None, an int or ints
    """Return a shape after a reduction; without dims over all axes.

    Raises
    ------
    IndexError
        The tensor has no such axis.
    """
    shape = tuple(tensor.shape)
    given = () if dims is None else as_list(dims)
    axes = {wrap(axis, len(shape)) for axis in given} if given else set(range(len(shape)))
    return tuple(
        1 if axis in axes else size
        for axis, size in enumerate(shape)
        if keepdim or axis not in axes
    )
