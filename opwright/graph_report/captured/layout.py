"""Where everything of a drawing stands: a column per stream, a row per task, memory beside them.

Rows follow the order of the capture, so an event edge never points upwards. Of sections that repeat
the first is drawn, and rows get lower as their number grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.graph_report.captured.measures import task_key
from opwright.graph_report.repeats import fold

if TYPE_CHECKING:
    from opwright.graph_report.captured.measures import Facts
    from opwright.graph_report.captured.memory import Block
    from opwright.graph_report.captured.model import CapturedGraph
    from opwright.graph_report.repeats import Section

__all__ = ["LANE_WIDTH", "MARGIN", "Arrow", "Band", "Bar", "Box", "Layout", "lay_out"]

MARGIN = 16.0
HEAD = 118.0  # title, overview, names of the columns
LANE_WIDTH = 236.0
LANE_GAP = 28.0
MEMORY_GAP = 36.0
MEMORY_WIDTH = 900.0  # at most, unless each bar would be narrower than BAR_LEAST
BAR_MOST = 16.0
BAR_LEAST = 3.0
MOST_UNFOLDED = 120  # tasks; with more, sections that repeat are drawn once
# Rows up to this number -> height of each, in pixels.
HEIGHTS = ((120, 26.0), (400, 15.0), (1 << 62, 7.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A task: its place in the graph, and the upper left corner and height of its row."""

    place: int
    x: float
    y: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """An event edge, from the box of the record to that of the wait."""

    record: Box
    wait: Box


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """The rows of a section that repeats."""

    section: Section
    y: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A block of memory: a line over the rows in which it lives, with a mark for each access."""

    name: str
    block: Block
    x: float
    top: float
    bottom: float
    written: tuple[float, ...]
    read: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """All of a drawing but its tables; `lanes` is stream -> left edge."""

    lanes: dict[int, float]
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    bands: tuple[Band, ...]
    bars: tuple[Bar, ...]
    bar_width: float
    memory_x: float
    top: float
    bottom: float
    width: float


def lay_out(graph: CapturedGraph, facts: Facts) -> Layout:
    """Place everything."""
    lanes = {
        stream: MARGIN + index * (LANE_WIDTH + LANE_GAP)
        for index, stream in enumerate(graph.streams)
    }
    memory_x = MARGIN + max(len(lanes), 1) * (LANE_WIDTH + LANE_GAP) + MEMORY_GAP
    found = make_sections(graph)
    rows = [
        place for section in found for place in range(section.start, section.start + section.length)
    ]
    height = next(height for most, height in HEIGHTS if len(rows) <= most)
    boxes = {
        place: Box(
            place=place, x=lanes[graph.tasks[place].stream], y=HEAD + row * height, height=height
        )
        for row, place in enumerate(rows)
    }
    bars, bar_width = place_bars(facts, boxes, memory_x)
    return Layout(
        lanes=lanes,
        boxes=tuple(boxes.values()),
        arrows=tuple(
            Arrow(record=boxes[edge.record], wait=boxes[edge.wait])
            for edge in facts.edges
            if edge.record in boxes and edge.wait in boxes
        ),
        bands=tuple(
            Band(section=section, y=boxes[section.start].y, height=section.length * height)
            for section in found
            if section.times > 1
        ),
        bars=bars,
        bar_width=bar_width,
        memory_x=memory_x,
        top=HEAD,
        bottom=HEAD + len(rows) * height,
        width=memory_x + max(len(bars) * bar_width, LANE_WIDTH) + MARGIN,
    )


def make_sections(graph: CapturedGraph) -> tuple[Section, ...]:
    """Return the sections of the list of tasks: one if it is short."""
    return fold([task_key(graph, place) for place in range(len(graph.tasks))], MOST_UNFOLDED)


def place_bars(
    facts: Facts, boxes: dict[int, Box], memory_x: float
) -> tuple[tuple[Bar, ...], float]:
    """Return the bars of the blocks that a drawn task touches, and the width of each."""
    drawn = [
        (f"m{number}", block, [each for each in find_tasks_touching(block) if each in boxes])
        for number, block in enumerate(facts.blocks, start=1)
    ]
    drawn = [each for each in drawn if each[2]]
    width = min(BAR_MOST, max(BAR_LEAST, MEMORY_WIDTH / max(len(drawn), 1)))

    def middle(place: int) -> float:
        return boxes[place].y + boxes[place].height / 2

    bars = tuple(
        Bar(
            name=name,
            block=block,
            x=memory_x + (index + 0.5) * width,
            top=middle(min(places)),
            bottom=middle(max(places)),
            written=tuple(middle(place) for place in block.writers if place in boxes),
            read=tuple(middle(place) for place in block.readers if place in boxes),
        )
        for index, (name, block, places) in enumerate(drawn)
    )
    return bars, width


def find_tasks_touching(block: Block) -> set[int]:
    """Return the places of the tasks that touch the block."""
    return {*block.writers, *block.readers}
