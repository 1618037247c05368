"""Calls of the package of `operators/`, in a process that finds it in its environment."""

from __future__ import annotations

import json
import sys
import traceback
from typing import Any

import pytest

import opwright.twin  # noqa: F401  # before torch, which loads torch_npu

# isort: split
import torch
import torch_npu

from tests.twin.aclnn_calls import AclnnError, Scalar, call

CALLS = (
    "blend_any_shape",
    "copy_what_is_not_contiguous",
    "sum_a_list",
    "read_host_values",
    "fill_each_output_first",
    "run_selected_instances",
    "refuse_what_does_not_fit",
    "replay_in_a_graph",
)


def run_all(names: tuple[str, ...]) -> None:
    """Call functions of this module, and print what went wrong in each as JSON."""
    failures = {}
    for name in names:
        torch.manual_seed(0)
        try:
            vars(sys.modules[__name__])[name]()
        except (Exception, pytest.fail.Exception):  # noqa: BLE001 - the test reports it
            failures[name] = traceback.format_exc()
        else:
            failures[name] = ""
    print(json.dumps(failures))  # noqa: T201 - the answer


def assert_refused(code: int, text: str, *arguments: Any) -> None:  # noqa: ANN401 - of `call`
    with pytest.raises(AclnnError) as caught:
        call(*arguments)
    assert caught.value.code == code, caught.value.code
    assert text in str(caught.value), caught.value


def blend_any_shape() -> None:
    """Any number of blocks, tails, optional inputs, half precision."""
    for dtype in (torch.float16, torch.float32):
        for shape in ((1,), (31,), (5, 77), (3, 4096), (0, 4)):
            x, bias = torch.randn(shape, dtype=dtype), torch.randn(shape, dtype=dtype)
            for given in (None, bias):
                for blocks in (0, 1, 2, 8, 40):
                    out = torch.empty(shape, dtype=dtype, device="npu")
                    passed = None if given is None else given.to("npu")
                    call("aclnnBlend", x.to("npu"), passed, 2.5, blocks, out)
                    wanted = x * 2.5 if given is None else x * 2.5 + given
                    torch.testing.assert_close(out.cpu(), wanted)


def copy_what_is_not_contiguous() -> None:
    """AutoContiguous copies inputs, and outputs back."""
    x = torch.randn(6, 10)
    out = torch.zeros(10, 6, device="npu")
    call("aclnnBlend", x.to("npu").t(), None, 3.0, 0, out)
    torch.testing.assert_close(out.cpu(), x.t() * 3)
    out = torch.zeros(6, 20, device="npu")
    call("aclnnBlend", x.to("npu"), None, 3.0, 0, out[:, ::2])
    torch.testing.assert_close(out.cpu()[:, ::2], x * 3)
    assert not out.cpu()[:, 1::2].any()


def sum_a_list() -> None:
    parts = [torch.randn(33) for _ in range(4)]
    out = torch.ones(33).to("npu")
    call("aclnnListSum", [part.to("npu") for part in parts], out)
    torch.testing.assert_close(out.cpu(), torch.stack(parts).sum(0))


def read_host_values() -> None:
    """Host values, scalars and defaults arrive; x is written."""
    x = torch.randn(9)
    written = x.to("npu")
    call("aclnnScaleBy", written, [2, 3, 4], Scalar(0.25), None)
    torch.testing.assert_close(written.cpu(), x * 9 + 2.25)
    written = x.to("npu")
    call("aclnnScaleBy", written, [2, 3, 4], Scalar(1), [0.5])
    torch.testing.assert_close(written.cpu(), x * 9 + 1.5)


def fill_each_output_first() -> None:
    """All tensors of an output begin with the value for their dtype.

    Each run has tiling data of its own.
    """
    for dtype, initial in ((torch.float32, 1.5), (torch.int32, 7)):
        outs = [torch.zeros(size, dtype=dtype).to("npu") for size in (1, 3, 1000)]
        x = torch.zeros(5, dtype=dtype).to("npu")
        call("aclnnListFill", x, outs)
        graph = torch_npu.npu.NPUGraph()
        with torch_npu.npu.graph(graph):
            call("aclnnListFill", x, outs)
        for _ in range(2):
            for out in outs:
                assert out[0].item() == initial + 5, out[0]
                assert (out[1:] == initial).all()
            graph.replay()


def run_selected_instances() -> None:
    """Each selected instance runs; what is not selected is refused by tiling."""
    x = torch.randint(-5, 5, (20,), dtype=torch.int32)
    for exponent in (1, 2, 3):
        for negate in (False, True):
            out = torch.zeros_like(x).to("npu")
            call("aclnnPowerOf", x.to("npu"), exponent, negate, out)
            assert torch.equal(out.cpu(), x**exponent * (-1 if negate else 1)), (exponent, negate)
    x = torch.randn(5)
    out = torch.zeros(5).to("npu")
    negate = False
    call("aclnnPowerOf", x.to("npu"), 8, negate, out)
    torch.testing.assert_close(out.cpu(), x**8)
    text = "ASCENDC_TPL_SEL does not select"
    assert_refused(561002, text, "aclnnPowerOf", x.to("npu"), 8, not negate, out)


def refuse_what_does_not_fit() -> None:
    """Phase 1 names what does not fit."""
    x, out = torch.randn(5).to("npu"), torch.zeros(5).to("npu")
    negate = True
    text = (
        "has no kernel for (x float16, y float32); its definition for ascend910b has "
        "(float32, float32), (int32, int32)"
    )
    assert_refused(161002, text, "aclnnPowerOf", x.half(), 1, negate, out)
    text = "the tiling function of Blend returned GRAPH_FAILED"
    assert_refused(561002, text, "aclnnBlend", x, None, 1.0, -1, out)
    assert_refused(161001, "'x' is null", "aclnnBlend", None, None, 1.0, 0, out)
    turned = torch.randn(3, 3).to("npu").t()
    text = "'parts' float32[3, 3] has strides [1, 3]"
    assert_refused(161002, text, "aclnnListSum", [turned], out)
    values = torch.tensor([1, 2]).to("npu")
    text = "values are not known to the host"
    assert_refused(561002, text, "aclnnScaleByTensor", x, values, Scalar(1), None)


def replay_in_a_graph() -> None:
    """A graph replays the kernel on what the inputs hold then."""
    x = torch.randn(1000).to("npu")
    out = torch.empty_like(x)
    graph = torch_npu.npu.NPUGraph()
    with torch_npu.npu.graph(graph):
        call("aclnnBlend", x, None, 3.0, 0, out)
    x.fill_(2.0)
    graph.replay()
    torch_npu.npu.synchronize()
    assert (out == 6).all()


def blend() -> None:
    """Call a kernel that another chip, or a package of other headers, does not have."""
    x = torch.randn(5).to("npu")
    call("aclnnBlend", x, None, 1.0, 0, x)


def convert_dtypes() -> None:
    """Call the kernels of a new project whose output has another dtype than its input."""
    torch.manual_seed(0)
    pairs = (
        *((torch.float16, torch.float32), (torch.float32, torch.float16)),
        *((torch.float32, torch.int32), (torch.int32, torch.int32), (torch.int8, torch.float32)),
    )
    for given, made in pairs:
        for shape in ((1,), (5, 77), (0, 4), (3, 40000)):
            x = torch.randn(shape).mul(9).to(given)
            out = torch.ones(shape, dtype=made, device="npu")
            call("aclnnMyScale", x.to("npu"), 2.5, out)
            wanted = torch.zeros(shape) if given is torch.int8 else x.to(made)
            torch.testing.assert_close(out.cpu(), wanted)
