"""Numbers of cores that a graph asks for: the chip's own are the most, as in CANN.

CANN takes the chip's number for a larger one, and says so in its log alone. Here a line on standard
error does, because a larger number is a mistake of the program that no result shows.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opwright.graph_engine.graph.model import GeGraph

__all__ = ["report_excess"]

# Kinds of cores, in the order of ge.aicoreNum, with their aclDeviceInfo and the attribute that
# torchair.scope.limit_core_num writes at nodes.
KINDS = (("cube", 0, "_op_aicore_num"), ("vector", 1, "_op_vectorcore_num"))

reported: set[str] = set()
lock = threading.Lock()


def report_excess(graph: GeGraph, options: Mapping[str, str]) -> None:
    """Say once on standard error where a graph asks for more cores than the chip has."""
    for place, kind, wanted, most, chip in find_excess(graph, options):
        line = (
            f"opwright: {place} asks for {wanted} {kind} cores; {chip} has {most}, which count "
            "instead\n"
        )
        with lock:
            is_new = line not in reported
            reported.add(line)
        if is_new:
            sys.stderr.write(line)


def find_excess(
    graph: GeGraph, options: Mapping[str, str]
) -> Iterator[tuple[str, str, int, int, str]]:
    """Yield place, kind of cores, the number asked for, the chip's number, and the chip's name."""
    places = [("option 'ge.aicoreNum'", options.get("ge.aicoreNum", "").split("|"))]
    for node in graph.nodes:
        numbers = [str(node.notes.get(note, "")) for _, _, note in KINDS]
        places.append((f"torchair.scope.limit_core_num of {node}", numbers))
    for place, numbers in places:
        for (kind, info, _), number in zip(KINDS, numbers, strict=False):
            if number.isdecimal() and int(number) > (most := count_cores(info)):
                yield place, kind, int(number), most, name_chip()


def count_cores(info: int) -> int:
    """Return how many cores of a kind the chip has."""
    acl = ctypes.CDLL("libascendcl.so")
    found = ctypes.c_int64()
    code = acl.aclGetDeviceCapability(ctypes.c_uint32(0), ctypes.c_int(info), ctypes.byref(found))
    assert code == 0, code  # the device is set wherever a graph is compiled
    return found.value


def name_chip() -> str:
    """Return the chip's name."""
    acl = ctypes.CDLL("libascendcl.so")
    acl.aclrtGetSocName.restype = ctypes.c_char_p
    name: bytes = acl.aclrtGetSocName()
    return name.decode()
