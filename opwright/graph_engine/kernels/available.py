"""Attributes of which a kernel computes some values only."""

from __future__ import annotations

__all__ = ["require_one_of"]


def require_one_of(name: str, value: object, *available: object) -> None:
    """Raise NotImplementedError for a value that the kernel does not compute.

    >>> require_one_of("data_format", "NHWC", "NCHW")
    Traceback (most recent call last):
    NotImplementedError: data_format 'NHWC' is not available; available: 'NCHW'
    """
    if value not in available:
        allowed = ", ".join(map(repr, available))
        message = f"{name} {value!r} is not available; available: {allowed}"
        raise NotImplementedError(message)
