"""Rich renderables as plain text, in colour where the terminal has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["render"]


def render(*parts: RenderableType) -> str:
    """Return what a console would print, without the last line's end."""
    console = Console(highlight=False)
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    return capture.get().rstrip("\n")
