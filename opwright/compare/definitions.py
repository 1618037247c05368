"""For scripts that `opwright compare` writes: the operators that a program registers."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from opwright.compare.mark import replace_steps
from opwright.compare.program import run_file
from opwright.compare.session import StepsDone

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["load_definitions"]


def load_definitions(file: str, *, step: str) -> None:
    """Run a program as far as the first call of its step; it stays the main module.

    Parameters
    ----------
    file
        The program.
    step
        The function that is its step unless one is marked.
    """

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        del function
        return stop

    with replace_steps(wrap), suppress(StepsDone):
        run_file(file, step)


def stop(*args: object, **kwargs: object) -> NoReturn:
    """End the program."""
    del args, kwargs
    raise StepsDone
