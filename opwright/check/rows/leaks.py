"""A call gives back all that it takes: no use of memory, objects, threads or files grows.

The operator is called 1,000 times with a few samples in turn, in blocks: a first one to warm up,
then others after each of which the process is looked at:

* device memory: what torch_npu has given out, and what the device has left;
* host memory: what malloc has given out, in all threads, and the pages of the process;
* Python objects (after a garbage collection), threads, and file descriptors.

What grows in one block alone is a cache. What seems to leak is called more: a leak grows in every
block, by as much for each call, in blocks that are twice as long, too. Python objects must also be
found again where they were made. Column `refused` does the same with the declared error samples, or
with what the kernel for the CPU refuses where nobody describes the operator: executors, workspace
and references are to be freed on this way, too.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import torch

from opwright.check.finding import Kind
from opwright.check.observe.kept import count_kept_types, find_kept_lines
from opwright.check.row import Row
from opwright.check.row_context import EagerCallError, NotApplicableError
from opwright.check.samples import arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from opwright.check.row_context import RowContext
    from opwright.kit.declare.sample import Sample

__all__ = ["ROW"]

THREADS = Kind(
    "threads",
    "each call leaves a thread behind",
    "start threads once, for all calls, or join them before the call returns",
)
FILES = Kind(
    "file-descriptors",
    "each call leaves a file descriptor open",
    "close files where they are opened: with open(...), or a destructor in C++",
)
DEVICE = Kind(
    "device-memory",
    "each call keeps device memory",
    "keep no tensors in global variables, caches or ctx attributes; free what aclrtMalloc gave",
)
OBJECTS = Kind(
    "python-objects",
    "each call keeps Python objects",
    "keep nothing of a call in global variables, or bound the cache that does",
)
HOST = Kind(
    "host-memory",
    "each call keeps host memory",
    "free what was allocated: destroy aclTensor, aclScalar, arrays and executors on every way out",
)

WARM_UP = 150
BLOCK = 425  # with two blocks, 1,000 calls
BLOCKS = 2
# Before a leak is reported: blocks in a row in which it grows by as much for each call, however
# long they are. What others take and free at the same time matters less in longer ones.
LENGTHS = (2, 1, 2, 1, 4, 2, 4, 2, 8, 4, 8, 4)
IN_A_ROW = 4
LEAST_BLOCKS = 6  # before it is none
STEADY = 0.7  # of the most for a call, the least
LIMIT = 0.8  # seconds for all calls; slow operators are called less often
LEAST_BLOCK = 48
LEAST = 2  # of anything in a block
LEAST_CONFIRMED = 400  # calls of the blocks that confirm a leak of memory or objects
MOST_SAMPLES = 4
# Calls with a result that fill torch_npu's queues once; until then each call touches new pages
# (two rings, of 4,096 and 8,192 entries).
QUEUE = 8400
# Seconds for what other threads free, and between looks whether they still do.
SETTLING_TIME = 0.5
PAUSE = 0.002
NOISE = {"objects": 16, "malloc": 1024, "pages": 1 << 30}  # looks that differ by less are the same

# Quantities: kind, unit, and the growth for each call that is no noise any more.
LOOKS: dict[str, tuple[Kind, str, float]] = {
    "threads": (THREADS, "threads", 0.02),
    "files": (FILES, "file descriptors", 0.02),
    "device": (DEVICE, "bytes of device memory", 32),
    "free": (DEVICE, "bytes of device memory outside of torch", 32),
    "objects": (OBJECTS, "Python objects", 0.2),
    "malloc": (HOST, "bytes of host memory", 12),
    # Pages that are touched for the first time are noise; a mapping for each call is not.
    "pages": (HOST, "bytes of the process's pages", 3500),
}


class MallInfo(ctypes.Structure):
    """glibc's struct mallinfo2, sums over all threads' arenas."""

    _fields_: ClassVar = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


@cache
def libc() -> ctypes.CDLL:
    """Return the C library."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallinfo2"):  # glibc from 2.33 on
        library.mallinfo2.restype = MallInfo
    return library


def look(device: str) -> dict[str, int]:
    """Return how much the process uses, when other threads have freed what they are about to."""
    end = time.perf_counter() + SETTLING_TIME
    before = look_once(device)
    while True:
        time.sleep(PAUSE)
        now = look_once(device)
        is_still = all(abs(now[name] - n) <= NOISE.get(name, 0) for name, n in before.items())
        if is_still or time.perf_counter() > end:
            return now
        before = now


