"""Kernels in C++ serve GE types, as those in Python do."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from opwright.twin.user_kernels.cpp_kernels import ParameterKindError, parameters_of
from tests.twin import on_twin

if TYPE_CHECKING:
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

PROGRAM = """
import sys, torch, torch_npu, torchair
from torchair import register_fx_node_ge_converter
from torchair.ge import attr, custom_op

library = torch.library.Library("cpp", "DEF")
library.define("every(Tensor x, Tensor? bias, Tensor[] others, int[] axes, str name)"
    " -> (Tensor, Tensor)")
library.define("put_into(Tensor(a!) cache, Tensor x, int row) -> ()")
library.define("refuses(Tensor x) -> Tensor")
library.impl("every", lambda x, bias, others, axes, name: (
    x.new_empty(x.sum(axes).shape), x.new_empty((), dtype=torch.int64)), "Meta")
library.impl("put_into", lambda cache, x, row: None, "Meta")
library.define("faults(Tensor x) -> Tensor")
library.impl("faults", lambda x: torch.empty_like(x), "Meta")
library.impl("refuses", lambda x: torch.empty_like(x), "Meta")

@register_fx_node_ge_converter(torch.ops.cpp.every.default)
def convert(x, bias, others, axes, name, meta_outputs=None):
    return custom_op("EveryKind", inputs={"x": x, "bias": bias, "others": others},
        attrs={"axes": attr.ListInt(axes), "keep": attr.Bool(False), "alpha": attr.Float(0.5),
               "beta": attr.Float(0.25), "shift": attr.Float(2.0),
               "name": attr.Str(name)}, outputs=["out", "count"])

def compiled(function, dynamic=False):
    torch._dynamo.reset()
    backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
    return torch.compile(function, backend=backend, dynamic=dynamic)

x, bias = torch.randn(2, 3, 4), torch.randn(3)
def step(x, bias, *others):
    out, count = torch.ops.cpp.every(x.transpose(0, 1), bias, list(others), [1, 2], "größe")
    return out * 2, count

for dynamic in (False, True):
    for given in ((x, bias), (x, None, bias), (x, bias, x, bias)):
        out, count = compiled(step, dynamic)(*(None if t is None else t.npu() for t in given))
        wanted = x.mul(0.5).sum([0, 2]) + 2.25 + sum(t.sum() for t in given[2:])
        if given[1] is not None:
            wanted = wanted + bias
        torch.testing.assert_close(out.cpu(), wanted * 2)
        assert count.item() == len("größe".encode())

cache = torch.zeros(3, 4).npu()
def put(cache, x):
    torch.ops.cpp.put_into(cache, x, 1)
    return cache + 1
row = torch.arange(4.).npu()
result = compiled(put)(cache, row)
assert cache.tolist() == [[0] * 4, [0, 1, 2, 3], [0] * 4], cache
assert result.tolist() == (cache + 1).tolist()

try:
    compiled(torch.ops.cpp.refuses.default)(row).cpu()
    raise SystemExit("no error")
except RuntimeError as error:
    assert "it refuses 4" in str(error) and "Refuses" in str(error), error
assert compiled(lambda x: x + 1)(row).tolist() == [1, 2, 3, 4]
print("done", flush=True)
if "fault" in sys.argv:
    compiled(torch.ops.cpp.faults.default)(row).cpu()
"""


@pytest.mark.build
def test_every_kind_in_a_graph(tmp_path: Path) -> None:
    """Optional, list and written tensors, attributes, views; static, dynamic; errors; a fault."""
    kernels, program = tmp_path / "kernels.cpp", tmp_path / "program.py"
    kernels.write_text(KERNELS)
    program.write_text(PROGRAM)
    command = ("-m", "opwright", "run", "--kernels", kernels, "--", sys.executable, program)
    done = on_twin.python(*command, "fault", XDG_CACHE_HOME=str(tmp_path))
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
