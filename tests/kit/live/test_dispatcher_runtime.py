"""The live tier's NPU kernels among streams, devices, threads, the task queue and errors."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.kit.live.dispatching import (
    MARKS,
    NAMESPACE,
    defined,
    dispatch_state,
    like,
    operator,
    overload,
    plan,
    reference,
)
from tests.twin import on_twin

# isort: split
import torch
import torch_npu

from opwright.kit.live import _aclnn

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = MARKS

ADDS = plan(
    "aclnnAdds",
    (
        ("aclTensor", ("argument", 0)),
        ("aclScalar", ("argument", 1)),
        ("aclScalar", ("constant", 1)),
        ("aclTensor", ("output", 0)),
    ),
    (like(0),),
)
SCHEMA = "(Tensor x, Scalar y) -> Tensor"


def test_current_stream() -> None:
    free = threading.Event()

    def wait(x: torch.Tensor, out: torch.Tensor) -> None:
        assert free.wait(300)
        torch.neg(x, out=out)

    slow = plan(
        "aclnnSlowLive", (("aclTensor", ("argument", 0)), ("aclTensor", ("output", 0))), (like(0),)
    )
    with (
        reference("aclnnSlowLive(const aclTensor *x, aclTensor *out)", wait),
        operator("(Tensor x) -> Tensor", slow) as neg,
        operator(SCHEMA, ADDS) as adds,
    ):
        x = torch.ones(4, device="npu")
        stream = torch_npu.npu.Stream()
        with torch_npu.npu.stream(stream):
            y = adds(neg(x), 3)
            done = stream.record_event()
        assert adds(x, 1).cpu().tolist() == [2] * 4  # the default stream does not wait
        assert not done.query()
        free.set()
        stream.synchronize()
        assert y.cpu().tolist() == [2] * 4


def test_device_of_the_tensors() -> None:
    with operator(SCHEMA, ADDS) as op:
        torch_npu.npu.set_device(0)
        x = torch.ones(4, device="npu:1")
        y = op(x, 2)
        assert y.device == x.device
        assert torch_npu.npu.current_device() == 0
        assert y.cpu().tolist() == [3] * 4


def test_error_of_phase_1() -> None:
    text = (
        rf"^{NAMESPACE}::op\d+: aclnnTopkGetWorkspaceSize failed with code 161002: (.|\n)*"
        r"[Pp]arameter"
    )
    rule = plan(
        "aclnnTopk",
        (
            ("aclTensor", ("argument", 0)),
            ("int64_t", ("constant", 99)),
            ("int64_t", ("constant", 0)),
            ("bool", ("constant", True)),
            ("bool", ("constant", True)),
            ("aclTensor", ("output", 0)),
            ("aclTensor", ("constant", None)),
        ),
        (like(0),),
    )
    with operator("(Tensor x) -> Tensor", rule) as op, operator(SCHEMA, ADDS) as adds:
        x = torch.ones(4, device="npu")
        with pytest.raises(RuntimeError, match=text.replace("161002", r"16100\d")):
            op(x)
        assert adds(x, 1).cpu().tolist() == [2] * 4  # nothing is left behind


def test_undo_leaves_no_trace() -> None:
    with defined(SCHEMA) as name:
        before = dispatch_state(name)
        op = overload(name)
        x = torch.ones(2, device="npu")
        for number in range(3):
            handle = _aclnn.implement(NAMESPACE, name, ADDS)
            assert op(x, number).cpu().tolist() == [1 + number] * 2
            handle.remove()
            handle.remove()
            assert dispatch_state(name) == before
            with pytest.raises(NotImplementedError):
                op(x, 1)


def test_threads_call_while_the_kernel_is_replaced() -> None:
    stop = threading.Event()
    with defined(SCHEMA) as name:
        op = overload(name)
        handle = _aclnn.implement(NAMESPACE, name, ADDS)

        def work(number: int) -> int:
            x = torch.full((8,), float(number), device="npu")
            calls = 0
            while not stop.is_set() or not calls:
                try:
                    assert op(x, 1).cpu().tolist() == [number + 1] * 8
                except NotImplementedError:  # between removal and registration
                    continue
                except RuntimeError as error:
                    if "was removed while it was called" not in str(error):
                        raise
                    continue
                calls += 1
            return calls

        with ThreadPoolExecutor(4) as pool:
            running = [pool.submit(work, number) for number in range(4)]
            for _ in range(200):
                handle.remove()
                handle = _aclnn.implement(NAMESPACE, name, ADDS)
            stop.set()
            assert all(future.result() > 0 for future in running)
        handle.remove()


def test_graph_of_operators_equals_torch_npu() -> None:
    """Operators of both kinds between each other, without a wait: the queue keeps their order."""
    with operator(SCHEMA, ADDS) as op:
        x = torch.zeros(64, device="npu")
        expected = 0.0
        for step in range(300):
            x = op(x, step) if step % 2 else x.mul(0.5)
            expected = expected + step if step % 2 else expected * 0.5
        assert x.cpu().tolist() == pytest.approx([expected] * 64)


def add_and_scale_many_times() -> None:
    """Queue calls of both kinds, and then one that fails."""
    expected = 1.0
    with operator(SCHEMA, ADDS) as op:
        x = torch.ones(16, device="npu")
        for step in range(50):
            x = op(x.mul(0.5), step)
            expected = expected * 0.5 + step
        assert x.cpu()[0].item() == pytest.approx(expected)
        with pytest.raises(RuntimeError, match="aclnnAdds"):
            op(x, 1j).cpu()


@pytest.mark.parametrize("level", ["0", "1", "2"])
def test_task_queue(level: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    variables = {"TASK_QUEUE_ENABLE": level, "OPWRIGHT_TRACE": str(trace)}
    on_twin.output(add_and_scale_many_times, **variables)
    assert json.dumps(trace.read_text()).count("aclnnAdds") >= 50
