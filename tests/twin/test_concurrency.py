"""Threads, streams, events, devices and forks, through torch_npu's own interface."""

from __future__ import annotations

import ctypes
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import opwright.twin  # noqa: F401  # before torch_npu

import torch  # isort: skip
import torch_npu  # isort: skip

from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from tests.twin import acl

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.twin

THREADS = 8


def in_threads(work: Callable[[int], None]) -> None:
    """Run work(0) … work(7) at once; the first exception is raised here."""
    start = threading.Barrier(THREADS)

    def run(number: int) -> None:
        start.wait()
        work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(run, range(THREADS)))


# ---- threads ----


def test_threads_on_streams_and_devices_of_their_own() -> None:
    def work(number: int) -> None:
        torch_npu.npu.set_device(number % 2)
        generator = torch.Generator().manual_seed(number)
        with torch_npu.npu.stream(torch_npu.npu.Stream()):
            for _ in range(50):
                a = torch.rand(64, 64, generator=generator)
                x = a.to("npu")
                result = (x @ x.t() + x).relu().sum(0)
                torch.testing.assert_close(result.cpu(), (a @ a.t() + a).relu().sum(0))

    in_threads(work)


def test_threads_on_one_stream() -> None:
    def work(number: int) -> None:
        x = torch.full((1000,), float(number)).to("npu")
        for _ in range(200):
            x = x + 1
        assert torch.equal(x.cpu(), torch.full((1000,), number + 200.0))

    in_threads(work)


def test_an_error_reaches_one_thread_and_the_others_go_on() -> None:
    errors: list[str] = []

    def work(number: int) -> None:
        with torch_npu.npu.stream(torch_npu.npu.Stream()):
            x = torch.arange(10.0).to("npu")
            for round_ in range(20):
                wrong = number == 3 and round_ == 10
                index = torch.tensor([10 if wrong else round_ % 10]).to("npu")
                try:
                    assert torch.index_select(x, 0, index).item() == round_ % 10
                except RuntimeError as error:
                    errors.append(str(error))

    in_threads(work)
    assert len(errors) == 1
    assert "aclnnIndexSelect: index out of range" in errors[0]


def test_threads_that_end_leave_their_results() -> None:
    results: dict[int, torch.Tensor] = {}

    def work(number: int) -> None:
        results[number] = torch.full((100,), float(number)).to("npu") * 2

    in_threads(work)
    assert [results[number][0].item() for number in range(THREADS)] == [0, 2, 4, 6, 8, 10, 12, 14]


def test_a_waiting_thread_gives_up_the_interpreter_lock() -> None:
    """The task ends only after Python code ran elsewhere, while the main thread synchronizes."""
    opened = threading.Event()
    waiting = threading.Event()

    def wait(_: object) -> None:  # on the stream's worker, with the lock
        waiting.set()
        assert opened.wait(timeout=300)

    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(wait)

    def open_it() -> None:
        assert waiting.wait(timeout=300)
        opened.set()

    stream = torch_npu.npu.Stream()
    event = torch_npu.npu.Event()
    assert acl.ascendcl.aclrtLaunchHostFunc(ctypes.c_void_p(stream.npu_stream), callback, None) == 0
    event.record(stream)
    opener = threading.Thread(target=open_it)
    assert not event.query()
    opener.start()
    stream.synchronize()
    assert event.query()
    opener.join()


# ---- the threads of one operator ----

SMALL: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
    lambda x: x.softmax(-1),
    lambda x: functional.layer_norm(x, (32,)),
    functional.gelu,
    lambda x: x @ x.transpose(-1, -2),
)


def most_workers() -> int:
    """Return how many threads compute for the stream that has the most.

    Threads take the name of the one that starts them. Some releases of torch_npu set the seed of a
    graph on the captured stream, before the capture.
    """
    names = [(each / "comm").read_text() for each in Path("/proc/self/task").iterdir()]
    return max(names.count(name) for name in names if name.startswith("npu0-stream"))


@pytest.mark.isolated
def test_small_operators_compute_on_the_worker_alone() -> None:
    """ATen divides these whatever their size: waking the threads takes longer than the work."""
    torch.set_num_threads(4)
    x = torch.ones(4, 8, 32).to("npu")
    for function in SMALL:
        function(x)
    graph = torch_npu.npu.NPUGraph()
    with torch_npu.npu.graph(graph):
        for function in SMALL:
            function(x)
    graph.replay()
    torch_npu.npu.synchronize()
    assert most_workers() == 1
    torch.ones(1024, 1024).to("npu").softmax(-1)
    torch_npu.npu.synchronize()
    assert most_workers() == torch.get_num_threads() == 4


# ---- streams and events ----


