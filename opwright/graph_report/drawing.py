"""Parts of drawings: elements, texts and coordinates of SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "CHARACTER",
    "add",
    "add_text",
    "arrow_tip",
    "cut",
    "new_drawing",
    "pixels",
    "write_drawing",
]

CHARACTER = 6.7  # pixels; width of a character of 11 pixels height


def new_drawing(width: float, height: float, title: str, style: str) -> ET.Element:
    """Return a drawing with a title, a style, the tip of arrows and an empty sheet of paper."""
    root = ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {pixels(width)} {pixels(height)}",
            "width": pixels(width),
            "height": pixels(height),
        },
    )
    add(root, "title", title)
    add(root, "style", style)
    arrow_tip(root)
    add(root, "rect", None, {"class": "paper", "width": "100%", "height": "100%"})
    return root


def write_drawing(root: ET.Element) -> str:
    """Return the text of a drawing."""
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def add(
    parent: ET.Element, tag: str, text: str | None, attributes: Mapping[str, str] | None = None
) -> ET.Element:
    """Append an element."""
    element = ET.SubElement(parent, tag, dict(attributes or {}))
    element.text = text
    return element


def add_text(parent: ET.Element, x: float, y: float, text: str, kind: str = "") -> None:
    """Append a line of text whose base line starts at the point."""
    add(
        parent,
        "text",
        text,
        {"x": pixels(x), "y": pixels(y)} | ({"class": kind} if kind else {}),
    )


def pixels(value: float) -> str:
    """Write a coordinate.

    >>> pixels(12.0), pixels(2.25)
    ('12', '2.2')
    """
    return f"{value:.1f}".removesuffix(".0")


def cut(text: str, width: float) -> str:
    """Shorten a text to a width in pixels."""
    most = max(int(width / CHARACTER), 1)
    return text if len(text) <= most else text[: most - 1] + "\u2026"


def arrow_tip(root: ET.Element) -> None:
    """Define the tip of an event edge."""
    marker = add(
        add(root, "defs", None),
        "marker",
        None,
        {
            "id": "tip",
            "viewBox": "0 0 8 8",
            "refX": "7",
            "refY": "4",
            "markerWidth": "6",
            "markerHeight": "6",
            "orient": "auto",
        },
    )
    add(marker, "path", None, {"class": "tip", "d": "M0 0 L8 4 L0 8 z"})
