"""User kernels in captured graphs: reference functions in Python and kernels in C++."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu

from opwright import twin
from tests.twin import on_twin
from tests.twin.aclnn_calls import Scalar, call
from tests.twin.graphs.captures import capture, check_usable, new_stream

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.build

IN_CPP = """
#include <opwright/kernel.h>

OPWRIGHT_KERNEL(aclnnCapturedCpp, (In, x)(Double, alpha)(Out, out), out.copy_(x).mul_(alpha))
"""

# Text: `opwright run` starts it as a user's file.
CALL_CPP = """
import torch, torch_npu
from tests.twin.aclnn_calls import call

x, y = torch.zeros(4).to("npu"), torch.zeros(4).to("npu")
graph = torch.npu.NPUGraph()
with torch.npu.graph(graph):
    call("aclnnCapturedCpp", x, 2.5, y)
    z = y + 1
assert y.tolist() == [0] * 4
for value in range(3):
    x.fill_(value)
    graph.replay()
    assert z.tolist() == [2.5 * value + 1] * 4, z
print("done")
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    yield
    torch_npu.npu.synchronize()


def npu(count: int, value: float = 0) -> torch.Tensor:
    return torch.full((count,), float(value)).to("npu")


def test_a_python_kernel_runs_at_each_replay() -> None:
    calls: list[tuple[float, str]] = []

    def reference(x: torch.Tensor, factor: float, mode: str, out: torch.Tensor) -> None:
        calls.append((factor, mode))
        out.copy_(x * factor)

    signature = "aclnnCapturedScale(const aclTensor *x, double factor, char *mode, aclTensor *out)"
    x, y = npu(8), npu(8)

    def step() -> torch.Tensor:
        call("aclnnCapturedScale", x, 2.5, "fast", y)
        return y + 1

    with twin.kernel(signature)(reference).registration:
        graph, z = capture(step)
        assert calls == []
        for count in range(1, 4):
            x.fill_(count)
            graph.replay()
            assert z.tolist() == [2.5 * count + 1] * 8
            assert calls == [(2.5, "fast")] * count
        graph.reset()
    check_usable()


def test_arguments_are_copied_when_they_are_recorded() -> None:
    """The caller destroys its descriptors and lists after the call."""

    def reference(xs: list[torch.Tensor], axes: list[int], alpha: float, out: torch.Tensor) -> None:
        out.copy_(torch.stack(xs).sum(0).sum(axes) * alpha)

    signature = (
        "aclnnCapturedSum(const aclTensorList *xs, const aclIntArray *axes, "
        "const aclScalar *alpha, aclTensor *out)"
    )
    xs = [torch.ones(2, 3, 4).to("npu") for _ in range(3)]
    y = npu(2)
    with twin.kernel(signature)(reference).registration:
        graph, _ = capture(lambda: call("aclnnCapturedSum", xs, [1, 2], Scalar(2.0), y))
        noise = [torch.ones(2, 3, 4).to("npu") for _ in range(50)]
        for value in (1, 4):
            for x in xs:
                x.fill_(value)
            graph.replay()
            assert y.tolist() == [3 * 2 * 12 * value] * 2
        graph.reset()
    del noise


def test_a_python_kernel_on_two_streams_of_a_graph() -> None:
    both = threading.Barrier(2, timeout=300)

    def reference(x: torch.Tensor, out: torch.Tensor) -> None:
        both.wait()  # passes only if both streams of the graph run at the same time
        out.copy_(x + 1)

    x, a, b = npu(4), npu(4), npu(4)
    side = new_stream()
    name = "aclnnCapturedMeeting"

    def step() -> torch.Tensor:
        origin = torch_npu.npu.current_stream()
        side.wait_stream(origin)
        call(name, x, a)
        with torch_npu.npu.stream(side):
            call(name, x, b)
        origin.wait_stream(side)
        return a + b

    with twin.kernel(f"{name}(const aclTensor *x, aclTensor *out)")(reference).registration:
        graph, y = capture(step)
        for value in range(3):
            x.fill_(value)
            graph.replay()
            assert y.tolist() == [2 * (value + 1)] * 4
        graph.reset()


def test_a_kernel_that_is_gone() -> None:
    x, y = npu(4), npu(4)

    def reference(x: torch.Tensor, out: torch.Tensor) -> None:
        out.copy_(x + 1)

    name = "aclnnCapturedGone"
    with twin.kernel(f"{name}(const aclTensor *x, aclTensor *out)")(reference).registration:
        graph, _ = capture(lambda: call(name, x, y))
        graph.replay()
        assert y.tolist() == [1] * 4
    graph.replay()
    with pytest.raises(RuntimeError, match=f"{name}: its reference function was removed"):
        torch_npu.npu.synchronize()
    check_usable()


def test_a_kernel_in_cpp(tmp_path: Path) -> None:
    source, program = tmp_path / "kernel.cpp", tmp_path / "program.py"
    source.write_text(IN_CPP)
    program.write_text(CALL_CPP)
    command = ("-m", "opwright", "run", "--kernels", source, "--", sys.executable, program)
    done = on_twin.python(*command, XDG_CACHE_HOME=str(tmp_path))
    assert done.stdout == "done\n", done.stderr
