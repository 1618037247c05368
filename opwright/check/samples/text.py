"""A sample as an author would write it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.kit.declare.sample import TensorSpec

if TYPE_CHECKING:
    from opwright.kit.declare.sample import Sample, Value

__all__ = ["describe"]


def describe(sample: Sample) -> str:
    """Return the sample as Python.

    >>> from opwright.kit.declare.sample import sample, tensor
    >>> describe(sample(x=tensor(2, 3, dtype="float16"), axis=(0, -1), eps=None))
    "sample(x=tensor(2, 3, dtype='float16'), axis=[0, -1], eps=None)"
    """
    values = ", ".join(f"{name}={value_text(value)}" for name, value in sample.values)
    return f"sample({values})" + (f".with_seed({sample.seed})" if sample.seed else "")


def value_text(value: Value) -> str:
    """Return a value as Python."""
    if isinstance(value, TensorSpec):
        parts = [str(size) for size in value.shape]
        parts += [
            f"{name}={given!r}"
            for name in ("dtype", "low", "high")
            if (given := getattr(value, name)) is not None
        ]
        parts += [f"layout={value.layout!r}"] if value.layout != "contiguous" else []
        parts += [f"values={list(value.values)}"] if value.values is not None else []
        return f"tensor({', '.join(parts)})"
    if isinstance(value, tuple):
        return f"[{', '.join(map(value_text, value))}]"
    return repr(value)
