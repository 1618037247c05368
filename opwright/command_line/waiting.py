"""A sign on a terminal that something takes its time."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["show_waiting"]


@contextmanager
def show_waiting(text: str) -> Iterator[None]:
    """Show what is done meanwhile, if standard error is a terminal; nothing of it stays there."""
    # Not at the top: rich takes a moment, which --help of a verb must not pay.
    from rich.console import Console  # noqa: PLC0415
    from rich.live import Live  # noqa: PLC0415
    from rich.spinner import Spinner  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    # Standard output is the verb's result: it may be a pipe, which must not go to the terminal.
    shown = Spinner("dots", Text(text))
    with Live(shown, console=console, transient=True, redirect_stdout=False):
        yield
