"""For scripts that `opwright compare` writes: the operators that a program registers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from opwright.compare.mark import set_wrapper
from opwright.compare.program import run_file
from opwright.compare.session import StepsDone

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["load_definitions"]


def load_definitions(file: str, *, step: str) -> None:
    """Run a program as far as the first call of its step.

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

    set_wrapper(wrap)
    try:
        run_file(file, step)
    except StepsDone:
        return


def stop(*args: object, **kwargs: object) -> NoReturn:
    """End the program."""
    del args, kwargs
    raise StepsDone
