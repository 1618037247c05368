"""Python reference functions in this process, called as an extension calls its operator."""

from __future__ import annotations

import ctypes
import math
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from opwright import twin  # before torch, which loads torch_npu

# isort: split
import torch
import torch_npu

from opwright.twin.kernels.bridge import KernelResultError
from opwright.twin.kernels.dtypes import FROM_RUNTIME
from opwright.twin.kernels.registry import DuplicateKernelError, KernelParametersError
from tests.twin.aclnn_calls import (
    AclnnError,
    Scalar,
    acl_tensor,
    call,
    converted,
    find,
    nnopbase,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.twin, pytest.mark.build]

ADD = "(const aclTensor *x, const aclTensor *y, aclTensor *out)"
PARAM_NULLPTR, PARAM_INVALID, NOT_FOUND = 161001, 161002, 561003


@pytest.fixture(scope="module", autouse=True)
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        torch_npu.npu.set_device(0)
        yield
    torch_npu.npu.synchronize()


def npu(value: torch.Tensor) -> torch.Tensor:
    return value.to("npu")


def synchronize() -> None:
    torch_npu.npu.synchronize()


def seen_by(name: str, parameters: str, *arguments: object) -> tuple[Any, ...]:
    """Call an operator and return what its reference function gets; tensors are copied."""
    seen: list[object] = []

    def keep(value: object) -> object:
        if isinstance(value, torch.Tensor):
            return value.clone()
        return [keep(item) for item in value] if isinstance(value, list) else value

    def reference(*values: object) -> None:
        seen.extend(map(keep, values))

    with twin.kernel(f"{name}({parameters})")(reference).registration:
        call(name, *arguments)
        synchronize()
    return tuple(seen)


class TestArguments:
    def test_tensors_and_outputs(self) -> None:
        @twin.kernel(f"aclnnTestAdd{ADD}")
        def add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
            assert x.device.type == "cpu"
            torch.add(x, y, out=out)

        x, y = torch.randn(3, 4), torch.randn(3, 4)
        out = torch.empty(3, 4, device="npu")
        for _ in range(3):
            call("aclnnTestAdd", npu(x), npu(y), out)
            torch.testing.assert_close(out.cpu(), x + y, rtol=0, atol=0)

    @pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
    @pytest.mark.parametrize("dtype", FROM_RUNTIME.values(), ids=str)
    def test_every_dtype(self, dtype: torch.dtype) -> None:
        bits = torch.arange(48, dtype=torch.uint8).reshape(3, 16) % 2
        value = bits.view(dtype)
        (x,) = seen_by("aclnnTestDtype", "const aclTensor *x", npu(bits).view(dtype))
        assert x.dtype == dtype
        assert x.shape == value.shape
        assert torch.equal(x.view(torch.uint8), bits)

    @pytest.mark.parametrize(
        "view",
        [
            lambda x: x.t(),
            lambda x: x[1:, ::2],
            lambda x: x[2],
            lambda x: x[:, :1].expand(4, 5),
            lambda x: x[1, 3],
        ],
        ids=["transposed", "sliced", "row", "expanded", "0-d"],
    )
    def test_views(self, view: Callable[[torch.Tensor], torch.Tensor]) -> None:
        base = torch.arange(24.0).reshape(4, 6)
        on_device = view(npu(base))
        strides: list[tuple[int, ...]] = []

        @twin.kernel("aclnnTestView(const aclTensor *x, aclTensor *out)")
        def copy(x: torch.Tensor, out: torch.Tensor) -> None:
            strides.append(x.stride())
            out.copy_(x)

        out = torch.empty(on_device.shape, device="npu")
        call("aclnnTestView", on_device, out)
        synchronize()
        copy.registration.remove()
        assert torch.equal(out.cpu(), view(base))
        assert strides == [on_device.stride()]

    def test_an_output_that_is_a_view(self) -> None:
        @twin.kernel("aclnnTestFill(aclTensor *out)")
        def fill(out: torch.Tensor) -> None:
            out.fill_(7)

        base = npu(torch.zeros(4, 6))
        call("aclnnTestFill", base[1:3, 1::2])
        expected = torch.zeros(4, 6)
        expected[1:3, 1::2] = 7
        assert torch.equal(base.cpu(), expected)

    def test_empty_tensors(self) -> None:
        empty = torch.empty(0, 3, device="npu")
        x, out = seen_by("aclnnTestEmpty", "const aclTensor *x, aclTensor *out", empty, empty)
        assert x.shape == out.shape == (0, 3)

    def test_null_and_lists(self) -> None:
        one = torch.arange(3.0)
        absent, tensors, no_list = seen_by(
            "aclnnTestLists",
            "const aclTensor *xOptional, const aclTensorList *xs, const aclTensorList *ysOptional",
            None,
            [npu(one), None, npu(one + 1)],
            None,
        )
        assert absent is None
        assert no_list is None
        assert tensors[1] is None
        assert torch.equal(tensors[0], one)
        assert torch.equal(tensors[2], one + 1)

    def test_scalars_and_arrays(self) -> None:
        values = seen_by(
            "aclnnTestScalars",
            "const aclScalar *a, const aclScalar *b, const aclScalar *c, const aclScalar *d, "
            "const aclScalar *eOptional, const aclScalarList *list, const aclIntArray *ints, "
            "const aclFloatArray *floats, const aclBoolArray *bools, const aclIntArray *none, "
            "const aclIntArray *nullOptional",
            *(Scalar(1.5), Scalar(-(2**62)), Scalar(value=True), Scalar(1 - 2j), None),
            *([Scalar(1), Scalar(0.5)], [1, -2], [0.5, -1.0], [True, False], [], None),
        )
        assert values == (
            *(1.5, -(2**62), True, 1 - 2j, None, [1, 0.5], [1, -2], [0.5, -1.0]),
            *([True, False], [], None),
        )
        assert [type(value) for value in values[:4]] == [float, int, bool, complex]

    def test_attributes(self) -> None:
        values = seen_by(
            "aclnnTestAttributes",
            "int64_t a, int32_t b, uint64_t c, double d, float e, bool f, char *g, "
            "char *hOptional, aclDataType i, int8_t j",
            *(-(2**40), ctypes.c_int32(-3), ctypes.c_uint64(5), 0.1, ctypes.c_float(0.5), True),
            *("ab€", None, torch.bfloat16, ctypes.c_int8(-1)),
        )
        assert values == (-(2**40), -3, 5, 0.1, 0.5, True, "ab€", None, torch.bfloat16, -1)

    def test_forms_of_an_operator_reach_one_function(self) -> None:
        seen: list[tuple[object, ...]] = []

        @twin.kernel(
            "class TestForms : public OpDef { TestForms(const char *n) : OpDef(n) {"
            'this->Input("sizes").DataType({ge::DT_INT64}).ValueDepend(REQUIRED);'
            'this->Input("mask").ParamType(OPTIONAL).Version(1);'
            'this->Attr("axis").AttrType(OPTIONAL).Int(-1).Version(1);'
            'this->Attr("mode").AttrType(OPTIONAL).String("add");'
            'this->Output("y"); } };'
        )
        def forms(*values: object) -> None:
            seen.append(values[:4])

        out = torch.empty(1, device="npu")
        call("aclnnTestForms", [1, 2], "max", out)
        call("aclnnTestFormsV1", [1, 2], None, 3, None, out)
        call("aclnnTestFormsV1Tensor", npu(torch.tensor([1, 2])), None, 3, None, out)
        synchronize()
        assert seen == [([1, 2], None, -1, "max"), *[([1, 2], None, 3, "add")] * 2]


