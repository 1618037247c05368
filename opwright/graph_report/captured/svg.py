"""A captured graph as a drawing: one SVG file that needs nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.graph_report.captured.edges import Waits
from opwright.graph_report.captured.layout import LANE_WIDTH, MARGIN, lay_out
from opwright.graph_report.captured.measures import gather
from opwright.graph_report.captured.memory import MOST_LISTED, find_largest
from opwright.graph_report.captured.model import is_copy
from opwright.graph_report.captured.text import (
    argument_text,
    launch_summary,
    memory_summary,
    operator_text,
    title_text,
    users_text,
    waits_text,
    writers_text,
)
from opwright.graph_report.drawing import (
    CHARACTER,
    add,
    add_text,
    cut,
    new_drawing,
    pixels,
    write_drawing,
)
from opwright.graph_report.text import size_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from xml.etree import ElementTree as ET

    from opwright.graph_report.captured.layout import Arrow, Band, Bar, Box, Layout
    from opwright.graph_report.captured.measures import Facts
    from opwright.graph_report.captured.memory import Block
    from opwright.graph_report.captured.model import CapturedGraph, Task

__all__ = ["to_svg"]

STYLE = """
text { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 11px; fill: #1f2328; }
.title { font-size: 15px; font-weight: bold; }
.small { font-size: 9px; fill: #57606a; }
.paper { fill: #ffffff; }
.lane { stroke: #d0d7de; stroke-width: 2; }
.box { stroke: #57606a; stroke-width: 0.6; }
.kernel { fill: #cfe3ff; }
.copy { fill: #ffd58a; }
.memset { fill: #e3d7f5; }
.host { fill: #c9ecd0; }
.conditional { fill: #f7c6d9; }
.other { fill: #e6e8eb; }
.record, .wait, .reset { fill: #ffffff; }
.edge { fill: none; stroke: #c0392b; stroke-width: 1.4; }
.tip { fill: #c0392b; }
.band { fill: #f3f0e6; stroke: #b8a97a; stroke-dasharray: 4 3; }
.live { stroke: #8c959f; stroke-opacity: 0.6; }
.written { fill: #c0392b; }
.read { fill: #2f6fb2; }
.rule { stroke: #d0d7de; }
"""
LEGEND = (
    *(("kernel", "kernel"), ("copy", "copy"), ("memset", "memory set")),
    *(("host", "host function"), ("conditional", "conditional"), ("other", "other task")),
)
LEAST_FOR_TEXT = 12.0  # pixels of a row; lower ones have their text in the tooltip alone
LINE = 16.0  # pixels between lines of a table
NARROW = LANE_WIDTH * 0.45  # pixels; of a record, wait or reset
# Left edge of each column of the table of memory -> width that its texts have.
TABLE = {16.0: 54.0, 76.0: 124.0, 206.0: 84.0, 296.0: 224.0, 526.0: 320.0}


def to_svg(graph: CapturedGraph, number: int) -> str:
    """Return the drawing of a graph; `number` is its place in the list of all, from 1."""
    facts = gather(graph)
    layout = lay_out(graph, facts)
    listed = find_largest(facts.blocks, MOST_LISTED)
    height = layout.bottom + (len(listed) + 4) * LINE + 2 * MARGIN
    heads = head_lines(graph, facts, number)
    width = max(layout.width, max(map(len, heads)) * CHARACTER + 2 * MARGIN)
    root = new_drawing(width, height, title_text(graph, number), STYLE)
    draw_head(root, heads)
    for band in layout.bands:
        draw_band(root, band, layout)
    draw_lanes(root, layout)
    for bar in layout.bars:
        draw_bar(root, bar, layout, facts)
    for box in layout.boxes:
        draw_box(root, box, graph, facts)
    for arrow in layout.arrows:
        draw_arrow(root, arrow, graph)
    draw_table(root, listed, facts, layout)
    return write_drawing(root)


def head_lines(graph: CapturedGraph, facts: Facts, number: int) -> tuple[str, str, str]:
    """Return the title and the overview."""
    counts = (
        f"copies: {len(facts.copies)}; streams: {len(facts.per_stream)}; "
        f"event edges: {len(facts.edges)}"
    )
    return (
        title_text(graph, number),
        f"{launch_summary(graph)}; {counts}",
        f"memory: {memory_summary(graph, facts)}",
    )


def draw_head(root: ET.Element, heads: tuple[str, str, str]) -> None:
    """Draw the title, the overview and the legend."""
    for y, text, kind in zip((26, 46, 62), heads, ("title", "", ""), strict=True):
        add_text(root, MARGIN, y, text, kind)
    x = MARGIN
    for kind, name in LEGEND:
        attributes = {"class": f"box {kind}", "x": pixels(x), "y": "72", "width": "10"}
        add(root, "rect", None, attributes | {"height": "10"})
        add_text(root, x + 14, 81, name, "small")
        x += 24 + len(name) * CHARACTER


def draw_lanes(root: ET.Element, layout: Layout) -> None:
    """Draw a line and a name per stream, and the name of the memory."""
    for stream, left in layout.lanes.items():
        add_text(root, left, layout.top - 10, f"stream {stream}")
        x = pixels(left + LANE_WIDTH / 2)
        ends = {"y1": pixels(layout.top - 4), "y2": pixels(layout.bottom + 4)}
        add(root, "line", None, {"class": "lane", "x1": x, "x2": x} | ends)
    if layout.bars:
        add_text(root, layout.memory_x, layout.top - 22, "memory: red written, blue read", "small")


def draw_band(root: ET.Element, band: Band, layout: Layout) -> None:
    """Draw what stands behind the rows of a section that repeats."""
    left = MARGIN / 2
    attributes = {
        "class": "band",
        "x": pixels(left),
        "y": pixels(band.y),
        "width": pixels(layout.width - 2 * left),
        "height": pixels(band.height),
    }
    note = f"{band.section.times} times; the first is drawn"
    add(add(root, "rect", None, attributes), "title", note)
    add_text(root, layout.memory_x - 34, band.y + 12, f"\u00d7{band.section.times}")


def draw_box(root: ET.Element, box: Box, graph: CapturedGraph, facts: Facts) -> None:
    """Draw a task: a launch as a wide box, a record or wait as a narrow one."""
    task = graph.tasks[box.place]
    is_launch = box.place in facts.numbers
    width = LANE_WIDTH if is_launch else NARROW
    x = box.x + (LANE_WIDTH - width) / 2
    gap = 0.5 if box.height < LEAST_FOR_TEXT else 2
    group = add(root, "g", None)
    add(group, "title", tooltip(box.place, task, facts))
    attributes = {
        "class": f"box {'copy' if is_copy(task) else task.kind}",
        "x": pixels(x),
        "y": pixels(box.y + gap),
        "width": pixels(width),
        "height": pixels(box.height - 2 * gap),
        "rx": "3" if is_launch else pixels((box.height - 2 * gap) / 2),
    }
    add(group, "rect", None, attributes)
    if box.height >= LEAST_FOR_TEXT:
        label = (
            f"#{facts.numbers[box.place]} {operator_text(task)}" if is_launch else event_text(task)
        )
        add_text(group, x + 8, box.y + box.height / 2 + 4, cut(label, width - 14))


def event_text(task: Task) -> str:
    """Name a record, wait or reset, and its event."""
    event = "" if task.event is None else f" e{task.event}"
    outside = " (outside)" if task.kind == "wait" and task.waits_for is None else ""
    return f"{task.kind}{event}{outside}"


def tooltip(place: int, task: Task, facts: Facts) -> str:
    """Return all that is known about a task, over several lines."""
    if place not in facts.numbers:
        return event_text(task)
    waits = waits_text(facts.waits.get(place, Waits()), facts.numbers)
    return "\n".join(
        [
            f"#{facts.numbers[place]} {operator_text(task)}, stream {task.stream}",
            *map(argument_text, task.arguments),
            *([f"waits for {waits}"] if waits else []),
        ]
    )


def draw_arrow(root: ET.Element, arrow: Arrow, graph: CapturedGraph) -> None:
    """Draw an event edge, from the side of the record that faces the wait."""
    begin, end = (box.x + LANE_WIDTH / 2 for box in (arrow.record, arrow.wait))
    toward = 1 if end >= begin else -1
    inward = -toward if end == begin else toward  # in one column both ends are on the right
    begin += toward * NARROW / 2
    end -= inward * NARROW / 2
    from_y, to_y = (box.y + box.height / 2 for box in (arrow.record, arrow.wait))
    bend = toward * LANE_WIDTH * 0.3
    path = (
        f"M{pixels(begin)} {pixels(from_y)} C{pixels(begin + bend)} {pixels(from_y)} "
        f"{pixels(end - bend)} {pixels(to_y)} {pixels(end)} {pixels(to_y)}"
    )
    line = add(root, "path", None, {"class": "edge", "d": path, "marker-end": "url(#tip)"})
    record, wait = (graph.tasks[box.place] for box in (arrow.record, arrow.wait))
    add(line, "title", f"stream {wait.stream} waits for stream {record.stream}")


def draw_bar(root: ET.Element, bar: Bar, layout: Layout, facts: Facts) -> None:
    """Draw a block of memory: when it lives, when it is written and read."""
    group = add(root, "g", None)
    add(group, "title", block_tooltip(bar, facts))
    x = pixels(bar.x)
    ends = {"y1": pixels(bar.top), "y2": pixels(bar.bottom)}
    thickness = {"stroke-width": pixels(min(1.0, layout.bar_width / 6))}
    add(group, "line", None, {"class": "live", "x1": x, "x2": x} | ends | thickness)
    size = min(layout.bar_width, 9.0) / 2 * 0.8
    for y in bar.written:
        corner = {"x": pixels(bar.x - size), "y": pixels(y - size)}
        side = pixels(2 * size)
        add(group, "rect", None, {"class": "written", "width": side, "height": side} | corner)
    for y in bar.read:
        center = {"cx": x, "cy": pixels(y), "r": pixels(size * 0.8)}
        add(group, "circle", None, {"class": "read"} | center)
    if layout.bar_width >= LEAST_FOR_TEXT:
        text_x, text_y = bar.x + 3, layout.top - 2
        turned = {"transform": f"rotate(-60 {pixels(text_x)} {pixels(text_y)})", "class": "small"}
        point = {"x": pixels(text_x), "y": pixels(text_y)}
        add(group, "text", bar.name, point | turned)


def block_tooltip(bar: Bar, facts: Facts) -> str:
    """Return all that is known about a block, over several lines."""
    block = bar.block
    return (
        f"{bar.name}: {block.address:#x}, {size_text(block.size)}\n"
        f"written by {users_text(block.writers, facts.numbers) or 'none'}\n"
        f"read by {users_text(block.readers, facts.numbers) or 'none'}"
    )


def draw_table(root: ET.Element, listed: Mapping[int, Block], facts: Facts, layout: Layout) -> None:
    """Draw the table of the memory below the rows."""
    if not listed:
        return
    y = layout.bottom + 2 * LINE
    head = ("block", "address", "size", "written by", "read by")
    if len(listed) < len(facts.blocks):
        add_text(root, MARGIN, y, f"the {len(listed)} largest of {len(facts.blocks)} blocks")
        y += LINE
    rows = [
        head,
        *(
            (
                f"m{number}",
                f"{block.address:#x}",
                size_text(block.size),
                writers_text(block, facts.numbers),
                users_text(block.readers, facts.numbers),
            )
            for number, block in listed.items()
        ),
    ]
    for index, row in enumerate(rows):
        for x, cell in zip(TABLE, row, strict=True):
            add_text(root, x, y, cut(cell, TABLE[x]))
        if not index:
            ends = {"x1": pixels(MARGIN), "x2": pixels(layout.width - MARGIN)}
            below = {"y1": pixels(y + 4), "y2": pixels(y + 4)}
            add(root, "line", None, {"class": "rule"} | ends | below)
        y += LINE
