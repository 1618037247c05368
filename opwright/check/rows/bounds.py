"""The kernel reads and writes its operands alone, and nothing that nobody has written.

The row runs in a process with guarded memory (`opwright run --guard` gives a program one). While
a kernel runs, each of its operands lies alone, between pages that nothing may touch. Every sample
runs twice:

* with operands that end exactly where such a page begins. New memory holds 0xFFF5 in every 16 bits,
  which is NaN in float16, bfloat16, float32 and float64;
* with operands that start where such a page ends. New memory holds 0x412B, which is a number.

An access outside of an operand is found at its first byte, whatever lies there on hardware: another
tensor, padding, or nothing. It is reported with operand, offset and the instruction, and the kernel
runs on. A pointer that a kernel kept from an earlier call is found in the same way. Results that
differ between the two runs, and not between two runs of one kind, come from memory that nobody has
written: the kernel left a part of a result unwritten, or computed with what it found in scratch
memory.

This is stricter than hardware, which faults at the end of an allocation; torch_npu's allocations
hold many tensors, and 32 bytes or more of padding behind each. Only the elements of a view may be
reached, not the rest of its storage. Kernels of libopapi are ATen's, and are not watched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.check.finding import Kind
from opwright.check.observe.tensors import first_unequal
from opwright.check.row import Row
from opwright.check.row_context import EagerCallError, NotApplicableError
from opwright.check.subject import flat
from opwright.twin import guard

if TYPE_CHECKING:
    from opwright.check.finding import Finding
    from opwright.check.row_context import RowContext
    from opwright.kit.declare.sample import Sample
    from opwright.twin.guard import Fault

__all__ = ["ROW"]

READ = Kind(
    "out-of-bounds-read",
    "the kernel reads outside of a tensor",
    "end loops and copies at the size that tiling gives; of the last tile only what is left "
    "(DataCopyPad instead of DataCopy)",
)
WRITE = Kind(
    "out-of-bounds-write",
    "the kernel writes outside of a tensor",
    "write of the last tile only what is left, and check indices before they are used",
)
STALE = Kind(
    "stale-pointer",
    "the kernel uses memory that it was given in an earlier call, or never",
    "take addresses from the arguments of each call; keep none in static or global variables",
)
UNWRITTEN = Kind(
    "unwritten-result",
    "the kernel leaves a part of a result unwritten",
    "write every element, those of the last tile and of empty rows too; or allocate zeros",
)
UNINITIALISED = Kind(
    "uninitialised-read",
    "results depend on memory that nobody has written",
    "fill workspace and buffers before the first read; mask the padding of the last tile",
)

Results = dict[str, torch.Tensor]


def run(context: RowContext) -> None:
    """Run every sample in both modes."""
    if not guard.is_guarded():
        message = "memory of this process is not guarded: opwright run --guard"
        raise NotApplicableError(message)
    guard.take_faults()  # of what ran before
    torch.get_device_module(context.device).empty_cache()
    try:
        context.each(
            lambda sample: examine(context, sample),
            vary={"dtype", "size", "rank", "layout", "presence", "length"},
            examples=10,
        )
    finally:
        guard.set_mode(guard.MODES[0])
        guard.take_faults()


def examine(context: RowContext, sample: Sample) -> Finding | None:
    """Run one sample in both modes, and compare."""
    results = []
    for mode in guard.MODES:
        got, faults = run_in(context, sample, mode)
        if faults:
            return report_outside(context, sample, min(faults, key=severity), mode)
        results.append(got)
    one, other = results
    if first_unequal(one, other) is None:
        return None
    again, _ = run_in(context, sample, guard.MODES[0])
    if first_unequal(one, again) is not None:
        context.details["results"] = (
            "differ from call to call: whether they depend on unwritten memory is not known"
        )
        return None
    return report_unwritten(context, sample, one, other)


def run_in(context: RowContext, sample: Sample, mode: int) -> tuple[Results, list[Fault]]:
    """Call the operator with memory arranged in a mode; return results on the CPU, and faults."""
    guard.set_mode(mode)
    results: Results = {}
    error: EagerCallError | None = None
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            values = context.arguments(sample)
            fill_free_memory(context)
            computed = context.subject.computed(context.call(values, sample), values)
            results = {name: each.detach().cpu() for name, each in flat(computed).items()}
    except EagerCallError as raised:  # a fault is an error of the task
        error = raised
    faults = guard.take_faults()
    if error is not None and not faults:
        raise error
    return results, faults


def fill_free_memory(context: RowContext) -> None:
    """Fill what torch_npu keeps for later tensors, which has the contents of earlier ones."""
    context.synchronize()
    for segment in torch.get_device_module(context.device).memory_snapshot():
        address = segment["address"]
        for block in segment["blocks"]:
            if block["state"] == "inactive":
                guard.fill(address, block["size"])
            address += block["size"]


def severity(fault: Fault) -> int:
    """Order faults: writes first."""
    return 2 if fault.what == "stale" else 0 if fault.access == "write" else 1


def report_outside(context: RowContext, sample: Sample, fault: Fault, mode: int) -> Finding:
    """Make the finding of an access that no operand of the call allows."""
    kind = STALE if fault.what == "stale" else WRITE if fault.access == "write" else READ
    verb = {"read": "reads", "write": "writes", "unknown": "touches"}[fault.access]
    who = fault.function or "code outside of kernels"
    code = f"; the instruction is at {fault.place}" if fault.place else ""
    if fault.what == "stale":
        expected = "accesses to the operands of this call alone"
        got = f"{who} {verb} byte {fault.offset} of {fault.size} of {fault.operand}{code}"
    else:
        expected = f"accesses within {fault.operand}: {extent(context, sample, fault)}"
        many = f" ({fault.written} bytes in all)" if fault.written else ""
        got = f"{who} {verb} {where(fault)}{many}{code}"
    return context.finding(kind, expected=expected, got=got, sample=sample, script=script(mode))


def where(fault: Fault) -> str:
    """Describe where a fault lies, from the operand that it missed."""
    if fault.offset < 0:
        return f"{-fault.offset} bytes before the start of {fault.operand}"
    distance = fault.offset - fault.size
    far = f"{distance} bytes" if distance else "just"
    return f"byte {fault.offset}, {far} behind the end of {fault.operand}"


def extent(context: RowContext, sample: Sample, fault: Fault) -> str:
    """Describe how large an operand is, in elements too if its dtype is known."""
    value = context.arguments(sample, "cpu").get(fault.operand)
    if not isinstance(value, torch.Tensor) or fault.size % value.element_size():
        return f"{fault.size} bytes"
    count = fault.size // value.element_size()
    dtype = str(value.dtype).removeprefix("torch.")
    return f"{fault.size} bytes, {count} of {dtype}, a tensor {list(value.shape)}"


def report_unwritten(context: RowContext, sample: Sample, one: Results, other: Results) -> Finding:
    """Make the finding of results that depend on memory that nobody has written."""
    name, text = first_unequal(one, other) or ("", "")
    shown = f"{name}: {text}" if text else "other shapes"
    left = is_pattern(one[name], other[name])
    if left is not None:
        return context.finding(
            UNWRITTEN,
            expected=f"{one[name].numel()} elements of {name!r} written",
            got=f"{left[1]} of them hold what was in the memory before, first element {left[0]}",
            sample=sample,
            script=COMPARE,
        )
    return context.finding(
        UNINITIALISED,
        expected="results that do not depend on what new memory holds",
        got=f"{shown}, with NaN and then 0x412B in new memory",
        sample=sample,
        script=COMPARE,
    )


def is_pattern(one: torch.Tensor, other: torch.Tensor) -> tuple[int, int] | None:
    """Return the first element that has the patterns of the two modes, and how many there are."""
    if one.shape != other.shape or not one.numel():
        return None
    words = one.numel() * one.element_size()
    rows = []
    for tensor, pattern in ((one, (0xF5, 0xFF)), (other, (0x2B, 0x41))):
        data = tensor.contiguous().reshape(-1).view(torch.uint8)
        filled = torch.tensor(pattern, dtype=torch.uint8).repeat((words + 1) // 2)[:words]
        rows.append((data == filled).reshape(one.numel(), -1).all(1))
    places = (rows[0] & rows[1]).nonzero()
    return (int(places[0]), len(places)) if len(places) else None


def script(mode: int) -> tuple[str, ...]:
    """Return what shows an access outside."""
    return (
        "# opwright run --guard -- python THIS_FILE",
        "from opwright.twin import guard",
        f"guard.set_mode({mode})",
        "try:",
        "    operator(**arguments('npu'))",
        "    torch.npu.synchronize()",
        "except RuntimeError as error:",
        "    print(error)",
        "assert not guard.take_faults()",
    )


COMPARE = (
    "# opwright run --guard -- python THIS_FILE",
    "from opwright.twin import guard",
    "def run(mode):",
    "    guard.set_mode(mode)",
    "    torch.npu.empty_cache()",
    "    result = operator(**arguments('npu'))",
    "    result = result if isinstance(result, torch.Tensor) else result[0]",
    "    return result.cpu().contiguous().reshape(-1).view(torch.uint8)",
    "assert torch.equal(*map(run, guard.MODES))",
)

ROW = Row(
    name="bounds",
    title="the kernel stays within its operands and reads what was written",
    kinds=(READ, WRITE, STALE, UNWRITTEN, UNINITIALISED),
    run=run,
    process="guarded",
)
