"""Which Python objects a function leaves behind: their types, and the lines that made them."""

from __future__ import annotations

import gc
import tracemalloc
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["count_kept_types", "find_kept_lines"]

SHOWN = 4
OWN = (tracemalloc.__file__, __file__)


def count_kept_types(run: Callable[[int], None], count: int) -> str:
    """Return which objects `count` calls leave, by type; objects without parts aside."""

    def types() -> Counter[str]:
        gc.collect()
        return Counter(type(each).__qualname__ for each in gc.get_objects())

    before = types()
    run(count)
    kept = [(n, name) for name, n in (types() - before).items() if n >= count // 4]
    return ", ".join(f"{n / count:.2g} {name}" for n, name in sorted(kept, reverse=True)[:SHOWN])


def find_kept_lines(run: Callable[[int], None], count: int, least: float) -> list[str]:
    """Return the lines that made what `count` calls leave: at least `least` for each call."""
    was_tracing = tracemalloc.is_tracing()
    if not was_tracing:
        tracemalloc.start()
    try:
        gc.collect()
        before = tracemalloc.take_snapshot()
        run(count)
        gc.collect()
        after = tracemalloc.take_snapshot()
    finally:
        if not was_tracing:
            tracemalloc.stop()
    grown = [
        (each.count_diff, f"{frame.filename}:{frame.lineno}")
        for each in after.compare_to(before, "lineno")
        for frame in each.traceback
        if frame.filename not in OWN and each.count_diff >= least * count
    ]
    return [line for _, line in sorted(grown, reverse=True)[:SHOWN]]
