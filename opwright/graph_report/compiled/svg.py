"""A compiled graph as a drawing: the FX graph on the left, the GE graph on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.graph_report.compiled.layout import (
    BOX_WIDTH,
    LANE_WIDTH,
    LINE_HEIGHT,
    MARGIN,
    lay_out,
)
from opwright.graph_report.compiled.lines import details, link_text, summary, title
from opwright.graph_report.compiled.relate import relate
from opwright.graph_report.drawing import (
    CHARACTER,
    add,
    add_text,
    cut,
    new_drawing,
    pixels,
    write_drawing,
)
from opwright.graph_report.text import make_printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from xml.etree import ElementTree as ET

    from opwright.graph_report.compiled.layout import Band, Box, Layout, Route
    from opwright.graph_report.compiled.model import CompiledGraph, Vertex

__all__ = ["to_svg"]

STYLE = """
text { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 11px; fill: #1f2328; }
.title { font-size: 15px; font-weight: bold; }
.paper { fill: #ffffff; }
.pair { fill: #f6f8fa; }
.repeat { fill: none; stroke: #b8a97a; stroke-dasharray: 4 3; }
.box { stroke: #57606a; stroke-width: 0.6; }
.fx .box { fill: #cfe3ff; }
.ge .box { fill: #c9ecd0; }
.ends .box { fill: #e6e8eb; }
.head { font-weight: bold; }
.input, .output { fill: #1f2328; }
.note, .source { fill: #57606a; }
.mark { fill: #8a3ffc; font-weight: bold; }
.edge { fill: none; stroke: #8c959f; stroke-width: 1; }
.orders { stroke: #c0392b; stroke-dasharray: 3 2; }
.tip { fill: #57606a; }
"""
HEAD_LINE = 16.0
TITLE_HEIGHT = 26.0
COLUMN_HEAD = 24.0
STUB = 9.0  # pixels of an edge of which only the end is drawn


def to_svg(graph: CompiledGraph, number: int) -> str:
    """Return the drawing of a graph; `number` is its place in the list of all, from 1."""
    heads = summary(graph)
    top = TITLE_HEIGHT + HEAD_LINE * len(heads) + COLUMN_HEAD + MARGIN
    layout = lay_out(graph, top)
    width = max(layout.width, max(map(len, heads)) * CHARACTER + 2 * MARGIN)
    root = new_drawing(width, layout.bottom + MARGIN, title(graph, number), STYLE)
    add_text(root, MARGIN, TITLE_HEIGHT, title(graph, number), "title")
    for place, text in enumerate(heads, start=1):
        add_text(root, MARGIN, TITLE_HEIGHT + place * HEAD_LINE, text)
    add_text(root, layout.left, top - 8, "FX graph", "head")
    add_text(root, layout.right, top - 8, "GE graph", "head")
    for band in layout.pairs:
        draw_pair(root, band, layout)
    for band in layout.repeats:
        draw_repeat(root, band, layout)
    for route in layout.routes:
        draw_route(root, route, layout)
    partners = partner_ids(graph, layout.boxes)
    for box in layout.boxes:
        draw_box(root, box, partners.get(box.id, ()))
    return write_drawing(root)


def partner_ids(graph: CompiledGraph, boxes: Sequence[Box]) -> dict[str, list[str]]:
    """Return id of a box -> ids of those in the other column that belong to it."""
    ids = {(box.side, box.vertex.name): box.id for box in boxes}
    found: dict[str, list[str]] = {box.id: [] for box in boxes}
    for fx, ge_names in relate(graph).items():
        for ge in ge_names:
            if ("fx", fx) in ids and ("ge", ge) in ids:
                one, other = ids["fx", fx], ids["ge", ge]
                found[one].append(other)
                found[other].append(one)
    return found


def draw_pair(root: ET.Element, band: Band, layout: Layout) -> None:
    """Draw what stands behind an FX node and its GE nodes."""
    attributes = {
        "class": "pair",
        "x": pixels(layout.left - 4),
        "y": pixels(band.y - 4),
        "width": pixels(layout.right + BOX_WIDTH - layout.left + 8),
        "height": pixels(band.height + 8),
        "rx": "4",
    }
    add(root, "rect", None, attributes)


def draw_repeat(root: ET.Element, band: Band, layout: Layout) -> None:
    """Draw the frame of a section that repeats."""
    attributes = {
        "class": "repeat",
        "x": pixels(MARGIN / 2),
        "y": pixels(band.y - 6),
        "width": pixels(layout.width - MARGIN),
        "height": pixels(band.height + 12),
    }
    note = f"{band.times} times; the first is drawn"
    add(add(root, "rect", None, attributes), "title", note)
    add_text(root, MARGIN, band.y + LINE_HEIGHT, f"\u00d7{band.times}", "head")


def draw_route(root: ET.Element, route: Route, layout: Layout) -> None:
    """Draw an edge in its lane, or its end alone."""
    if route.target.side == "fx":
        side, away = layout.left, -1.0
    else:
        side, away = layout.right + BOX_WIDTH, 1.0
    if route.lane is None:
        path = f"M{pixels(side + away * STUB)} {pixels(route.to_y)} H{pixels(side)}"
    else:
        lane = side + away * (STUB + 4 + route.lane * LANE_WIDTH)
        path = (
            f"M{pixels(side)} {pixels(route.from_y)} H{pixels(lane)} "
            f"V{pixels(route.to_y)} H{pixels(side)}"
        )
    attributes = {
        "class": "edge orders" if route.link.orders else "edge",
        "d": path,
        "marker-end": "url(#tip)",
        "data-from": route.source.id,
        "data-to": route.target.id,
    }
    line = add(root, "path", None, attributes)
    add(line, "title", make_printable(f"{route.target.vertex.name}: ") + link_text(route.link))


def draw_box(root: ET.Element, box: Box, partners: Sequence[str]) -> None:
    """Draw a vertex; what a page needs to search and to highlight is in its attributes."""
    group = add(root, "g", None, box_attributes(box, partners))
    add(group, "title", details(box.vertex) + write_also(box))
    frame = {
        "class": "box",
        "x": pixels(box.x),
        "y": pixels(box.y),
        "width": pixels(BOX_WIDTH),
        "height": pixels(box.height),
        "rx": "3",
    }
    add(group, "rect", None, frame)
    for place, line in enumerate(box.lines):
        indent = 8 if line.kind == "head" else 18
        text = cut(line.text, BOX_WIDTH - indent - 6)
        add_text(group, box.x + indent, box.line_y(place) + 4, text, line.kind)


def box_attributes(box: Box, partners: Sequence[str]) -> Mapping[str, str]:
    """Return the attributes of a vertex's element."""
    found = {"id": box.id, "class": f"node {box.side}{classify_end(box.vertex)}"}
    if partners:
        found["data-with"] = " ".join(partners)
    return found


def classify_end(vertex: Vertex) -> str:
    """Return the class of what stands for inputs and outputs."""
    return " ends" if vertex.is_input or vertex.is_output else ""


def write_also(box: Box) -> str:
    """Name the vertices that the box stands for besides its own."""
    return "\n" + make_printable(f"also {', '.join(box.also)}") if box.also else ""
