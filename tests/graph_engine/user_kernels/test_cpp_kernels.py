"""Kernels in C++ serve GE types, as those in Python do."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch_npu  # noqa: F401 - torchair is found by way of it
import torchair
from torchair.ge import attr, custom_op

from opwright.twin.user_kernels.cpp_kernels import ParameterKindError, parameters_of
from tests.graph_engine.agreement import compiled, new_library
from tests.twin import on_twin

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

KERNELS = """
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <opwright/kernel.h>

OPWRIGHT_KERNEL(aclnnEveryKind,
                (In, x)(OptIn, bias)(TensorList, others)(Ints, axes)(Bool, keep)
                (Double, alpha)(Float, beta)(Scalar, shift)(Text, name)
                (Out, out)(Out, count),
                {
                  at::Tensor sum = at::sum(x * alpha, axes, keep) + shift + at::Scalar(beta);
                  for (const at::Tensor& other : others) sum = sum + other.sum();
                  out.copy_(bias ? sum + *bias : sum);
                  count.fill_(static_cast<int64_t>(name.size()));
                })
OPWRIGHT_KERNEL(aclnnPutInto, (Ref, cache)(In, x)(Int, row), cache.select(0, row).copy_(x))
OPWRIGHT_KERNEL(aclnnFaults, (In, x)(Out, out), *(volatile int*)8 = static_cast<int>(x.size(0)))
OPWRIGHT_KERNEL(aclnnRefuses, (In, x)(Out, out), TORCH_CHECK(false, "it refuses ", x.size(0)))
"""

NAME = "größe"


def convert_every(
    x: object, bias: object, others: object, axes: Sequence[int], name: str
) -> object:
    attributes = {
        "axes": attr.ListInt(axes),
        "keep": attr.Bool(False),  # noqa: FBT003 - a value
        "alpha": attr.Float(0.5),
        "beta": attr.Float(0.25),
        "shift": attr.Float(2.0),
        "name": attr.Str(name),
    }
    inputs = {"x": x, "bias": bias, "others": others}
    return custom_op("EveryKind", inputs=inputs, attrs=attributes, outputs=["out", "count"])


def define_operators() -> Any:  # noqa: ANN401 - torch does not type it
    """Return a library with an operator for each kernel."""
    library = new_library("cpp")
    library.define(
        "every(Tensor x, Tensor? bias, Tensor[] others, int[] axes, str name) -> (Tensor, Tensor)"
    )
    library.define("put_into(Tensor(a!) cache, Tensor x, int row) -> ()")
    library.define("refuses(Tensor x) -> Tensor")
    library.define("faults(Tensor x) -> Tensor")
    library.impl(
        "every",
        lambda x, bias, others, axes, name: (  # noqa: ARG005 - as the schema has them
            x.new_empty(x.sum(axes).shape),
            x.new_empty((), dtype=torch.int64),
        ),
        "Meta",
    )
    library.impl("put_into", lambda *_: None, "Meta")
    library.impl("refuses", torch.empty_like, "Meta")
    library.impl("faults", torch.empty_like, "Meta")
    torchair.register_fx_node_ge_converter(torch.ops.cpp.every.default)(convert_every)
    return library


def every(
    x: torch.Tensor, bias: torch.Tensor | None, *others: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    out, count = torch.ops.cpp.every(x.transpose(0, 1), bias, list(others), [1, 2], NAME)
    return out * 2, count


def check_every_kind() -> None:
    x, bias = torch.randn(2, 3, 4), torch.randn(3)
    for dynamic in (False, True):
        for optional, others in ((bias, ()), (None, (bias,)), (bias, (x, bias))):
            on_device = None if optional is None else optional.to("npu")
            graph = compiled(every, dynamic=dynamic)
            out, count = graph(x.to("npu"), on_device, *(each.to("npu") for each in others))
            wanted = x.mul(0.5).sum([0, 2]) + 2.25 + sum(each.sum() for each in others)
            if optional is not None:
                wanted = wanted + optional
            torch.testing.assert_close(out.cpu(), wanted * 2)
            assert count.item() == len(NAME.encode())


def put(cache: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    torch.ops.cpp.put_into(cache, x, 1)
    return cache + 1


def check_what_is_written() -> None:
    cache, row = torch.zeros(3, 4).to("npu"), torch.arange(4.0).to("npu")
    result = compiled(put)(cache, row)
    assert cache.tolist() == [[0] * 4, [0, 1, 2, 3], [0] * 4]
    assert result.tolist() == (cache + 1).tolist()


def check_refusal() -> None:
    row = torch.arange(4.0).to("npu")
    graph = compiled(torch.ops.cpp.refuses)
    with pytest.raises(RuntimeError, match="it refuses 4") as raised:
        graph(row).cpu()
    assert "Refuses" in str(raised.value)
    assert compiled(lambda x: x + 1)(row).tolist() == [1, 2, 3, 4]


def use_kernels() -> None:
    _library = define_operators()
    check_every_kind()
    check_what_is_written()
    check_refusal()
    sys.stdout.write("done\n")
    sys.stdout.flush()
    compiled(torch.ops.cpp.faults)(torch.ones(4).to("npu")).cpu()


@pytest.mark.build
def test_every_kind_in_a_graph(tmp_path: Path) -> None:
    """Optional, list and written tensors, attributes, views; static, dynamic; errors; a fault."""
    kernels = tmp_path / "kernels.cpp"
    kernels.write_text(KERNELS)
    script = on_twin.call_of(use_kernels, ())
    command = ("-m", "opwright", "run", "--kernels", kernels, "--", sys.executable, "-c", script)
    done = on_twin.python(*command, XDG_CACHE_HOME=str(tmp_path))
    assert "done" in done.stdout, done.stderr
    assert done.returncode != 0
    assert "It happened inside the kernel of aclnnFaults.\n" in done.stderr


def test_parameters_have_the_names_of_canns_generator() -> None:
    text = "(In, x)(OptIn, yOptional) (OptInts, axes)\n (Ref, cache)(OptRefList, c)(Out, out)"
    assert [str(each) for each in parameters_of(text, where="here")] == [
        "const aclTensor *x",
        "const aclTensor *yOptional",
        "const aclIntArray *axesOptional",
        "aclTensor *cacheRef",
        "aclTensorList *cRefOptional",
        "aclTensor *out",
    ]


def test_a_kind_that_graphs_cannot_pass() -> None:
    with pytest.raises(ParameterKindError, match="DynamicOut for 'out'"):
        parameters_of("(In, x)(DynamicOut, out)", where="kernels.so")
