"""Where everything of the drawing of a compiled graph stands.

Each row has an FX node on the left and the GE nodes that it became on the right, so that what
belongs together stands side by side. Edges run in lanes outside of both columns, the shortest next
to the boxes; for an edge that finds no free lane only its end is drawn, which names its source.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from opwright.graph_report.compiled.lines import lines_of
from opwright.graph_report.compiled.relate import row_key, rows
from opwright.graph_report.repeats import fold

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opwright.graph_report.compiled.lines import Line
    from opwright.graph_report.compiled.model import CompiledGraph, Link, Vertex
    from opwright.graph_report.compiled.relate import Row
    from opwright.graph_report.repeats import Section

__all__ = ["Band", "Box", "Layout", "Route", "Side", "lay_out"]

Side: TypeAlias = Literal["fx", "ge"]
MARGIN = 16.0
LINE_HEIGHT = 14.0
PADDING = 6.0  # inside of a box, above and below its text
BOX_GAP = 8.0
ROW_GAP = 12.0
BOX_WIDTH = 430.0
COLUMN_GAP = 36.0
LANE_WIDTH = 7.0
MOST_LANES = 20
MOST_UNFOLDED = 80  # rows; of more, sections that repeat are drawn once


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A vertex.

    Parameters
    ----------
    id
        Of its element: safe in HTML and in selectors, unlike its name.
    also
        Names of the vertices in the repetitions that are not drawn.
    """

    id: str
    side: Side
    vertex: Vertex
    also: tuple[str, ...]
    lines: tuple[Line, ...]
    x: float
    y: float
    height: float

    def line_y(self, place: int) -> float:
        """Return the middle of a line."""
        return self.y + PADDING + (place + 0.5) * LINE_HEIGHT

    def input_y(self, link: int) -> float:
        """Return where an input ends: at its line, or at the last that is drawn."""
        drawn = [place for place, line in enumerate(self.lines) if line.link is not None]
        return self.line_y(drawn[min(link, len(drawn) - 1)])

    def output_y(self, index: int) -> float:
        """Return where an output begins; an edge that only orders, at the head."""
        drawn = [place for place, line in enumerate(self.lines) if line.kind == "output"]
        if index < 0 or not drawn:
            return self.line_y(0)
        return self.line_y(drawn[min(index, len(drawn) - 1)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """An edge between two boxes of a column; without a lane only its end is drawn."""

    source: Box
    target: Box
    link: Link
    from_y: float
    to_y: float
    lane: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """The text behind a row, or behind a section that repeats."""

    y: float
    height: float
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """All of a drawing below its head; `top` and everything else is in pixels."""

    boxes: tuple[Box, ...]
    routes: tuple[Route, ...]
    pairs: tuple[Band, ...]
    repeats: tuple[Band, ...]
    left: float
    right: float
    top: float
    bottom: float
    width: float


def lay_out(graph: CompiledGraph, top: float) -> Layout:
    """Place everything below `top`."""
    all_rows = rows(graph)
    found = make_sections(all_rows)
    left = MARGIN + MOST_LANES * LANE_WIDTH + MARGIN
    right = left + BOX_WIDTH + COLUMN_GAP
    boxes: list[Box] = []
    pairs: list[Band] = []
    repeats: list[Band] = []
    y = top
    for section in found:
        begin = y
        for place in range(section.start, section.start + section.length):
            placed = list(place_row(all_rows, section, place, (left, right), y))
            boxes += placed
            height = max(box.y + box.height for box in placed) - y
            pairs.append(Band(y=y, height=height, times=1))
            y += height + ROW_GAP
        if section.times > 1:
            repeats.append(Band(y=begin, height=y - begin - ROW_GAP, times=section.times))
    return Layout(
        boxes=tuple(boxes),
        routes=tuple(
            route
            for side in ("fx", "ge")
            for route in routes([box for box in boxes if box.side == side])
        ),
        pairs=tuple(pairs),
        repeats=tuple(repeats),
        left=left,
        right=right,
        top=top,
        bottom=y,
        width=right + BOX_WIDTH + MARGIN + MOST_LANES * LANE_WIDTH + MARGIN,
    )


def make_sections(found: Sequence[Row]) -> tuple[Section, ...]:
    """Return the sections of the rows: one if there are few."""
    return fold([row_key(row) for row in found], MOST_UNFOLDED)


def place_row(
    all_rows: Sequence[Row], section: Section, place: int, columns: tuple[float, float], y: float
) -> Iterator[Box]:
    """Yield the boxes of a row."""
    row = all_rows[place]
    others = [all_rows[place + n * section.length] for n in range(1, section.times)]
    if row.fx is not None:
        also = tuple(other.fx.name for other in others if other.fx is not None)
        yield make_box("fx", f"fx-{place}", row.fx, also, columns[0], y)
    for number, vertex in enumerate(row.ge):
        also = tuple(other.ge[number].name for other in others)
        box = make_box("ge", f"ge-{place}-{number}", vertex, also, columns[1], y)
        yield box
        y += box.height + BOX_GAP


def make_box(
    side: Side, identifier: str, vertex: Vertex, also: tuple[str, ...], x: float, y: float
) -> Box:
    """Return the box of a vertex."""
    lines = lines_of(vertex)
    return Box(
        id=identifier,
        side=side,
        vertex=vertex,
        also=also,
        lines=lines,
        x=x,
        y=y,
        height=len(lines) * LINE_HEIGHT + 2 * PADDING,
    )


def routes(boxes: Sequence[Box]) -> list[Route]:
    """Return the edges between boxes of one column, each with a lane if one is free."""
    by_name = {box.vertex.name: box for box in boxes}
    ends = [
        (by_name[link.source], box, link, box.input_y(place))
        for box in boxes
        for place, link in enumerate(box.vertex.inputs)
        if link.source in by_name
    ]
    free = Lanes()
    found = {}
    spans = [(source.output_y(link.index), to_y) for source, _, link, to_y in ends]
    for place in sorted(range(len(ends)), key=lambda each: abs(spans[each][1] - spans[each][0])):
        source, target, link, to_y = ends[place]
        found[place] = Route(
            source=source,
            target=target,
            link=link,
            from_y=spans[place][0],
            to_y=to_y,
            lane=free.take(*sorted(spans[place])),
        )
    return [found[place] for place in sorted(found)]


class Lanes:
    """Lanes beside a column and the stretches of them that are taken."""

    def __init__(self) -> None:
        self.taken: list[list[tuple[float, float]]] = [[] for _ in range(MOST_LANES)]

    def take(self, begin: float, end: float) -> int | None:
        """Take a stretch of the first lane where it is free; None if there is no such lane."""
        for lane, stretches in enumerate(self.taken):
            place = bisect_left(stretches, (begin, end))
            clear_before = place == 0 or stretches[place - 1][1] < begin
            clear_behind = place == len(stretches) or stretches[place][0] > end
            if clear_before and clear_behind:
                stretches.insert(place, (begin, end))
                return lane
        return None