def look_once(device: str) -> dict[str, int]:
    """Return how much the process uses now."""
    gc.collect()
    used = {
        "threads": len(os.listdir("/proc/self/task")),  # noqa: PTH208 - names are all that is wanted
        "files": len(os.listdir("/proc/self/fd")),  # noqa: PTH208
        "objects": sys.getallocatedblocks(),
    }
    if hasattr(libc(), "mallinfo2"):
        found = libc().mallinfo2()
        used["malloc"] = found.uordblks + found.hblkhd
    with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123 - a Path is an object more
        used["pages"] = int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    if device != "cpu":
        module = torch.get_device_module(device)
        allocated = module.memory_allocated()
        free, total = module.mem_get_info()
        used["device"] = allocated
        used["free"] = total - free - module.memory_reserved()
    return used


@contextmanager
def freeze_collections() -> Iterator[None]:
    """Let garbage collections look at what is made from now on alone; they take no time then."""
    was_frozen = gc.get_freeze_count() > 0  # as workers are, which have torch in it
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        if not was_frozen:
            gc.unfreeze()


def run(context: RowContext) -> None:
    """Call, look, and call again."""
    calls = (
        list_refused_calls(context) if context.column == "refused" else list_accepted_calls(context)
    )
    if not calls:
        message = "the declaration has no error samples"
        raise NotApplicableError(context.samples.why_none() or message)
    fill_queue(context.device)
    with freeze_collections():
        examine(context, calls)


def list_accepted_calls(context: RowContext) -> list[tuple[Sample, Callable[[], object]]]:
    """Return calls with arguments that differ in what is given."""
    found: list[tuple[Sample, Callable[[], object]]] = []
    for sample in context.samples.of({"presence", "length"}, 0):
        if len(found) == MOST_SAMPLES:
            break
        values = context.arguments(sample)
        context.call(values, sample)  # an error is reported as such
        context.examine(lambda _: None, sample)
        found.append((sample, lambda values=values: context.subject.call(values)))  # type: ignore[misc]
    return found


def list_refused_calls(context: RowContext) -> list[tuple[Sample, Callable[[], object]]]:
    """Return calls with the error samples."""

    def refused(sample: Sample) -> Callable[[], object]:
        values = arguments(context.subject.operator, sample, context.device)

        def call() -> None:
            try:
                context.subject.call(values)
                context.synchronize()
            except Exception:  # noqa: BLE001, S110 - row errors looks at it
                pass

        return call

    found: list[tuple[Sample, Callable[[], object]]] = []
    for sample in context.samples.error_samples(MOST_SAMPLES):
        context.examine(lambda _: None, sample)
        found.append((sample, refused(sample)))
    return found


@cache
def fill_queue(device: str) -> None:
    """Fill torch_npu's queues of calls and of freed memory once in this process."""
    if device == "cpu":
        return
    one = torch.ones(1, device=device)
    for _ in range(QUEUE):
        torch.add(one, one)
    torch.get_device_module(device).synchronize()


def examine(context: RowContext, calls: Sequence[tuple[Sample, Callable[[], object]]]) -> None:
    """Call in blocks, and compare what the process uses after each."""

    def block(count: int) -> None:
        for index in range(count):
            calls[index % len(calls)][1]()
        context.calls += count
        try:
            context.synchronize()
        except RuntimeError as error:
            raise EagerCallError(calls[0][0], error) from error

    start = time.perf_counter()
    first = measure_growth(context, block, LEAST_BLOCK)
    each = (time.perf_counter() - start) / LEAST_BLOCK
    count = max(LEAST_BLOCK, min(BLOCK, int(LIMIT / each / (BLOCKS + 0.4))))
    if max(first["threads"], first["files"]) >= LEAST_BLOCK // 2:
        count = LEAST_BLOCK  # before the process has too many
    block(max(len(calls), min(WARM_UP, count) - LEAST_BLOCK))
    growth = [Growth(count, measure_growth(context, block, count)) for _ in range(BLOCKS)]
    found = find_leaks(growth)
    if found:
        if not {"threads", "files"} & set(found):
            count = max(count, LEAST_CONFIRMED)
        growth = confirm(context, block, count)
    context.details["growth for each call"] = "\n".join(
        ", ".join(f"{LOOKS[name][1]} {each.of_call(name):.2f}" for name in each.uses)
        for each in growth
    )
    names = steady(growth) if found else []
    lines: list[str] = []
    if "objects" in names:
        lines = find_kept_lines(block, count, LOOKS["objects"][2])
        if not lines:
            names.remove("objects")
    if names:
        parts = (
            ("kept objects for each call", count_kept_types(block, count)),
            ("made at", ", ".join(lines)),
        )
        details = [f"; {key}: {text}" for key, text in parts if text]
        report_growth(context, calls[0][0], names, growth, details)


