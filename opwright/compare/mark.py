"""The decorator that marks a program's step. It imports no torch, and does nothing by itself."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Function = TypeVar("Function", bound=Callable[..., Any])

__all__ = ["replace_steps", "step"]

# Set by the process of `opwright compare` that runs the program.
wrapper: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None


@contextmanager
def replace_steps(wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Iterator[None]:
    """Let `step` return what `wrap` makes of a function."""
    global wrapper  # noqa: PLW0603 - the program applies the decorator, and cannot be given it
    outer, wrapper = wrapper, wrap
    try:
        yield
    finally:
        wrapper = outer


def step(function: Function) -> Function:
    """Mark a function as the step that `opwright compare` compares.

    Parameters
    ----------
    function
        It takes and returns tensors, in lists, tuples and dicts as well. What it changes besides,
        parameters for example, it may change in place.

    Returns
    -------
    function
        The function itself, unless `opwright compare` runs the program.

    Examples
    --------
    >>> @step
    ... def double(x):
    ...     return x * 2
    >>> double(3)
    6
    """
    return function if wrapper is None else wrapper(function)  # type: ignore[return-value] # a wrapper takes the same arguments
