"""Mistakes of a Python reference function, and the errors that its caller gets."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu

from opwright import twin
from opwright.twin.user_kernels.bridge import KernelResultError
from tests.twin.aclnn_calls import AclnnError, call

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.twin, pytest.mark.build, pytest.mark.usefixtures("device")]

ADD = "(const aclTensor *x, const aclTensor *y, aclTensor *out)"
PARAM_NULLPTR, PARAM_INVALID, NOT_FOUND = 161001, 161002, 561003


def raising(error: BaseException) -> Callable[..., None]:
    def reference(_: torch.Tensor) -> None:
        raise error

    return reference


def failure(name: str, *arguments: object) -> str:
    """Return the text of the error that a synchronizing call reports."""
    call(name, *arguments)
    with pytest.raises(RuntimeError) as caught:
        torch_npu.npu.synchronize()
    return str(caught.value)


def test_an_exception_is_reported_with_name_and_place_and_the_next_operator_works() -> None:
    @twin.kernel("aclnnTestRaise(const aclTensor *x)")
    def fails(x: torch.Tensor) -> None:
        message = f"no support for {tuple(x.shape)}"
        raise ValueError(message)

    x = torch.ones(2, 3, device="npu")
    text = failure("aclnnTestRaise", x)
    file, line = fails.registration.where.rsplit(":", 1)
    assert file == __file__
    assert "aclnnTestRaise: ValueError: no support for (2, 3)" in text
    assert f"({__file__}:{int(line) + 3} in fails)" in text
    assert torch.equal((x + 1).cpu(), torch.full((2, 3), 2.0))


def test_a_stream_that_waited_for_a_failed_one_works_once_the_failure_is_reported() -> None:
    @twin.kernel("aclnnTestScale(const aclTensor *x, int64_t n, aclTensor *out)")
    def scale(x: torch.Tensor, n: int, out: torch.Tensor) -> None:
        if n == 0:
            raise ValueError
        torch.mul(x, n, out=out)

    failing, waiting = torch_npu.npu.Stream(), torch_npu.npu.Stream()
    x, out = torch.ones(4, device="npu"), torch.zeros(4, device="npu")
    torch_npu.npu.synchronize()
    with torch_npu.npu.stream(failing):
        call("aclnnTestScale", x, 0, out)
        failed = failing.record_event()
    with torch_npu.npu.stream(waiting):
        waiting.wait_event(failed)
        call("aclnnTestScale", x, 2, out)
    with pytest.raises(RuntimeError, match="aclnnTestScale: ValueError"):
        failing.synchronize()
    with torch_npu.npu.stream(waiting):
        call("aclnnTestScale", x, 3, out)
        assert torch.equal(out.cpu(), torch.full((4,), 3.0))


def test_an_error_inside_torch_names_the_line_of_the_function() -> None:
    @twin.kernel("aclnnTestShapes(const aclTensor *x)")
    def fails(x: torch.Tensor) -> None:
        x.reshape(5)

    text = failure("aclnnTestShapes", torch.ones(2, 3, device="npu"))
    assert "aclnnTestShapes: RuntimeError: shape '[5]' is invalid" in text
    line = int(fails.registration.where.rsplit(":", 1)[1])
    assert f":{line + 2} in fails)" in text


@pytest.mark.parametrize("error", [KeyboardInterrupt("stop"), SystemExit(3)], ids=repr)
def test_no_exception_ends_the_worker(error: BaseException) -> None:
    reference = raising(error)
    twin.kernel("aclnnTestAny(const aclTensor *x)")(reference)
    assert type(error).__name__ in failure("aclnnTestAny", torch.ones(1, device="npu"))


def test_an_exception_whose_text_cannot_be_printed_is_reported_all_the_same() -> None:
    class Mute(Exception):  # noqa: N818 - a user's class
        def __str__(self) -> str:
            raise ValueError

    x = torch.ones(1, device="npu")
    for error, words in (
        (Mute(), "Mute: its text cannot be made, ValueError"),
        (OSError("file \udcff"), "OSError: file \\udcff"),
    ):
        twin.kernel("aclnnTestText(const aclTensor *x)")(raising(error))
        assert words in failure("aclnnTestText", x)


def test_a_kernel_cannot_wait_for_its_own_stream() -> None:
    """Its operators would run after it: it would read what they have not written yet."""

    @twin.kernel("aclnnTestWaits(const aclTensor *x, aclTensor *out)")
    def waits(x: torch.Tensor, out: torch.Tensor) -> None:
        out.copy_((x.to("npu") + 1).cpu())

    x = torch.ones(2, device="npu")
    assert "aclnnTestWaits: RuntimeError" in failure("aclnnTestWaits", x, x)


def test_a_returned_result_is_a_mistake() -> None:
    @twin.kernel(f"aclnnTestReturn{ADD}")
    def returns(x: torch.Tensor, y: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
        return x + y

    x = torch.ones(2, device="npu")
    text = failure("aclnnTestReturn", x, x, x)
    assert KernelResultError.id in text
    assert "returned Tensor" in text


def test_an_output_must_keep_its_shape() -> None:
    @twin.kernel(f"aclnnTestResize{ADD}")
    def resizes(_x: torch.Tensor, _y: torch.Tensor, out: torch.Tensor) -> None:
        out.resize_(1)

    x = torch.ones(2, device="npu")
    text = failure("aclnnTestResize", x, x, torch.empty(3, device="npu"))
    assert "a tensor of shape [3] that became [1]" in text


def test_a_result_in_place_may_be_returned() -> None:
    def add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        return torch.add(x, y, out=out)

    twin.kernel(f"aclnnTestReturnsOut{ADD}")(add)
    x, out = torch.ones(2, device="npu"), torch.empty(2, device="npu")
    call("aclnnTestReturnsOut", x, x, out)
    assert out.cpu().tolist() == [2, 2]


@pytest.mark.parametrize(
    ("argument", "code", "text"),
    [
        (None, PARAM_NULLPTR, "aclnnTestChecksGetWorkspaceSize: parameter 'x' is null"),
        (torch.ones(2), PARAM_INVALID, "x"),
    ],
    ids=["null", "host memory"],
)
def test_what_phase_1_refuses(argument: object, code: int, text: str) -> None:
    @twin.kernel("aclnnTestChecks(const aclTensor *x)")
    def checks(_: torch.Tensor) -> None:
        pass

    with pytest.raises(AclnnError, match=text) as caught:
        call("aclnnTestChecks", argument)
    assert caught.value.code == code


def test_an_operator_without_a_function() -> None:
    @twin.kernel("aclnnTestRemoved(const aclTensor *x)")
    def removed(_: torch.Tensor) -> None:
        pass

    removed.registration.remove()
    removed.registration.remove()
    with pytest.raises(AclnnError, match="has no reference function") as caught:
        call("aclnnTestRemoved", torch.ones(1, device="npu"))
    assert caught.value.code == NOT_FOUND


def test_a_function_that_was_removed_before_it_ran() -> None:
    begin = threading.Event()

    @twin.kernel("aclnnTestWait(const aclTensor *x)")
    def waits(_: torch.Tensor) -> None:
        begin.wait()

    @twin.kernel("aclnnTestGone(const aclTensor *x)")
    def gone(_: torch.Tensor) -> None:
        pass

    x = torch.ones(1, device="npu")
    call("aclnnTestWait", x)
    call("aclnnTestGone", x)
    gone.registration.remove()
    begin.set()
    with pytest.raises(RuntimeError, match="aclnnTestGone: its reference function was removed"):
        torch_npu.npu.synchronize()
