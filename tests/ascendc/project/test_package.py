"""A project with every kind of input becomes a package, whose kernels torch_npu and graphs run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from opwright.ascendc.builder import Package, build_package
from opwright.ascendc.project_layout import read_project
from opwright.ascendc.toolchain import MACHINE, cores
from opwright.twin.toolkit import installed_toolkit
from tests.twin import on_twin

PROJECT = Path(__file__).parent / "operators"

pytestmark = pytest.mark.build

SETUP = """
from tests.twin.aclnn_calls import AclnnError, Scalar, call
torch.manual_seed(0)
def refused(code, text, *arguments):
    try:
        call(*arguments)
    except AclnnError as error:
        assert error.code == code, error.code
        assert text in str(error), error
        return
    raise SystemExit(f"{arguments[0]} raised nothing, {text} was expected")
"""

# The scripts of one process, by the name of their test.
SECTIONS = {
    # Any number of blocks, tails, optional inputs, half precision.
    "equals": """
for dtype in (torch.float16, torch.float32):
    for shape in ((1,), (31,), (5, 77), (3, 4096), (0, 4)):
        x, bias = torch.randn(shape, dtype=dtype), torch.randn(shape, dtype=dtype)
        for given in (None, bias):
            for blocks in (0, 1, 2, 8, 40):
                out = torch.empty(shape, dtype=dtype, device="npu")
                passed = None if given is None else given.npu()
                call("aclnnBlend", x.npu(), passed, 2.5, blocks, out)
                wanted = x * 2.5 if given is None else x * 2.5 + given
                torch.testing.assert_close(out.cpu(), wanted)
""",
    # AutoContiguous copies; lists, host values, scalars and defaults arrive; x is written.
    "kinds": """
x = torch.randn(6, 10)
out = torch.zeros(10, 6, device="npu")
call("aclnnBlend", x.npu().t(), None, 3.0, 0, out)
torch.testing.assert_close(out.cpu(), x.t() * 3)
out = torch.zeros(6, 20, device="npu")
call("aclnnBlend", x.npu(), None, 3.0, 0, out[:, ::2])
torch.testing.assert_close(out.cpu()[:, ::2], x * 3)
assert not out.cpu()[:, 1::2].any()

parts = [torch.randn(33) for _ in range(4)]
out = torch.ones(33).npu()
call("aclnnListSum", [part.npu() for part in parts], out)
torch.testing.assert_close(out.cpu(), sum(parts))

x = torch.randn(9)
written = x.npu()
call("aclnnScaleBy", written, [2, 3, 4], Scalar(0.25), None)
torch.testing.assert_close(written.cpu(), x * 9 + 2.25)
written = x.npu()
call("aclnnScaleBy", written, [2, 3, 4], Scalar(1), [0.5])
torch.testing.assert_close(written.cpu(), x * 9 + 1.5)
""",
    # All tensors of an output begin with the value for their dtype; each run has tiling data of its
    # own.
    "initial": """
for dtype, initial in ((torch.float32, 1.5), (torch.int32, 7)):
    outs = [torch.zeros(size, dtype=dtype).npu() for size in (1, 3, 1000)]
    x = torch.zeros(5, dtype=dtype).npu()
    call("aclnnListFill", x, outs)
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        call("aclnnListFill", x, outs)
    for runs in range(2):
        for out in outs:
            assert out[0].item() == initial + 5, out[0]
            assert (out[1:] == initial).all()
        graph.replay()
""",
    # Each selected instance runs; what is not selected is refused by tiling.
    "template": """
x = torch.randint(-5, 5, (20,), dtype=torch.int32)
for exponent in (1, 2, 3):
    for negate in (False, True):
        out = torch.zeros_like(x).npu()
        call("aclnnPowerOf", x.npu(), exponent, negate, out)
        assert torch.equal(out.cpu(), x**exponent * (-1 if negate else 1))
