"""Medians of interleaved measurements: the sides take turns, so that a busy machine slows both."""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING

import torch_npu

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ROUNDS = 15


def interleaved(
    sides: Mapping[str, Callable[[], object]],
    *,
    calls: int,
    rounds: int = ROUNDS,
    choose: Callable[[list[float]], float] = median,
) -> dict[str, float]:
    """Return microseconds per call of each side.

    Parameters
    ----------
    sides
        What to measure; asynchronous work is waited for once, after the calls of a round.
    calls
        How often each function is called per round.
    choose
        What stands for all rounds: the median, or `min` where others take much of the machine.
    """
    for side in sides.values():
        run(side, calls)
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            times[name].append(run(side, calls))
    return {name: choose(values) for name, values in times.items()}


def run(side: Callable[[], object], calls: int) -> float:
    """Return microseconds per call, the wait for pending device work included."""
    begin = time.perf_counter()
    for _ in range(calls):
        side()
    torch_npu.npu.synchronize()
    return (time.perf_counter() - begin) / calls * 1e6
