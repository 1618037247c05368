"""Threads and streams that call the operator at once get what one caller alone gets.

Column `threads`: eight threads, each on a stream of its own and with values of its own, call the
operator again and again, start together, and hand results to each other, so that tensors are freed
by another thread than the one that made them. Every result is compared, bit by bit, with that of
the same call made alone. What shows is a buffer or a variable that calls share: a static scratch
buffer in a kernel, a cache without a lock, a seed.

Column `streams`: one thread calls the operator on one of two streams in turn, while the default
stream is busy. The other stream waits for an event of the first and copies the result. What shows
is a kernel that is launched on another stream than the current one: the event comes too early.

Both run with a small and with a larger sample. Operators whose results differ when one thread calls
them again are run, but not compared. A call that does not come back within 20 seconds is reported
with the stacks of all threads.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch

from opwright.check.finding import Kind
from opwright.check.observe.tensors import copy_arguments, first_unequal
from opwright.check.row import Row
from opwright.check.row_context import EagerCallError, NotApplicableError
from opwright.check.samples.specs import element_count, specs_of
from opwright.check.subject import flat
from opwright.kit.declare.sample import TensorSpec
from opwright.kit.live.arguments import tensors_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.check.finding import Finding
    from opwright.check.row_context import RowContext
    from opwright.kit.declare.sample import Sample, Value
    from opwright.kit.live.arguments import Values

__all__ = ["ROW"]

DIFFERENT = Kind(
    "different-results",
    "results differ when several threads call the operator at once",
    "let each call compute in memory of its own: no static or global buffers, or a lock; a "
    "workspace that phase 1 asks for",
)
RAISES = Kind(
    "raises",
    "the operator raises when several threads call it at once",
    "guard what calls share with a lock, or let them share nothing",
)
STREAM = Kind(
    "wrong-stream",
    "the operator does not run on the current stream",
    "launch on c10_npu::getCurrentNPUStream(), as EXEC_NPU_CMD does; in Python leave the stream "
    "as it is",
)
DEADLOCK = Kind(
    "deadlock",
    "calls at once do not come back",
    "take locks in one order, and never wait for the device or for the GIL while holding one",
)

THREADS = 8
ROUNDS = 40  # of each thread, for the small sample
TIME = 0.35  # seconds for the rounds of one sample; slow operators have fewer
LEAST_ROUNDS = 4
LEAST_SIZE = 2  # of an axis that is made longer
MOST_ELEMENTS = 1 << 20  # of the larger sample
MOST_TOGETHER = 1 << 23  # elements of all arguments of all calls
ARRIVAL = 300.0  # seconds until all threads are ready to start
TIMEOUT = 20.0  # seconds for all threads, from then on
BUSY, MATRICES = 256, 6  # size and number of the products that keep the default stream busy
TRIES = 4  # of column `streams`
AGAIN = 20  # calls alone, before a difference is reported

Results = dict[str, torch.Tensor]


def run(context: RowContext) -> None:
    """Call a small and a larger sample."""
    if context.device == "cpu":
        message = "the CPU has no streams"
        raise NotApplicableError(message)
    examine = examine_streams if context.column == "streams" else examine_threads
    for sample in choose_samples(context):  # the smaller one first: a race is not made smaller
        found = context.examine(lambda sample: examine(context, sample), sample)
        if found is not None:
            context.findings.append(found)
            return


def choose_samples(context: RowContext) -> list[Sample]:
    """Return the first sample and a larger one."""
    found = list(context.samples.of({"size", "length"}, 6))
    if not found:
        raise NotApplicableError(context.samples.why_none() or "there are no samples")
    largest = max(found, key=lambda sample: elements(context.arguments(sample, "cpu")))
    larger = next(filter(None, (enlarge(context, largest, by) for by in (2048, 128))), largest)
    return [found[0], larger] if larger != found[0] else found[:1]


def enlarge(context: RowContext, sample: Sample, factor: int) -> Sample | None:
    """Return a sample whose largest size is larger by a factor; None if the rules refuse it."""
    rules = context.subject.rules
    sizes = [size for spec in specs_of(sample) for size in spec.shape]
    if rules is None or not sizes or max(sizes) < LEAST_SIZE:
        return None

    def larger(value: Value) -> Value:
        if isinstance(value, tuple):
            return tuple(map(larger, value))
        if not isinstance(value, TensorSpec):
            return value
        shape = tuple(size * factor if size == max(sizes) else size for size in value.shape)
        return value.with_shape(shape)

    if element_count(sample) * factor > MOST_ELEMENTS:
        return None
    made = replace(sample, values=tuple((name, larger(value)) for name, value in sample.values))
    try:
        values = context.arguments(made)
        rules.check(values)
        context.call(values, made)
    except Exception:  # noqa: BLE001 - the operator does not take it
        return None
    return made if elements(values) <= MOST_ELEMENTS else None


def elements(values: Values) -> int:
    """Return how many elements the tensors have."""
    return sum(each.numel() for value in values.values() for each in tensors_in(value))


@dataclass
class Caller:
    """A thread that calls the operator.

    Parameters
    ----------
    values
        Its arguments on the NPU; those of no two callers have the same values, where the sample
        allows it.
    wanted
        What a call with them gives if nobody else calls; None if that differs from call to call.
    """

    index: int
    values: Values
    wanted: Results | None
    got: list[Results] = field(default_factory=list)
    error: BaseException | None = None


def examine_threads(context: RowContext, sample: Sample) -> Finding | None:
    """Let threads call at once, and compare."""
    callers = [caller(context, sample, index) for index in range(THREADS)]
    if any(each.wanted is None for each in callers):
        context.details["results"] = "differ from call to call: they are not compared"
    start = time.perf_counter()
    context.call(copy_arguments(callers[0].values), sample)
    each = time.perf_counter() - start
    room = MOST_TOGETHER // max(1, THREADS * elements(callers[0].values))
    rounds = max(LEAST_ROUNDS, min(ROUNDS, room, int(TIME / each / THREADS)))
    stacks = run_threads(context, callers, rounds)
    context.calls += rounds * THREADS
    if stacks is not None:
        return context.finding(
            DEADLOCK,
            expected=f"{THREADS} threads with {rounds} calls each end within {TIMEOUT:g} s",
            got=f"some do not; their stacks:\n{stacks}",
            sample=sample,
            script=SCRIPT,
        )
    for one in callers:
        if one.error is not None:
            return context.finding(
                RAISES,
                expected=f"no error in {THREADS} threads, as in one",
                got=f"thread {one.index}: {type(one.error).__name__}: {one.error}",
                sample=sample,
                error=one.error,
                script=SCRIPT,
            )
    found = compare(context, sample, callers, rounds)
    # Where it runs on a stream of its own choice, that is what is wrong.
    return found and (examine_streams(context, sample) or found)


def caller(context: RowContext, sample: Sample, index: int) -> Caller:
    """Return a caller with what it gets when it calls alone."""
    values = context.arguments(sample.with_seed(sample.seed + index))
    results = []
    for _ in range(2):
        given = copy_arguments(values)
        try:
            returned = context.call(given, sample)
        except EagerCallError:
            if index == 0:
                raise
            return caller(context, sample, 0)  # its values are not allowed
        results.append(copy_to_host(context.subject.computed(returned, given)))
    is_steady = first_unequal(*results) is None
    return Caller(index, values, results[0] if is_steady else None)


def copy_to_host(results: dict[str, Any]) -> Results:
    """Return copies of results on the CPU."""
    return {name: each.detach().cpu() for name, each in flat(results).items()}


def run_threads(context: RowContext, callers: Sequence[Caller], rounds: int) -> str | None:
    """Run all callers at once; return the stacks if they do not end."""
    npu = torch.get_device_module(context.device)
    arrived, start = threading.Semaphore(0), threading.Event()
    handed: deque[object] = deque(maxlen=len(callers))  # the thread that adds frees the oldest

    def work(one: Caller) -> None:
        try:
            stream = npu.Stream()
            with npu.stream(stream):
                given = [copy_arguments(one.values) for _ in range(rounds)]
                stream.synchronize()
                arrived.release()
                start.wait()
                for values in given:
                    returned = context.subject.call(values)
                    results = flat(context.subject.computed(returned, values))
                    one.got.append({name: each.detach().cpu() for name, each in results.items()})
                    handed.append((returned, values))
                stream.synchronize()
        except BaseException as error:  # noqa: BLE001 - reported as a finding
            one.error = error
            arrived.release()  # if it did not come so far

    threads = [
        threading.Thread(target=work, args=(each,), daemon=True, name=f"caller {each.index}")
        for each in callers
    ]
    for thread in threads:
        thread.start()
    end = time.monotonic() + ARRIVAL
    for _ in threads:
        arrived.acquire(timeout=max(0.0, end - time.monotonic()))
    start.set()
    end = time.monotonic() + TIMEOUT
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    waiting = [thread for thread in threads if thread.is_alive()]
    return stacks_of(waiting) if waiting else None


def stacks_of(threads: Sequence[threading.Thread]) -> str:
    """Return where threads are."""
    frames = sys._current_frames()  # noqa: SLF001 - the documented way to stacks of other threads
    return "\n".join(
        f"{thread.name}:\n{''.join(traceback.format_stack(frames[thread.ident], 6))}"
        for thread in threads
        if thread.ident in frames
    )


def compare(
    context: RowContext, sample: Sample, callers: Sequence[Caller], rounds: int
) -> Finding | None:
    """Report the first result that is not what its caller got alone."""
    wrong = [
        (one, round_, unequal)
        for one in callers
        if one.wanted is not None
        for round_, got in enumerate(one.got)
        if (unequal := first_unequal(one.wanted, got)) is not None
    ]
    if not wrong or not is_steady(context, sample, wrong[0][0]):
        return None
    one, round_, (name, text) = wrong[0]
    others = [
        other.index
        for other in callers
        if other.wanted is not None and first_unequal(other.wanted, one.got[round_]) is None
    ]
    whose = f"; that is the result of thread {others[0]}" if others else ""
    return context.finding(
        DIFFERENT,
        expected=f"{name} as in a call alone",
        got=f"{text} (alone, then beside others), in thread {one.index}, call {round_}{whose}; "
        f"{len(wrong)} of {rounds * len(callers)} calls differ",
        sample=sample,
        script=SCRIPT,
    )


def is_steady(context: RowContext, sample: Sample, one: Caller) -> bool:
    """Return whether a caller still gets what it wants when it calls alone."""
    for _ in range(AGAIN):
        given = copy_arguments(one.values)
        found = copy_to_host(context.subject.computed(context.call(given, sample), given))
        if one.wanted is None or first_unequal(one.wanted, found) is not None:
            context.details["results"] = "differ from call to call: they are not compared"
            return False
    return True


def examine_streams(context: RowContext, sample: Sample) -> Finding | None:
    """Use a result on another stream, after an event."""
    alone = caller(context, sample, 0)
    if alone.wanted is None:
        context.details["results"] = "differ from call to call: they are not compared"
    npu = torch.get_device_module(context.device)
    streams = [npu.Stream() for _ in range(2)]
    busy = torch.ones(BUSY, BUSY, device=context.device)
    for attempt in range(TRIES):
        first, second = streams[attempt % 2], streams[(attempt + 1) % 2]
        given = copy_arguments(alone.values)
        context.synchronize()
        for _ in range(MATRICES):
            busy = busy @ busy * 0
        with npu.stream(first):
            context.calls += 1
            returned = context.subject.call(given)
            done = first.record_event()
        with npu.stream(second):
            second.wait_event(done)
            got = {
                name: each.detach().clone()
                for name, each in flat(context.subject.computed(returned, given)).items()
            }
        second.synchronize()
        try:
            context.synchronize()
        except RuntimeError as error:
            raise EagerCallError(sample, error) from error
        found = {name: each.cpu() for name, each in got.items()}
        unequal = None if alone.wanted is None else first_unequal(alone.wanted, found)
        if unequal is not None and is_steady(context, sample, alone):
            return context.finding(
                STREAM,
                expected=f"{unequal[0]} is there when an event of the current stream has come",
                got=f"{unequal[1]} (alone, then copied after the event)",
                sample=sample,
                script=STREAM_SCRIPT,
            )
    return None


SCRIPT = (
    "import threading",
    "def one(values):",
    "    with torch.npu.stream(torch.npu.Stream()):",
    "        result = operator(**values)",
    "        result = result if isinstance(result, torch.Tensor) else result[0]",
    "        return result.cpu()",
    "def scaled(k):",
    "    values = arguments('npu')",
    "    return {n: v * k if isinstance(v, torch.Tensor) and v.is_floating_point() else v",
    "            for n, v in values.items()}",
    "wrong = []",
    "def work(k):",
    "    wanted = alone[k]",
    "    for _ in range(200):",
    "        if not torch.equal(one(scaled(k)), wanted):",
    "            wrong.append(k)",
    "alone = {k: one(scaled(k)) for k in range(1, 9)}",
    "threads = [threading.Thread(target=work, args=(k,)) for k in alone]",
    "for each in threads: each.start()",
    "for each in threads: each.join()",
    "assert not wrong, f'{len(wrong)} of 1600 calls differ'",
)
STREAM_SCRIPT = (
    "wanted = operator(**arguments('npu'))",
    "torch.npu.synchronize()",
    "values = arguments('npu')",
    "busy = torch.ones(500, 500).npu()",
    "one, two = torch.npu.Stream(), torch.npu.Stream()",
    "torch.npu.synchronize()",
    "for _ in range(20): busy = busy @ busy * 0",
    "with torch.npu.stream(one):",
    "    result = operator(**values)",
    "    event = one.record_event()",
    "with torch.npu.stream(two):",
    "    two.wait_event(event)",
    "    copy = result.clone()",
    "torch.npu.synchronize()",
    "assert torch.equal(copy.cpu(), wanted.cpu())",
)

ROW = Row(
    name="concurrency",
    title="threads and streams at once get what one caller gets",
    kinds=(DIFFERENT, RAISES, STREAM, DEADLOCK),
    run=run,
    columns=("threads", "streams"),
)