def test_a_stream_waits_for_an_event_of_another() -> None:
    producer, consumer = torch_npu.npu.Stream(), torch_npu.npu.Stream()
    for _ in range(20):
        made = torch_npu.npu.Event()
        with torch_npu.npu.stream(producer):
            x = torch.ones(300, 300, device="npu")
            for _ in range(3):
                x = x @ x / 300
            made.record()
        with torch_npu.npu.stream(consumer):
            consumer.wait_event(made)
            y = x + 1
        x.record_stream(consumer)
        torch_npu.npu.current_stream().wait_stream(consumer)
        torch.testing.assert_close(y.cpu(), torch.full((300, 300), 2.0))


def test_elapsed_time_and_queries() -> None:
    begin, end = torch_npu.npu.Event(enable_timing=True), torch_npu.npu.Event(enable_timing=True)
    assert begin.query()  # never recorded
    begin.record()
    x = torch.ones(500, 500, device="npu")
    for _ in range(10):
        x = x @ x / 500
    end.record()
    end.synchronize()
    assert begin.query()
    assert end.query()
    assert begin.elapsed_time(end) > 0
    torch_npu.npu.current_stream().synchronize()
    assert torch_npu.npu.current_stream().query()


def test_streams_are_distinct_and_belong_to_devices() -> None:
    first, second = torch_npu.npu.Stream("npu:0"), torch_npu.npu.Stream("npu:1")
    assert first.npu_stream != second.npu_stream
    assert (first.device.index, second.device.index) == (0, 1)
    with torch_npu.npu.stream(second):
        assert torch_npu.npu.current_device() == 1
        assert torch_npu.npu.current_stream() == second
    assert torch_npu.npu.current_device() == 0
    assert torch_npu.npu.current_stream() == torch_npu.npu.default_stream()


# ---- devices ----


def test_copies_between_devices() -> None:
    a = torch.arange(1000.0)
    for _ in range(50):
        x = a.to("npu:0")
        y = x.to("npu:1")
        z = (y * 2).to("npu:0")
        assert torch.equal((z + x).cpu(), a * 3)
        q = torch.empty(1000, device="npu:1")
        q.copy_(x, non_blocking=True)
        assert torch.equal(q.cpu(), a)


def test_copies_of_views_between_devices() -> None:
    """torch_npu copies these by itself; strided views need the legacy ViewCopy and AsStrided."""
    a = torch.arange(24).reshape(4, 6)
    x = a.to("npu:0")
    assert torch.equal(x[1:3].to("npu:1").cpu(), a[1:3])
    y = torch.zeros(4, 6, dtype=torch.int64, device="npu:1")
    y[2:].copy_(x[:2])
    assert torch.equal(y.cpu(), torch.cat((torch.zeros(2, 6, dtype=torch.int64), a[:2])))


def test_operands_on_two_devices_are_refused() -> None:
    with pytest.raises(RuntimeError, match="'other' lies on device 1"):
        torch.ones(2, device="npu:0") + torch.ones(2, device="npu:1")


def test_device_count_and_guard() -> None:
    assert torch_npu.npu.device_count() == 2
    with torch_npu.npu.device(1):
        assert torch.ones(1, device="npu").device.index == 1
    assert torch.ones(1, device="npu").device.index == 0


def gradients_of(*leaves: torch.Tensor) -> list[torch.Tensor]:
    return [leaf.grad for leaf in leaves if leaf.grad is not None]


def train_on_two_devices() -> None:
    """Let autograd, which has a thread for each device, bring gradients back from the other one.

    torch_npu has a task queue for each device. They are worked off in any order: a wait for an
    event can come before its record and after its destruction.
    """
    torch.manual_seed(0)
    host = [torch.randn(10, 5), torch.randn(10), torch.randn(5)]
    w, b, x = (t.clone().requires_grad_() for t in host)
    torch.autograd.backward((w.mv(x) + b).pow(2).sum())
    expected = gradients_of(w, b)

    w = host[0].to("npu:0").requires_grad_()
    b = host[1].to("npu:1").requires_grad_()
    x = host[2].to("npu:0")
    wrong = 0
    for i in range(200):
        w.grad = b.grad = None
        torch.autograd.backward((w.mv(x).to("npu:1") + b).pow(2).sum())
        if i % 10 == 0:
            for got, want in zip(gradients_of(w, b), expected, strict=True):
                wrong += not torch.allclose(got.cpu(), want, atol=1e-5)
    torch_npu.npu.synchronize(0)
    torch_npu.npu.synchronize(1)
    assert len(expected) == 2
    assert wrong == 0


@pytest.mark.isolated(OPWRIGHT_DEVICES="2")
def test_gradients_flow_between_devices() -> None:
    train_on_two_devices()


