"""Bad use of captures: an exception names the operator or the call, and the process goes on."""

from __future__ import annotations

import gc
import re
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu

from tests.twin.aclnn_calls import AclnnError, Scalar, call
from tests.twin.graphs.captures import capture, check_usable, new_stream, refusal
from tests.twin.memory import beyond_the_cache

from opwright import twin  # isort: skip

if TYPE_CHECKING:
    from collections.abc import Callable


def values() -> torch.Tensor:
    return torch.arange(8.0, device="npu")


def wait_for_recorded_event() -> None:
    event = torch_npu.npu.Event()
    event.record()
    event.synchronize()


def query_recorded_event() -> None:
    event = torch_npu.npu.Event()
    event.record()
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:  # torch_npu answers itself until its thread has recorded it
        event.query()
        time.sleep(0.001)


def choose_in_python(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if x.sum() > 0 else x


WAITS: dict[str, tuple[Callable[[torch.Tensor], object], str]] = {
    "synchronize": (
        lambda _: torch_npu.npu.synchronize(),
        "aclrtSynchronizeDeviceWithTimeout: cannot wait for the device",
    ),
    "stream.synchronize": (
        lambda _: torch_npu.npu.current_stream().synchronize(),
        "aclrtSynchronizeStreamWithTimeout: cannot wait for stream",
    ),
    "stream.query": (
        lambda _: torch_npu.npu.current_stream().query(),
        "aclrtStreamQuery: cannot query stream",
    ),
    "event.synchronize": (
        lambda _: wait_for_recorded_event(),
        "aclrtSynchronizeEvent: cannot wait for an event that was recorded inside of a capture",
    ),
    "event.query": (
        lambda _: query_recorded_event(),
        "aclrtQueryEventStatus: cannot query an event that was recorded inside of a capture",
    ),
    "item": (lambda x: x.sum().item(), r".item\(\), .cpu\(\), printing a tensor, synchronize"),
    "if": (choose_in_python, "aclrtSynchronizeStreamWithTimeout: cannot wait for stream"),
    "cpu": (lambda x: x.cpu(), "aclrtMemcpy: a synchronous copy or fill runs at once"),
    "tolist": (lambda x: x.tolist(), "aclrtMemcpy: a synchronous copy or fill runs at once"),
    "to npu": (lambda _: torch.ones(2).to("npu"), "aclrtMemcpy: a synchronous copy"),
    "tensor": (lambda _: torch.tensor([1, 2], device="npu"), "aclrtMemcpy: a synchronous copy"),
    "empty_cache": (
        lambda _: torch_npu.npu.empty_cache(),
        "aclrtSynchronizeDeviceWithTimeout: cannot wait for the device",
    ),
    "pageable copy": (
        lambda x: x.copy_(torch.ones(8), non_blocking=True),
        "aclrtMemcpyAsync: an asynchronous copy needs pinned host memory",
    ),
}


@pytest.mark.filterwarnings("ignore:aclrtSynchronizeStreamWithTimeout")
@pytest.mark.parametrize("name", WAITS)
def test_waiting_inside_of_a_capture(name: str) -> None:
    body, message = WAITS[name]
    x = values()
    assert re.search(message, refusal(lambda: body(x + 1)))
    assert x.tolist() == list(range(8))


SHAPES_FROM_VALUES: dict[str, tuple[Callable[[torch.Tensor], object], str]] = {
    "nonzero": (lambda x: (x > 3).nonzero(), "aclnnNonzero"),
    "unique": (torch.unique, "aclnnUnique2"),
    "masked_select": (lambda x: torch.masked_select(x, x > 3), "aclnnMaskedSelect"),
    "index by mask": (lambda x: x[x > 3], "aclnnNonzeroV2"),
    "print": (str, "aclnnMaskedSelect"),
}


@pytest.mark.parametrize("name", SHAPES_FROM_VALUES)
def test_operators_whose_result_has_a_shape_from_values(name: str) -> None:
    body, operator = SHAPES_FROM_VALUES[name]
    x = values()
    message = refusal(lambda: body(x))
    assert f"{operator}: cannot be captured: the shape of its result depends on values" in message
    assert "aclmdlRICaptureEnd" not in message  # the call itself raises


def test_a_refused_wait_leaves_the_capture_as_it_is() -> None:
    """As CANN does: only the call that is refused is lost."""
    x = values()

    def step() -> torch.Tensor:
        y = x + 1
        with pytest.raises(RuntimeError, match="aclrtSynchronizeStreamWithTimeout"):
            y[0].item()
        return y * 2

    graph, y = capture(step)
    graph.replay()
    assert y.tolist() == [2 * (value + 1) for value in range(8)]


def test_a_legacy_operator() -> None:
    x = values()
    message = refusal(lambda: torch_npu.npu_broadcast(x, (2, 8)))
    assert "Cannot run aclop operators during NPU graph capture" in message
    assert "BroadcastTo" in message


@pytest.mark.filterwarnings("ignore:CAUTION")
def test_an_operator_that_falls_back_to_the_cpu() -> None:
    x = values()
    assert "aclrtMemcpy: a synchronous copy" in refusal(lambda: torch.special.i1e(x))


def test_an_operator_that_refuses_its_arguments() -> None:
    """Phase 1 runs in the capture, so that the caller gets the refusal there."""
    x = values()

    def step() -> None:
        x.add_(1)
        with pytest.raises(AclnnError, match="aclnnAdd"):
            call("aclnnAdd", x, None, Scalar(1.0), x)
        x.add_(2)

    graph, _ = capture(step)
    graph.replay()
    assert x.tolist() == list(range(3, 11))


def test_an_exception_of_the_user() -> None:
    x = values()

    def step() -> None:
        x.add_(1)
        message = "mine"
        raise ValueError(message)

    with pytest.raises(ValueError, match="mine"):
        capture(step)
    check_usable()
    assert x.tolist() == list(range(8))


# ---- beginnings and ends ----


def test_one_capture_per_stream() -> None:
    stream = new_stream()
    first, second = torch_npu.npu.NPUGraph(), torch_npu.npu.NPUGraph()
    x = values()
    torch_npu.npu.synchronize()
    with torch_npu.npu.stream(stream):
        first.capture_begin()
        with pytest.raises(RuntimeError, match=r"aclmdlRICaptureBegin: stream \d+ is being captur"):
            second.capture_begin()
        y = x + 1
        first.capture_end()
        first.replay()
        assert y.tolist() == list(range(1, 9))
    check_usable(stream)


def test_a_graph_is_captured_once() -> None:
    graph, y = capture(lambda: torch.ones(3, device="npu"))
    with (
        torch_npu.npu.stream(new_stream()),
        pytest.raises(RuntimeError, match="already owns a captured graph"),
    ):
        graph.capture_begin()
    graph.replay()
    assert y.tolist() == [1, 1, 1]
    check_usable()


def test_the_default_stream_is_not_captured() -> None:
    with pytest.raises(RuntimeError, match="must be captured on a non-default stream"):
        torch_npu.npu.NPUGraph().capture_begin()
    check_usable()


def test_an_end_without_a_beginning() -> None:
    # torch_npu 2.13.0 reads a device number that is not set yet, before it looks at CANN's answer.
    message = "aclmdlRICaptureEnd: stream|Invalid device argument|num_active_captures_"
    with (
        torch_npu.npu.stream(new_stream()),
        pytest.raises(RuntimeError, match=message),
    ):
        torch_npu.npu.NPUGraph().capture_end()
    check_usable()


def test_an_end_on_another_stream() -> None:
    stream = new_stream()
    graph = torch_npu.npu.NPUGraph()
    with torch_npu.npu.stream(stream):
        graph.capture_begin()
    with pytest.raises(RuntimeError, match="Capture must end on the same stream it began on"):
        graph.capture_end()
    with torch_npu.npu.stream(stream):
        graph.capture_end()
    check_usable(stream)


def test_a_stream_that_is_not_joined() -> None:
    x = values()
    side = new_stream()

    def step() -> None:
        side.wait_stream(torch_npu.npu.current_stream())
        with torch_npu.npu.stream(side):
            x.mul_(3)

    assert re.search(r"not joined again after aclnn\w*Mul", refusal(step))
    check_usable(side)


def test_an_event_from_outside() -> None:
    outside = torch_npu.npu.Event()
    outside.record()
    message = refusal(lambda: torch_npu.npu.current_stream().wait_event(outside))
    assert "aclrtStreamWaitEvent: stream" in message
    assert "was not recorded in the capture" in message


def test_an_event_from_inside() -> None:
    inside = torch_npu.npu.Event()
    capture(inside.record)
    with pytest.raises(RuntimeError, match="aclrtSynchronizeEvent: cannot wait for an event"):
        inside.synchronize()
    inside.record()
    inside.synchronize()
    check_usable()


# ---- replays ----


def test_a_graph_that_was_never_captured() -> None:
    with pytest.raises(RuntimeError, match="replay without a preceding successful capture"):
        torch_npu.npu.NPUGraph().replay()


def test_a_graph_that_was_reset() -> None:
    graph, _ = capture(lambda: torch.ones(3, device="npu"))
    graph.reset()
    with pytest.raises(RuntimeError, match="replay without a preceding successful capture"):
        graph.replay()
    graph.reset()
    check_usable()


def test_a_graph_whose_capture_failed() -> None:
    graph = torch_npu.npu.NPUGraph()
    side = new_stream()
    before = torch_npu.npu.current_stream()

    def step() -> None:
        with torch_npu.npu.graph(graph):
            side.wait_stream(torch_npu.npu.current_stream())
            with torch_npu.npu.stream(side):
                torch.ones(3, device="npu")

    with pytest.raises(RuntimeError, match="not joined again"):
        step()
    assert torch_npu.npu.current_stream() != before  # torch_npu 2.13.0 leaves it
    torch_npu.npu.set_stream(before)
    with pytest.raises(RuntimeError, match="replay without a preceding successful capture"):
        graph.replay()
    check_usable()


def failing_replay(graph: torch_npu.npu.NPUGraph, message: str) -> None:
    def replay() -> None:
        graph.replay()  # raises itself in sync mode
        torch_npu.npu.synchronize()

    with pytest.raises(RuntimeError, match=message):
        replay()


def block() -> torch.Tensor:
    """Return a tensor that shares its memory segment with no other."""
    gc.collect()
    torch_npu.npu.empty_cache()
    return torch.ones(beyond_the_cache(12 << 20) // 4, device="npu")


def test_memory_that_was_freed_after_the_capture() -> None:
    x = block()
    graph, y = capture(partial(torch.add, x, 1))
    graph.replay()
    assert y[:3].tolist() == [2, 2, 2]
    del x
    torch_npu.npu.empty_cache()
    failing_replay(graph, "aclnnAdds.*was freed after the capture")
    check_usable()


def test_memory_from_another_pool_that_was_freed() -> None:
    """A stream that does not take part allocates outside of the graph's pool."""
    side = new_stream()
    x = block()

    def step() -> torch.Tensor:
        with torch_npu.npu.stream(side):
            y = torch.empty_like(x)
        y.copy_(x)
        return y[:3] + 1

    graph, _ = capture(step)
    torch_npu.npu.empty_cache()
    failing_replay(graph, "aclnnInplaceCopy.*was freed after the capture")
    check_usable(side)


def test_a_kernel_that_fails_in_a_replay() -> None:
    x = values()
    index = torch.tensor([8]).to("npu")
    graph, y = capture(lambda: x.index_select(0, index))
    for _ in range(2):
        failing_replay(graph, "aclnnIndexSelect: index out of range")
    index.fill_(7)
    graph.replay()
    assert y.tolist() == [7]
    check_usable()


def test_a_reference_kernel_that_raises_in_a_replay() -> None:
    broken = [True]

    def reference(x: torch.Tensor, out: torch.Tensor) -> None:
        if broken[0]:
            message = "not yet"
            raise ValueError(message)
        out.copy_(x * 2)

    x, y, z = values(), values(), values()
    name = "aclnnFailsAtFirst"
    with twin.kernel(f"{name}(const aclTensor *x, aclTensor *out)")(reference).registration:

        def step() -> None:
            call(name, x, y)
            z.copy_(y)

        graph, _ = capture(step)
        failing_replay(graph, f"{name}: ValueError: not yet")
        assert z.tolist() == list(range(8))  # nothing ran behind the failure
        broken[0] = False
        graph.replay()
        assert z.tolist() == list(range(0, 16, 2))
        graph.reset()
    check_usable()