x = torch.randn(5)
out = torch.zeros(5).npu()
call("aclnnPowerOf", x.npu(), 8, False, out)
torch.testing.assert_close(out.cpu(), x**8)
refused(561002, "ASCENDC_TPL_SEL does not select", "aclnnPowerOf", x.npu(), 8, True, out)
""",
    # Phase 1 names what does not fit.
    "refused": """
x = torch.randn(5).npu()
out = torch.zeros(5).npu()
refused(161002, "has no kernel for (x float16, y float32); its definition for ascend910b has "
    "(float32, float32), (int32, int32)", "aclnnPowerOf", x.half(), 1, True, out)
refused(561002, "the tiling function of Blend returned GRAPH_FAILED",
    "aclnnBlend", x, None, 1.0, -1, out)
refused(161001, "'x' is null", "aclnnBlend", None, None, 1.0, 0, out)
refused(161002, "'parts' float32[3, 3] has strides [1, 3]",
    "aclnnListSum", [torch.randn(3, 3).npu().t()], out)
refused(561002, "values are not known to the host",
    "aclnnScaleByTensor", x, torch.tensor([1, 2]).npu(), Scalar(1), None)
""",
    # A graph replays the kernel on what the inputs hold then.
    "captured": """
x = torch.randn(1000).npu()
out = torch.empty_like(x)
graph = torch.npu.NPUGraph()
with torch.npu.graph(graph):
    call("aclnnBlend", x, None, 3.0, 0, out)
x.fill_(2.0)
graph.replay()
torch.npu.synchronize()
assert (out == 6).all()
""",
}


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    """Build the project once."""
    out = tmp_path_factory.mktemp("package")
    return build_package(read_project(PROJECT), installed_toolkit(), out, jobs=cores())


def environment(package: Package) -> dict[str, str]:
    """Return the variable with which a process finds the package."""
    return {"ASCEND_CUSTOM_OPP_PATH": str(package.folder)}


@pytest.fixture(scope="session")
def failures(package: Package) -> dict[str, str]:
    """Run all of SECTIONS in one process; return what went wrong in each."""
    script = ["import traceback"]
    for name, section in SECTIONS.items():
        body = "".join(f"    {line}\n" for line in section.strip().splitlines())
        script.append(f"try:\n{body}    print('@@', {name!r})")
        script.append(f"except BaseException:\n    print('@@', {name!r}, traceback.format_exc())")
    printed = on_twin.output(SETUP + "\n".join(script), **environment(package))
    found = (part.strip().partition("\n") for part in printed.split("@@ ")[1:])
    return {head.split()[0]: " ".join(head.split()[1:]) + rest for head, _, rest in found}


@pytest.mark.parametrize("section", sorted(SECTIONS))
def test_section(failures: dict[str, str], section: str) -> None:
    """A part of SECTIONS, where its purpose stands."""
    assert failures[section] == ""


def test_layout(package: Package) -> None:
    """The parts lie where the vendor's build puts them."""
    assert package.operators == ("Blend", "ListFill", "ListSum", "PowerOf", "ScaleBy")
    for part in (
        "op_api/lib/libcust_opapi.so",
        "op_api/include/aclnn_blend.h",
        "op_api/include/aclnn_power_of.h",
        "op_proto/inc/op_proto.h",
        f"op_proto/lib/linux/{MACHINE}/libcust_opsproto_rt2.0.so",
        "op_impl/ai_core/tbe/op_tiling/liboptiling.so",
        "op_impl/ai_core/tbe/kernel/ascend910b/blend/Blend_1.so",
    ):
        assert (package.folder / part).is_file(), part
    assert package.folder.parts[-2:] == ("vendors", "tests")
    header = (package.folder / "op_api/include/aclnn_scale_by.h").read_text()
    assert "aclnnScaleByTensorGetWorkspaceSize" in header
    assert "const aclTensor *out" not in header  # x is written in place


def test_second_build_compiles_nothing(package: Package) -> None:
    """Only what has changed is compiled again."""
    again = build_package(
        read_project(PROJECT), installed_toolkit(), package.folder.parents[1], jobs=1
    )
    assert (again.compiled, again.kernels) == (0, package.kernels)