def confirm(context: RowContext, block: Callable[[int], None], count: int) -> list[Growth]:
    """Return the growth in blocks of several lengths: until it is steady, or there is none."""
    growth: list[Growth] = []
    for length in LENGTHS:
        growth.append(Growth(count * length, measure_growth(context, block, count * length)))
        last = growth[-IN_A_ROW:]
        if len(last) == IN_A_ROW and steady(last):
            break
        if len(growth) >= LEAST_BLOCKS and not find_leaks(
            last
        ):  # one block may have been disturbed
            break
    return growth[-IN_A_ROW:]


def measure_growth(context: RowContext, block: Callable[[int], None], count: int) -> dict[str, int]:
    """Return by how much a block of calls lets each use grow."""
    before = look(context.device)
    block(count)
    after = look(context.device)
    return {name: after[name] - before[name] for name in before}


@dataclass(frozen=True, slots=True)
class Growth:
    """By how much a block of `calls` calls let each use grow."""

    calls: int
    uses: dict[str, int]

    def of_call(self, name: str) -> float:
        """Return the growth for each call."""
        return self.uses[name] / self.calls


def find_leaks(growth: Sequence[Growth]) -> list[str]:
    """Return what grew in every block, in the order of LOOKS."""
    return [
        name
        for name, (_, _, least) in LOOKS.items()
        if name in growth[0].uses
        and all(each.uses[name] >= LEAST and each.of_call(name) >= least for each in growth)
    ]


def steady(growth: Sequence[Growth]) -> list[str]:
    """Return what grew by as much for each call in every block; what fades is no leak."""
    return [
        name
        for name in find_leaks(growth)
        if min(each.of_call(name) for each in growth)
        >= STEADY * max(each.of_call(name) for each in growth)
    ]


def report_growth(
    context: RowContext,
    sample: Sample,
    names: Sequence[str],
    growth: Sequence[Growth],
    more: Sequence[str],
) -> None:
    """Report a leak: the first kind in the order of LOOKS, with all that grows."""
    parts = [f"{min(each.of_call(name) for each in growth):.3g} {LOOKS[name][1]}" for name in names]
    context.report(
        LOOKS[names[0]][0],
        expected=f"as much in use after {growth[0].calls} calls as before",
        got=f"{', '.join(parts)} more for each call, in each of {len(growth)} blocks of "
        f"{min(each.calls for each in growth)} calls or more{''.join(more)}",
        sample=sample,
        script=SCRIPTS[LOOKS[names[0]][0].name] if context.column == "eager" else (),
    )


def script(measure: str, most: int, first: Sequence[str] = ()) -> tuple[str, ...]:
    """Return lines that compare a measure before and after 1,000 calls."""
    return (
        "import gc",
        *first,
        "values = arguments('npu')",
        "def used():",
        "    torch.npu.synchronize()",
        "    gc.collect()",
        f"    return {measure}",
        "for _ in range(200):",
        "    operator(**values)",
        "before = used()",
        "for _ in range(1000):",
        "    operator(**values)",
        "growth = used() - before",
        f"assert growth < {most}, growth",
    )


STRUCT = (
    "import ctypes",
    "class Info(ctypes.Structure):",
    "    _fields_ = [(f'f{i}', ctypes.c_size_t) for i in range(10)]  # struct mallinfo2",
    "mallinfo2 = ctypes.CDLL(None).mallinfo2",
    "mallinfo2.restype = Info",
)
SCRIPTS: dict[str, tuple[str, ...]] = {
    THREADS.name: script("len(os.listdir('/proc/self/task'))", 20, ("import os",)),
    FILES.name: script("len(os.listdir('/proc/self/fd'))", 20, ("import os",)),
    DEVICE.name: script(
        "torch.npu.memory_allocated() + torch.npu.mem_get_info()[1] - torch.npu.mem_get_info()[0]"
        " - torch.npu.memory_reserved()",
        32_000,
    ),
    OBJECTS.name: script("sys.getallocatedblocks()", 200, ("import sys",)),
    HOST.name: script("mallinfo2().f7 + mallinfo2().f4", 16_000, STRUCT),
}

ROW = Row(
    name="leaks",
    title="1,000 calls give back what they take",
    kinds=(THREADS, FILES, DEVICE, OBJECTS, HOST),
    run=run,
    columns=("eager", "refused"),
)