def raising(error: BaseException) -> Callable[..., None]:
    def reference(_: torch.Tensor) -> None:
        raise error

    return reference


class TestErrors:
    def failure(self, name: str, *arguments: object) -> str:
        """Return the text of the error that a synchronizing call reports."""
        call(name, *arguments)
        with pytest.raises(RuntimeError) as caught:
            synchronize()
        return str(caught.value)

    def test_an_exception_is_reported_with_name_and_place_and_the_next_operator_works(self) -> None:
        @twin.kernel("aclnnTestRaise(const aclTensor *x)")
        def fails(x: torch.Tensor) -> None:
            message = f"no support for {tuple(x.shape)}"
            raise ValueError(message)

        x = torch.ones(2, 3, device="npu")
        text = self.failure("aclnnTestRaise", x)
        file, line = fails.registration.where.rsplit(":", 1)
        assert file == __file__
        assert "aclnnTestRaise: ValueError: no support for (2, 3)" in text
        assert f"({__file__}:{int(line) + 3} in fails)" in text
        assert torch.equal((x + 1).cpu(), torch.full((2, 3), 2.0))

    def test_an_error_inside_torch_names_the_line_of_the_function(self) -> None:
        @twin.kernel("aclnnTestShapes(const aclTensor *x)")
        def fails(x: torch.Tensor) -> None:
            x.reshape(5)

        text = self.failure("aclnnTestShapes", torch.ones(2, 3, device="npu"))
        assert "aclnnTestShapes: RuntimeError: shape '[5]' is invalid" in text
        line = int(fails.registration.where.rsplit(":", 1)[1])
        assert f":{line + 2} in fails)" in text

    @pytest.mark.parametrize("error", [KeyboardInterrupt("stop"), SystemExit(3)], ids=repr)
    def test_no_exception_ends_the_worker(self, error: BaseException) -> None:
        reference = raising(error)
        twin.kernel("aclnnTestAny(const aclTensor *x)")(reference)
        assert type(error).__name__ in self.failure("aclnnTestAny", torch.ones(1, device="npu"))

    def test_an_exception_whose_text_cannot_be_printed_is_reported_all_the_same(self) -> None:
        class Mute(Exception):  # noqa: N818 - a user's class
            def __str__(self) -> str:
                raise ValueError

        x = torch.ones(1, device="npu")
        for error, words in (
            (Mute(), "Mute: its text cannot be made, ValueError"),
            (OSError("file \udcff"), "OSError: file \\udcff"),
        ):
            twin.kernel("aclnnTestText(const aclTensor *x)")(raising(error))
            assert words in self.failure("aclnnTestText", x)

    def test_a_kernel_cannot_wait_for_its_own_stream(self) -> None:
        """Its operators would run after it: it would read what they have not written yet."""

        @twin.kernel("aclnnTestWaits(const aclTensor *x, aclTensor *out)")
        def waits(x: torch.Tensor, out: torch.Tensor) -> None:
            out.copy_((x.to("npu") + 1).cpu())

        x = torch.ones(2, device="npu")
        assert "aclnnTestWaits: RuntimeError" in self.failure("aclnnTestWaits", x, x)

    def test_a_returned_result_is_a_mistake(self) -> None:
        @twin.kernel(f"aclnnTestReturn{ADD}")
        def returns(x: torch.Tensor, y: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
            return x + y

        x = torch.ones(2, device="npu")
        text = self.failure("aclnnTestReturn", x, x, x)
        assert KernelResultError.id in text
        assert "returned Tensor" in text

    def test_an_output_must_keep_its_shape(self) -> None:
        @twin.kernel(f"aclnnTestResize{ADD}")
        def resizes(_x: torch.Tensor, _y: torch.Tensor, out: torch.Tensor) -> None:
            out.resize_(1)

        x = torch.ones(2, device="npu")
        text = self.failure("aclnnTestResize", x, x, torch.empty(3, device="npu"))
        assert "a tensor of shape [3] that became [1]" in text

    def test_a_result_in_place_may_be_returned(self) -> None:
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
    def test_what_phase_1_refuses(self, argument: object, code: int, text: str) -> None:
        @twin.kernel("aclnnTestChecks(const aclTensor *x)")
        def checks(_: torch.Tensor) -> None:
            pass

        with pytest.raises(AclnnError, match=text) as caught:
            call("aclnnTestChecks", argument)
        assert caught.value.code == code

    def test_an_operator_without_a_function(self) -> None:
        @twin.kernel("aclnnTestRemoved(const aclTensor *x)")
        def removed(_: torch.Tensor) -> None:
            pass

        removed.registration.remove()
        removed.registration.remove()
        with pytest.raises(AclnnError, match="has no reference function") as caught:
            call("aclnnTestRemoved", torch.ones(1, device="npu"))
        assert caught.value.code == NOT_FOUND

    def test_a_function_that_was_removed_before_it_ran(self) -> None:
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
            synchronize()


class TestDeclaration:
    def test_a_second_function_is_refused_and_the_first_stays(self) -> None:
        @twin.kernel("aclnnTestTwice(const aclTensor *x)")
        def first(_: torch.Tensor) -> None:
            pass

        def second(_: torch.Tensor) -> None:
            pass

        with pytest.raises(DuplicateKernelError) as caught:
            twin.kernel("aclnnTestTwice(const aclTensor *x)")(second)
        assert caught.value.got == f"one at {first.registration.where}"
        call("aclnnTestTwice", torch.ones(1, device="npu"))
        first.registration.remove()
        twin.kernel("aclnnTestTwice(const aclTensor *x)")(second)

    def test_the_same_function_again_replaces(self) -> None:
        values: list[int] = []

        def declare(value: int) -> None:
            @twin.kernel("aclnnTestAgain(const aclTensor *x)")
            def reference(_: torch.Tensor) -> None:
                values.append(value)

        declare(1)
        declare(2)
        call("aclnnTestAgain", torch.ones(1, device="npu"))
        synchronize()
        assert values == [2]

    def test_a_function_with_other_parameters_is_refused(self) -> None:
        def two(x: torch.Tensor, out: torch.Tensor) -> None:
            pass

        with pytest.raises(KernelParametersError) as caught:
            twin.kernel(f"aclnnTestParameters{ADD}")(two)
        line = two.__code__.co_firstlineno
        assert str(caught.value) == (
            "OPW-K020 the function does not take the operator's parameters\n"
            f"  where:   {__file__}:{line}\n"
            "  got:     two(x: 'torch.Tensor', out: 'torch.Tensor') -> 'None': "
            "too many positional arguments\n"
            "  allowed: const aclTensor *x, const aclTensor *y, aclTensor *out\n"
            "  fix:     give the function one positional parameter for each, in this order"
        )

    def test_from_a_reg_op_header(self, tmp_path: Path) -> None:
        header = tmp_path / "neg_custom.h"
        header.write_text("REG_OP(TestNeg).INPUT(x, T).OUTPUT(y, T).OP_END_FACTORY_REG(TestNeg)")

        @twin.kernel(header)
        def neg(x: torch.Tensor, out: torch.Tensor) -> None:
            torch.neg(x, out=out)

        out = torch.empty(2, device="npu")
        call("aclnnTestNeg", torch.ones(2, device="npu"), out)
        assert out.cpu().tolist() == [-1, -1]

    def test_a_built_in_function_can_be_replaced(self) -> None:
        out = torch.empty(2, device="npu")

        @twin.kernel("aclnnErfinv(const aclTensor *self, aclTensor *out)")
        def erfinv(_: torch.Tensor, out: torch.Tensor) -> None:
            out.fill_(42)

        call("aclnnErfinv", torch.zeros(2, device="npu"), out)
        assert out.cpu().tolist() == [42, 42]
        erfinv.registration.remove()


class TestThreads:
    def test_waiting_threads_leave_the_gil_to_the_kernel(self) -> None:
        steps = 200

        @twin.kernel("aclnnTestPython(aclTensor *out)")
        def slow(out: torch.Tensor) -> None:
            for _ in range(steps):
                out += 1
                time.sleep(0)  # gives the GIL up, so that it must be taken again

        out = torch.zeros(1, device="npu")
        stop = threading.Event()
        busy = threading.Thread(target=lambda: sum(1 for _ in iter(stop.is_set, 1)))
        busy.start()
        call("aclnnTestPython", out)
        synchronize()
        stop.set()
        busy.join()
        assert out.item() == steps

    def test_threads_on_their_own_streams(self) -> None:
        @twin.kernel("aclnnTestThreads(const aclTensor *x, int64_t n, aclTensor *out)")
        def scale(x: torch.Tensor, n: int, out: torch.Tensor) -> None:
            torch.mul(x, n, out=out)

        results: dict[int, float] = {}

        def work(number: int) -> None:
            torch_npu.npu.set_device(0)
            with torch_npu.npu.stream(torch_npu.npu.Stream()):
                x, out = torch.ones(64, device="npu"), torch.empty(64, device="npu")
                for _ in range(20):
                    call("aclnnTestThreads", x, number, out)
                results[number] = out.cpu().sum().item()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == {number: 64.0 * number for number in range(8)}

    def test_gradients_and_devices_of_the_caller_do_not_reach_the_kernel(self) -> None:
        states: list[tuple[bool, str]] = []  # does it record gradients, where does it allocate?

        @twin.kernel("aclnnTestState(const aclTensor *x)")
        def state(_: torch.Tensor) -> None:
            states.append((torch.is_grad_enabled(), torch.ones(1).device.type))

        with torch.device("npu"):
            call("aclnnTestState", torch.ones(1))
            synchronize()
        assert states == [(False, "cpu")]


def test_a_repeatable_executor_runs_again_with_another_address() -> None:
    @twin.kernel("aclnnTestRepeat(const aclTensor *x, aclTensor *out)")
    def double(x: torch.Tensor, out: torch.Tensor) -> None:
        torch.mul(x, 2, out=out)

    x, other, out = (npu(torch.full((4,), value)) for value in (1.0, 5.0, math.nan))
    prototype = ctypes.CFUNCTYPE(ctypes.c_int)
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    first = prototype(find(b"aclnnTestRepeatGetWorkspaceSize"))
    second = prototype(find(b"aclnnTestRepeat"))
    assert first(converted(x), converted(out), ctypes.byref(size), ctypes.byref(executor)) == 0
    assert nnopbase.aclSetAclOpExecutorRepeatable(executor) == 0
    stream = ctypes.c_void_p(torch_npu.npu.current_stream().npu_stream)
    results = []
    for source in (x, other):
        address = ctypes.c_void_p(source.data_ptr())
        tensor = ctypes.c_void_p(acl_tensor(source))
        assert nnopbase.aclSetInputTensorAddr(executor, ctypes.c_size_t(0), tensor, address) == 0
        assert second(None, size, executor, stream) == 0
        results.append(out.cpu()[0].item())
    assert nnopbase.aclDestroyAclOpExecutor(executor) == 0
    assert results == [2.0, 10.0]
