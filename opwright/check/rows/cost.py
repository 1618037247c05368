"""A call costs the thread that makes it no more than the declared budget.

The operator is called with its smallest sample, and `torch.add` with two tensors of one element on
the same device, in blocks that take turns. Measured is the processor time of the calling thread, up
to where the call returns: checks, allocation, dispatch, Python, adapter; not the kernel, which the
device runs meanwhile. The least of many blocks is taken of each, so that the load of the machine
does not count, and their ratio is compared with `cost_budget` of the declaration. A ratio above the
budget is measured again before it is reported.

Without a budget the row does not apply, and only measures. Beside the ratio stand the numbers of
Python frames and C functions that a call enters, which are the same on each machine and in each run
(C++ functions that C++ calls are not among them), and whether the call waits for the device.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import torch

from opwright.check.finding import Kind
from opwright.check.row import Row
from opwright.check.row_context import NotApplicableError
from opwright.kit.live.arguments import tensors_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from opwright.check.row_context import RowContext
    from opwright.kit.declare.sample import Sample

__all__ = ["ROW"]

OVER = Kind(
    "over-budget",
    "a call costs more host time than the declaration allows",
    "register in C++, or with Library.impl instead of custom_op; do shape checks once, in the "
    "kernel's adapter; take no detour through Python where nothing requires gradients",
)

CALLS = 16  # of a block; their tasks fit into torch_npu's queue
BLOCKS = 25
LIMIT = 0.25  # seconds for one measurement
MEASUREMENTS = 3  # before a ratio above the budget is reported


def run(context: RowContext) -> None:
    """Measure, and compare with the budget."""
    budget = context.subject.operator.cost_budget
    sample = find_smallest(context)
    if sample is None:
        raise NotApplicableError(context.samples.why_none() or "there are no samples")
    context.examine(lambda _: None, sample)
    values = context.arguments(sample)
    context.call(values, sample)  # an error is reported as such
    one = torch.ones(1, device=context.device)

    overload, schema = context.subject.overload, context.subject.schema
    positional = [values[each.name] for each in schema.arguments if not each.keyword_only]
    named = {each.name: values[each.name] for each in schema.arguments if each.keyword_only}

    def operator() -> object:
        return overload(*positional, **named)

    def peer() -> object:
        return torch.add(one, one)

    ratio, own, other = measure(context, operator, peer)
    tries = 1
    while budget is not None and ratio > budget and tries < MEASUREMENTS:
        ratio, own, other = min((ratio, own, other), measure(context, operator, peer))
        tries += 1
    frames, functions = count_calls(operator)
    text = (
        f"{ratio:.2f} times torch.add ({own * 1e6:.1f} and {other * 1e6:.1f} us of processor time "
        f"for each call); {frames} Python frames and {functions} C functions"
    )
    context.synchronize()
    if context.device != "cpu":
        text += "; it waits for the device" if is_waiting(context, operator) else ""
    context.details["cost of a call"] = text
    if budget is None:
        message = f"the declaration has no cost_budget; measured: {text}"
        raise NotApplicableError(message)
    if ratio > budget:
        context.report(
            OVER,
            expected=f"at most {budget:g} times the cost of torch.add on one element",
            got=f"{text}; the least of {tries} measurements",
            sample=sample,
            script=script(budget),
        )


def find_smallest(context: RowContext) -> Sample | None:
    """Return the sample with the fewest elements that are not none at all."""

    def elements(sample: Sample) -> tuple[bool, int]:
        values = context.arguments(sample, "cpu")
        count = sum(each.numel() for value in values.values() for each in tensors_in(value))
        return count == 0, count

    return min(context.samples.of({"size"}, 0), key=elements, default=None)


def measure(
    context: RowContext, operator: Callable[[], object], peer: Callable[[], object]
) -> tuple[float, float, float]:
    """Return the ratio of a call of the operator to one of the peer, and both in seconds."""
    times: dict[Callable[[], object], list[float]] = {operator: [], peer: []}
    for function in times:
        block(context, function)  # warm
    end = time.perf_counter() + LIMIT
    for _ in range(BLOCKS):
        for function, found in times.items():
            found.append(block(context, function))
        if time.perf_counter() > end:
            break
    context.calls += CALLS * (len(times[operator]) + 1)
    own, other = min(times[operator]), min(times[peer])
    return own / other, own, other


def block(context: RowContext, function: Callable[[], object]) -> float:
    """Return the processor time of this thread for one call, the mean of a block."""
    start = time.thread_time()
    for _ in range(CALLS):
        function()
    spent = time.thread_time() - start
    context.synchronize()
    return spent / CALLS


def count_calls(function: Callable[[], object]) -> tuple[int, int]:
    """Return how many Python frames and C functions a call enters, its own frame aside."""
    counts = {"call": 0, "c_call": 0}

    def note(_: FrameType, event: str, __: Any) -> None:  # noqa: ANN401 - what sys.setprofile gives
        if event in counts:
            counts[event] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return counts["call"] - 1, counts["c_call"] - 1  # `function` itself, and sys.setprofile


def is_waiting(context: RowContext, function: Callable[[], object]) -> bool:
    """Return whether a call comes back only when the device has done what is before it."""
    npu = torch.get_device_module(context.device)
    busy = torch.ones(256, 256, device=context.device)
    context.synchronize()
    for _ in range(6):
        busy = busy @ busy * 0
    if npu.current_stream().query():  # so fast that nothing is known
        return False
    function()
    return bool(npu.current_stream().query())


def script(budget: float) -> tuple[str, ...]:
    """Return what shows the ratio."""
    return (
        "import time",
        "values, one = arguments('npu'), torch.ones(1).npu()",
        "def cost(function):",
        "    start = time.thread_time()",
        f"    for _ in range({CALLS}):",
        "        function()",
        f"    spent = (time.thread_time() - start) / {CALLS}",
        "    torch.npu.synchronize()",
        "    return spent",
        "operator(**values), torch.add(one, one)",
        "pairs = [(cost(lambda: operator(**values)), cost(lambda: torch.add(one, one)))",
        "         for _ in range(50)]",
        "ratio = min(a for a, _ in pairs) / min(b for _, b in pairs)",
        f"assert ratio <= {budget!r}, ratio",
    )


ROW = Row(
    name="cost",
    title="a call stays within its budget",
    kinds=(OVER,),
    run=run,
)