def test_other_chip(package: Package) -> None:
    """An operator without AddConfig for the chip is refused by name."""
    failed = on_twin.run(
        SETUP + 'x = torch.randn(5).npu(); call("aclnnBlend", x, None, 1.0, 0, x)',
        **environment(package),
        OPWRIGHT_SOC="Ascend910_9391",
    )
    assert "Blend is not configured for ascend910_93, but for ascend910b" in failed.stderr


def test_a_package_of_other_headers_is_refused(package: Package, tmp_path: Path) -> None:
    """Its code would read what the runtime lays out otherwise."""
    folder = tmp_path / "vendors" / "older"
    shutil.copytree(package.folder, folder, symlinks=True)
    index = folder / "op_impl/ai_core/tbe/kernel/kernels.tsv"
    _, _, rest = index.read_text().partition("\n")
    index.write_text(f"# 0x1ULL\n{rest}")
    failed = on_twin.run(
        SETUP + 'x = torch.randn(5).npu(); call("aclnnBlend", x, None, 1.0, 0, x)',
        ASCEND_CUSTOM_OPP_PATH=str(folder),
    )
    assert "was built with headers of another version; build it again" in failed.stderr


def test_in_compiled_graphs(package: Package) -> None:
    """TorchAir finds the GE types; inference that disagrees with Meta is an error. Checked."""
    script = """
import torchair
from torchair import register_fx_node_ge_converter
from torchair.ge import attr, custom_op

library = torch.library.Library("asc", "DEF")
library.define("blend(Tensor x, Tensor? bias, float weight) -> Tensor")
library.define("wrong(Tensor x) -> Tensor")
library.define("list_sum(Tensor[] parts) -> Tensor")
library.define("power_of(Tensor x, int exponent, bool negate) -> Tensor")
library.impl("blend", lambda x, bias, weight: torch.empty_like(x), "Meta")
library.impl("wrong", lambda x: x.new_empty(3), "Meta")
library.impl("list_sum", lambda parts: torch.empty_like(parts[0]), "Meta")
library.impl("power_of", lambda x, exponent, negate: torch.empty_like(x), "Meta")

@register_fx_node_ge_converter(torch.ops.asc.blend.default)
def convert(x, bias, weight, meta_outputs=None):
    attributes = {"weight": attr.Float(weight), "block_count": attr.Int(3)}
    return custom_op("Blend", inputs={"x": x, "bias": bias}, attrs=attributes, outputs=["y"])

@register_fx_node_ge_converter(torch.ops.asc.wrong.default)
def convert_wrong(x, meta_outputs=None):
    return custom_op("Blend", inputs={"x": x, "bias": None}, attrs={}, outputs=["y"])

def compiled(function, dynamic=False):
    torch._dynamo.reset()
    backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
    return torch.compile(function, backend=backend, dynamic=dynamic)

for dynamic in (False, True):
    x, bias = torch.randn(4, 333), torch.randn(4, 333)
    step = compiled(lambda x, bias: torch.ops.asc.blend(x, bias, 2.0) + 1, dynamic)
    torch.testing.assert_close(step(x.npu(), bias.npu()).cpu(), x * 2 + bias + 1)
    step = compiled(lambda x: torch.ops.asc.blend(x, None, 2.0) + 1, dynamic)
    torch.testing.assert_close(step(x.npu()).cpu(), x * 2 + 1)
x = torch.arange(5.0)
step = compiled(lambda x: torch.ops.asc.power_of(x, 3, True))
torch.testing.assert_close(step(x.npu()).cpu(), -(x**3))
parts = [torch.randn(9) for _ in range(3)]
step = compiled(lambda *parts: torch.ops.asc.list_sum(list(parts)))
torch.testing.assert_close(step(*(part.npu() for part in parts)).cpu(), sum(parts))
try:
    compiled(torch.ops.asc.wrong.default)(x.npu()).cpu()
    raise SystemExit("no error")
except RuntimeError as error:
    assert "the shape inference function of Blend says [5]" in str(error), error
"""
    on_twin.output(SETUP + script, OPWRIGHT_KERNEL_CHECKS="1", **environment(package))