@pytest.mark.isolated(OPWRIGHT_DEVICES="2", TASK_QUEUE_ENABLE="0")
def test_gradients_flow_between_devices_without_a_task_queue() -> None:
    train_on_two_devices()


@pytest.mark.isolated(OPWRIGHT_DEVICES="2", TASK_QUEUE_ENABLE="2")
def test_gradients_flow_between_devices_with_phase_one_in_the_task_queue() -> None:
    train_on_two_devices()


@pytest.mark.isolated(OPWRIGHT_DEVICES="2", PER_STREAM_QUEUE="1")
def test_gradients_flow_between_devices_with_a_queue_for_each_stream() -> None:
    train_on_two_devices()


@pytest.mark.isolated(OPWRIGHT_DEVICES="2", OPWRIGHT_SYNC="1")
def test_gradients_flow_between_devices_when_each_task_runs_at_its_call() -> None:
    train_on_two_devices()


@pytest.mark.isolated(OPWRIGHT_DEVICES="2")
def test_threads_train_over_two_devices() -> None:
    """Events of eight programs meet in the two task queues."""

    def work(number: int) -> None:
        generator = torch.Generator().manual_seed(number)
        host = torch.randn(10, 5, generator=generator), torch.randn(5, generator=generator)
        w = host[0].to("npu:0").requires_grad_()
        x = host[1].to("npu:0")
        b = torch.zeros(10, device="npu:1", requires_grad=True)
        for _ in range(25):
            w.grad = b.grad = None
            torch.autograd.backward((w.mv(x).to("npu:1") + b).pow(2).sum())
        slope = 2 * host[0].mv(host[1])
        expected = torch.outer(slope, host[1]), slope
        for got, want in zip(gradients_of(w, b), expected, strict=True):
            torch.testing.assert_close(got.cpu(), want, atol=1e-5, rtol=1e-5)

    in_threads(work)


# ---- processes ----

FORKS = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
REFUSED = 7  # the exit code of a child whose call is refused because of the fork


class Numbers(Dataset[torch.Tensor]):
    """Rows of ten times the same number."""

    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((10,), float(index))


@FORKS
@pytest.mark.isolated
def test_data_loader_with_forked_workers() -> None:
    """The workers are forked from a process that has used the device, and do not use it."""
    total = torch.zeros((), device="npu")
    loader = DataLoader(
        Numbers(), batch_size=8, num_workers=2, pin_memory=True, multiprocessing_context="fork"
    )
    for batch in loader:
        assert batch.is_pinned()
        total += batch.to("npu", non_blocking=True).sum()
    assert total.item() == 10 * sum(range(64))


@pytest.mark.parametrize(
    "count",
    [
        pytest.param(1, marks=pytest.mark.isolated(ASCEND_RT_VISIBLE_DEVICES="1")),
        pytest.param(2, marks=pytest.mark.isolated(ASCEND_RT_VISIBLE_DEVICES="0,1")),
    ],
)
def test_torch_npu_counts_the_visible_devices(count: int) -> None:
    torch.ones(1).to("npu")
    assert torch_npu.npu.device_count() == count


def call_in_a_child(call: Callable[[], object]) -> int:
    """Call it in a forked child; return the child's exit code."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            call()
        except RuntimeError as error:
            code = REFUSED if "fork" in str(error) else code
        finally:
            os._exit(code)  # whatever it raised: pytest goes on in the parent only
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@FORKS
@pytest.mark.isolated
def test_a_forked_child_is_refused_and_the_parent_goes_on() -> None:
    x = torch.ones(4).to("npu") + 1
    torch_npu.npu.synchronize()
    calls: dict[str, Callable[[], object]] = {
        "operator": lambda: x + 1,
        "copy": x.cpu,
        "new": lambda: torch.ones(2).to("npu"),
    }
    codes = {name: call_in_a_child(call) for name, call in calls.items()}
    assert codes == dict.fromkeys(calls, REFUSED)
    assert (x + 1).cpu().tolist() == [3.0, 3.0, 3.0, 3.0]


@pytest.mark.isolated
def test_one_thread_empties_the_cache_while_others_allocate() -> None:
    """torch_npu waits in empty_cache() with its allocator's lock, and others want that one."""
    done = threading.Event()

    def empty() -> None:
        while not done.is_set():
            torch_npu.npu.empty_cache()

    def allocate() -> None:
        for _ in range(5):
            for size in range(1, 12):
                torch.add(torch.empty(size << 20, device="npu").fill_(1), 1)

    with ThreadPoolExecutor(3) as pool:
        emptying = pool.submit(empty)
        try:
            for each in [pool.submit(allocate) for _ in range(2)]:
                each.result()
        finally:
            done.set()
        emptying.result()
