"""A drawing as a page: it can be searched, and pointing at a node shows all about it.

The page needs no other file and no network, and without scripts it still shows the drawing.
"""

from __future__ import annotations

import html
from importlib.resources import files

__all__ = ["to_page"]

TITLE = "@TITLE@"
DRAWING = "@DRAWING@"


def to_page(title: str, drawing: str) -> str:
    """Return the page of a drawing in SVG."""
    template = (files(__package__) / "page.html").read_text(encoding="utf-8")
    before, after = template.split(DRAWING)
    return before.replace(TITLE, html.escape(title)) + drawing.rstrip() + after
