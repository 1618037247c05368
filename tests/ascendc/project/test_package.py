"""A project with every kind of input becomes a package, whose kernels torch_npu and graphs run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from opwright.ascendc.builder import Package, build_package
from opwright.ascendc.project_layout import read_project
from opwright.ascendc.toolchain import MACHINE, cores
from opwright.twin.toolkit import installed_toolkit
from tests.ascendc.project.package_calls import CALLS, blend, run_all
from tests.ascendc.project.package_graphs import compute_in_graphs, infer_another_shape
from tests.twin import on_twin

PROJECT = Path(__file__).parent / "operators"

pytestmark = pytest.mark.build


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
    """Make all CALLS in one process; return what went wrong in each."""
    printed = on_twin.output(run_all, CALLS, **environment(package))
    return dict(json.loads(printed.splitlines()[-1]))


@pytest.mark.parametrize("name", CALLS)
def test_calls(failures: dict[str, str], name: str) -> None:
    assert not failures[name], failures[name]


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
        blend,
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
        blend,
        ASCEND_CUSTOM_OPP_PATH=str(folder),
    )
    assert "was built with headers of another version; build it again" in failed.stderr


def test_in_compiled_graphs(package: Package) -> None:
    """TorchAir finds the GE types; kernels are checked."""
    on_twin.output(compute_in_graphs, OPWRIGHT_KERNEL_CHECKS="1", **environment(package))


def test_inference_that_disagrees_with_meta_is_an_error(package: Package) -> None:
    on_twin.output(infer_another_shape, OPWRIGHT_KERNEL_CHECKS="1", **environment(package))
