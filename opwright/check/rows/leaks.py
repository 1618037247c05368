"""What a call takes, it gives back: no use of memory, objects, threads or files that grows.

The operator is called 1,000 times with a few samples in turn, in blocks: a first one to warm up,
then others after each of which the process is looked at:

* device memory: what torch_npu has given out, and what the device has left;
* host memory: what malloc has given out, in all threads, and the pages of the process;
* Python objects (after a garbage collection), threads, and file descriptors.

What grows in one block alone is a cache. What grows in every block, by about as much, is a leak; it
is told for each call. Column `refused` does the same with the declared error samples: executors,
workspace and references are to be freed on this way, too.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import torch

from opwright.check.bench import EagerCallError, NotApplicableError
from opwright.check.finding import Kind
from opwright.check.row import Row
from opwright.check.samples import arguments
from opwright.declare.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from opwright.check.bench import Bench

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
MORE_BLOCKS = 2  # before a leak is told
MOST_BLOCKS = 10  # while what looks like a leak fades
FADES = 0.9
LIMIT = 0.8  # seconds for all calls; slow operators are called less often
LEAST_BLOCK = 24
LEAST = 2  # of anything in a block
LEAST_TOLD = 400  # calls of the blocks that confirm a leak of memory or objects
MOST_SAMPLES = 4
# Calls with a result that fill torch_npu's queues once; until then each call touches new pages
# (torch_npu 2.13.0: two rings, of 4,096 and 8,192 entries).
QUEUE = 8400

# What is looked at: kind, unit, and how much for each call is no noise any more.
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
    """Return how much the process uses."""
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
def frozen() -> Iterator[None]:
    """Let garbage collections look at what is made from now on alone; they take no time then."""
    was_frozen = gc.get_freeze_count() > 0  # as workers are, which have torch in it
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        if not was_frozen:
            gc.unfreeze()


def run(bench: Bench) -> None:
    """Call, look, and call again."""
    calls = refused_calls(bench) if bench.column == "refused" else accepted_calls(bench)
    if not calls:
        message = "the declaration has no error samples"
        raise NotApplicableError(bench.samples.why_none() or message)
    fill_queue(bench.device)
    with frozen():
        examine(bench, calls)


def accepted_calls(bench: Bench) -> list[tuple[Sample, Callable[[], object]]]:
    """Return calls with arguments that differ in what is given."""
    found: list[tuple[Sample, Callable[[], object]]] = []
    for sample in bench.samples.of({"presence", "length"}, 0):
        if len(found) == MOST_SAMPLES:
            break
        values = bench.arguments(sample)
        bench.call(values, sample)  # an error is told as such
        bench.examine(lambda _: None, sample)
        found.append((sample, lambda values=values: bench.subject.call(values)))  # type: ignore[misc]
    return found


def refused_calls(bench: Bench) -> list[tuple[Sample, Callable[[], object]]]:
    """Return calls with the error samples."""

    def refused(sample: Sample) -> Callable[[], object]:
        values = arguments(bench.subject.operator, sample, bench.device)

        def call() -> None:
            try:
                bench.subject.call(values)
                bench.synchronize()
            except Exception:  # noqa: BLE001, S110 - row errors looks at it
                pass

        return call

    found: list[tuple[Sample, Callable[[], object]]] = []
    for error in bench.subject.operator.errors[:MOST_SAMPLES]:
        sample = Sample(error.values)
        bench.examine(lambda _: None, sample)
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


def examine(bench: Bench, calls: Sequence[tuple[Sample, Callable[[], object]]]) -> None:
    """Call in blocks, and compare what the process uses after each."""

    def block(count: int) -> None:
        for index in range(count):
            calls[index % len(calls)][1]()
        bench.calls += count
        try:
            bench.synchronize()
        except RuntimeError as error:
            raise EagerCallError(calls[0][0], error) from error

    start = time.perf_counter()
    first = grown(bench, block, LEAST_BLOCK)
    each = (time.perf_counter() - start) / LEAST_BLOCK
    count = max(LEAST_BLOCK, min(BLOCK, int(LIMIT / each / (BLOCKS + 0.4))))
    if max(first["threads"], first["files"]) >= LEAST_BLOCK // 2:
        count = LEAST_BLOCK  # before the process has too many
    block(max(len(calls), min(WARM_UP, count) - LEAST_BLOCK))
    growth = [Growth(count, grown(bench, block, count)) for _ in range(BLOCKS)]
    found = leaking(growth)
    if found and not {"threads", "files"} & set(found):
        count = max(count, LEAST_TOLD)
    if found:
        growth += [Growth(count, grown(bench, block, count)) for _ in range(MORE_BLOCKS)]
        while (names := leaking(growth)) and len(growth) < MOST_BLOCKS and fades(growth, names[0]):
            growth.append(Growth(count, grown(bench, block, count)))
    bench.details["growth for each call"] = "\n".join(
        ", ".join(f"{LOOKS[name][1]} {each.of_call(name):.2f}" for name in each.uses)
        for each in growth
    )
    names = leaking(growth)
    if names:
        tell(bench, calls[0][0], names, growth, kept_types(block, count))


def grown(bench: Bench, block: Callable[[int], None], count: int) -> dict[str, int]:
    """Return by how much a block of calls lets each use grow."""
    before = look(bench.device)
    block(count)
    after = look(bench.device)
    return {name: after[name] - before[name] for name in before}


@dataclass(frozen=True, slots=True)
class Growth:
    """By how much a block of `calls` calls let each use grow."""

    calls: int
    uses: dict[str, int]

    def of_call(self, name: str) -> float:
        """Return the growth for each call."""
        return self.uses[name] / self.calls


def leaking(growth: Sequence[Growth]) -> list[str]:
    """Return what grew in every block, in the order of LOOKS."""
    return [
        name
        for name, (_, _, least) in LOOKS.items()
        if name in growth[0].uses
        and all(each.uses[name] >= LEAST and each.of_call(name) >= least for each in growth)
    ]


def fades(growth: Sequence[Growth], name: str) -> bool:
    """Tell whether the last block let a use grow much less than the one before: no leak does."""
    return growth[-1].of_call(name) < FADES * growth[-2].of_call(name)


def kept_types(block: Callable[[int], None], count: int) -> str:
    """Return which Python objects a block of calls leaves, by type; objects without parts aside."""

    def types() -> Counter[str]:
        gc.collect()
        return Counter(type(each).__qualname__ for each in gc.get_objects())

    before = types()
    block(count)
    kept = [(n, name) for name, n in (types() - before).items() if n >= count // 4]
    return ", ".join(f"{n / count:.2g} {name}" for n, name in sorted(kept, reverse=True)[:4])


def tell(
    bench: Bench, sample: Sample, names: Sequence[str], growth: Sequence[Growth], types: str
) -> None:
    """Report a leak: the first kind in the order of LOOKS, with all that grows."""
    parts = [f"{min(each.of_call(name) for each in growth):.3g} {LOOKS[name][1]}" for name in names]
    kept = f"; kept objects for each call: {types}" if types else ""
    bench.report(
        LOOKS[names[0]][0],
        expected=f"as much in use after {growth[0].calls} calls as before",
        got=f"{', '.join(parts)} more for each call, in each of {len(growth)} blocks of "
        f"{min(each.calls for each in growth)} calls or more{kept}",
        sample=sample,
        script=SCRIPTS[LOOKS[names[0]][0].name] if bench.column == "eager" else (),
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
