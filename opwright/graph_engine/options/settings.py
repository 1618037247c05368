"""Settings that the options of a graph change."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.graph_engine.errors import OptionError
from opwright.graph_engine.graph.model import INPUTS, OUTPUT
from opwright.graph_engine.options.options import check_options, indices, pairs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opwright.graph_engine.graph.model import GeGraph, Node

__all__ = ["Gears", "Settings", "check_indices"]

Shape = tuple[int, ...]
GEAR_OPTIONS = ("ge.inputShape", "ge.dynamicDims", "ge.dynamicNodeType")


@dataclass(frozen=True, slots=True)
class Gears:
    """The shapes that the inputs of a graph may have, when only some are allowed.

    Parameters
    ----------
    shapes
        Of each gear, the shape of each input by its index; inputs that are not there are free.
    """

    shapes: tuple[Mapping[int, Shape], ...]

    @property
    def largest(self) -> Mapping[int, Shape]:
        """Return the gear with the most elements."""
        return max(self.shapes, key=lambda gear: sum(math.prod(shape) for shape in gear.values()))

    def has(self, inputs: Sequence[Shape]) -> bool:
        """Return whether inputs of these shapes are one of the gears."""
        return any(all(inputs[i] == gear[i] for i in gear) for gear in self.shapes)

    def __str__(self) -> str:
        """List the gears, for an error."""
        return "; ".join(str([list(shape) for shape in gear.values()]) for gear in self.shapes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of one graph, from its options.

    Parameters
    ----------
    refreshable
        The caller may move the feature memory between runs.
    """

    refreshable: bool = False
    gears: Gears | None = None

    @classmethod
    def of(cls, graph: GeGraph, options: Mapping[str, str]) -> Settings:
        """Read them.

        Raises
        ------
        OptionError
            OPW-N006: gears or indices that do not fit the graph.
        """
        check_options("a graph", options)
        check_indices(graph, options)
        gears = gears_of(graph, options) if all(name in options for name in GEAR_OPTIONS) else None
        return cls(refreshable=options.get("ge.featureBaseRefreshable") == "1", gears=gears)


def check_indices(graph: GeGraph, options: Mapping[str, str]) -> None:
    """Raise OptionError (OPW-N006) for an option that names an input or output without a place."""
    inputs = len(graph.of_type(*INPUTS))
    outputs = sum(len(node.inputs) for node in graph.of_type(OUTPUT))
    reused = pairs(options.get("ge.exec.outputReuseInputMemIndexes", ""))
    own = re.findall(r"\d+", options.get("ge.exec.outputReuseMemIndexes", ""))
    named = {
        "ge.exec.frozenInputIndexes": (indices(options.get("ge.exec.frozenInputIndexes", "")), ()),
        "ge.exec.hostInputIndexes": (indices(options.get("ge.exec.hostInputIndexes", "")), ()),
        "ge.exec.outputReuseMemIndexes": ((), [int(index) for index in own]),
        "ge.exec.outputReuseInputMemIndexes": ([i for i, _ in reused], [o for _, o in reused]),
    }
    for name, (of_inputs, of_outputs) in named.items():
        for kind, given, count in (("input", of_inputs, inputs), ("output", of_outputs, outputs)):
            wrong = [index for index in given if index >= count]
            if wrong:
                raise OptionError(
                    where=f"graph '{graph.name}', option '{name}'",
                    got=f"{kind} {wrong[0]}",
                    allowed=[f"0 to {count - 1}" if count else f"nothing: there is no {kind}"],
                )


def gears_of(graph: GeGraph, options: Mapping[str, str]) -> Gears:
    """Return the gears that options describe: sizes of -1 take the numbers of a gear in order."""
    shapes = dict(shape_of(entry) for entry in options["ge.inputShape"].split(";"))
    unknown = sum(shape.count(-1) for shape in shapes.values())
    gears = [
        [int(number) for number in gear.split(",")] for gear in options["ge.dynamicDims"].split(";")
    ]
    wrong = next((gear for gear in gears if len(gear) != unknown), None)
    by_name = {node.name: node for node in graph.of_type(*INPUTS)}
    unknown_input = next((name for name in shapes if name not in by_name), None)
    if wrong is not None or unknown_input is not None:
        raise OptionError(
            where=f"graph '{graph.name}', option 'ge.{'dynamicDims' if wrong else 'inputShape'}'",
            got=f"{len(wrong)} sizes" if wrong else f"an input '{unknown_input}'",
            allowed=[str(unknown)] if wrong else sorted(by_name),
        )
    return Gears(tuple(fill_gear(shapes, gear, by_name) for gear in gears))


def shape_of(entry: str) -> tuple[str, Shape]:
    """Return name and sizes of an entry of ge.inputShape.

    >>> shape_of("x:-1,4"), shape_of("scalar:")
    (('x', (-1, 4)), ('scalar', ()))
    """
    name, _, sizes = entry.strip().rpartition(":")
    return name, tuple(int(size) for size in sizes.split(",") if size.strip())


def fill_gear(
    shapes: Mapping[str, Shape], gear: Sequence[int], by_name: Mapping[str, Node]
) -> Mapping[int, Shape]:
    """Return the shapes of one gear, by the index of the input."""
    numbers = itertools.chain(gear)
    return {
        by_name[name].index: tuple(next(numbers) if size < 0 else size for size in shape)
        for name, shape in shapes.items()
    }
