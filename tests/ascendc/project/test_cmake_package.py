"""Operator projects that CMake describes with npu_op_package and its companions."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from opwright.ascendc.cmake_project import read_list
from opwright.ascendc.errors import CompilerOptionError
from opwright.ascendc.project_errors import ProjectLayoutError
from opwright.ascendc.project_layout import KernelFile
from opwright.ascendc.run_file import write_run_file
from tests.ascendc.commands import on_twin

OPERATORS = Path(__file__).parent / "operators"
LISTS = """\
cmake_minimum_required(VERSION 3.19)
project(operators LANGUAGES CXX)
find_package(ASC REQUIRED)
set(ASCEND_COMPUTE_UNIT Ascend910B1 ascend950)
npu_op_package(tests TYPE @type@ CONFIG INSTALL_PATH ${CMAKE_BINARY_DIR}/made)
npu_op_code_gen(SRC host/blend.cpp PACKAGE tests OUT_DIR ${ASCEND_AUTOGEN_PATH})
npu_op_library(cust_optiling TILING host/blend.cpp)
target_include_directories(cust_optiling PRIVATE shared)
target_compile_definitions(cust_optiling PRIVATE FROM_CMAKE=1)
file(GLOB generated ${ASCEND_AUTOGEN_PATH}/aclnn_*.cpp)
npu_op_library(cust_opapi ACLNN ${generated})
npu_op_library(cust_onnx_parsers ONNX_PLUGIN plugin.cc)
npu_op_kernel_sources(kernels OP_TYPE Blend KERNEL_FILE my_blend.cpp)
npu_op_kernel_options(kernels ALL OPTIONS --save-temp-files)
npu_op_kernel_options(kernels ALL COMPUTE_UNIT ascend910b OPTIONS -DOF_KERNELS=1)
npu_op_kernel_options(kernels ALL COMPUTE_UNIT ascend910_93 OPTIONS -DOF_KERNELS=0)
npu_op_kernel_options(kernels ALL COMPUTE_UNIT ascend950 OPTIONS --enable-simt)
npu_op_kernel_library(kernels
    SRC_BASE ${CMAKE_CURRENT_SOURCE_DIR}/kernel TILING_LIBRARY cust_optiling)
npu_op_package_add(tests LIBRARY cust_optiling cust_opapi cust_onnx_parsers kernels)
npu_op_package_add(tests FILES CMakeLists.txt PACKAGE_PATH notes)
"""
PROGRAM = r"""
#include <cstdio>
#include <vector>
#include "acl/acl.h"
#include "aclnn_blend.h"

int main() {
  aclInit(nullptr);
  aclrtSetDevice(0);
  std::puts(aclnnBlendGetWorkspaceSize != nullptr && aclFloat16ToFloat(aclFloatToFloat16(2)) == 2
                ? "linked" : "not linked");
}
"""
USE = """\
cmake_minimum_required(VERSION 3.19)
project(use LANGUAGES CXX)
find_package(tests REQUIRED)
add_executable(use main.cpp)
target_link_libraries(use PRIVATE tests::tests)
set_target_properties(use PROPERTIES BUILD_RPATH ${CMAKE_PREFIX_PATH}/lib)
"""


def make_project(folder: Path, kind: str) -> Path:
    """Write a project whose files lie elsewhere and have other names than msOpGen gives them."""
    (folder / "kernel").mkdir(parents=True)
    (folder / "host").mkdir()
    (folder / "shared").mkdir()
    host = (OPERATORS / "op_host" / "blend.cpp").read_text()
    (folder / "host" / "blend.cpp").write_text(f"#if FROM_CMAKE\n{host}\n#endif\n")
    shutil.copy(OPERATORS / "op_host" / "blend_tiling.h", folder / "shared")
    kernel = (OPERATORS / "op_kernel" / "blend.cpp").read_text()
    (folder / "kernel" / "my_blend.cpp").write_text(f"#if OF_KERNELS\n{kernel}\n#endif\n")
    (folder / "CMakeLists.txt").write_text(LISTS.replace("@type@", kind))
    return folder


def output_of(folder: Path, *command: str) -> str:
    """Run a command that must succeed on the twin; return what it prints."""
    result = on_twin(folder, *command, limit=500)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout + result.stderr


@pytest.mark.build
def test_a_project_becomes_a_file_that_installs_it(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project", "RUN")
    configured = output_of(project, "cmake", "-B", "build")
    assert "not for ascend950, which the twin does not have" in configured
    assert "npu_op_library(cust_onnx_parsers ONNX_PLUGIN)" in configured
    output_of(project, "cmake", "--build", "build", "--target", "binary", "package")
    (file,) = (project / "build" / "made").glob("custom_opp_*.run")
    subprocess.run([file, f"--install-path={tmp_path / 'there'}"], check=True)
    package = tmp_path / "there" / "vendors" / "tests"
    assert "aclnnBlend(" in (package / "signatures.txt").read_text()
    assert (package / "notes" / "CMakeLists.txt").is_file()
    source = f"source {package}/bin/set_env.bash && echo $ASCEND_CUSTOM_OPP_PATH"
    entries = subprocess.run(["bash", "-c", source], check=True, capture_output=True, text=True)
    assert entries.stdout.split(":")[0].strip() == str(package)


@pytest.mark.build
@pytest.mark.parametrize("kind", ["SHARED", "STATIC"])
def test_a_project_becomes_a_library_that_programs_link(kind: str, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project", kind)
    output_of(project, "cmake", "-B", "build")
    output_of(project, "cmake", "--build", "build", "--target", "binary", "install")
    use = tmp_path / "use"
    use.mkdir()
    (use / "CMakeLists.txt").write_text(USE)
    (use / "main.cpp").write_text(PROGRAM)
    output_of(use, "cmake", "-B", "build", f"-DCMAKE_PREFIX_PATH={project / 'build' / 'made'}")
    output_of(use, "cmake", "--build", "build")
    assert output_of(use, "build/use").endswith("linked\n")


def test_an_installed_package_comes_first_and_goes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "made" / "mine"
    package.mkdir(parents=True)
    (package / "signatures.txt").write_text("one\n")
    file = tmp_path / "mine.run"
    write_run_file(package, file)
    bytes_of_first = file.read_bytes()
    monkeypatch.setattr(time, "time", lambda: 1e9)
    write_run_file(package, file)
    assert file.read_bytes() == bytes_of_first
    vendors = tmp_path / "opp" / "vendors"
    vendors.mkdir(parents=True)
    (vendors / "config.ini").write_text("load_priority=other,mine\n")
    environment = {**os.environ, "ASCEND_OPP_PATH": str(tmp_path / "opp")}
    subprocess.run([file, "--quiet"], check=True, env=environment)
    assert (vendors / "config.ini").read_text() == "load_priority=mine,other\n"
    assert (vendors / "mine" / "signatures.txt").read_text() == "one\n"
    subprocess.run([vendors / "mine" / "scripts" / "uninstall.sh"], check=True)
    assert (vendors / "config.ini").read_text() == "load_priority=other\n"
    assert not (vendors / "mine").exists()
    refused = subprocess.run([file, "--nowhere"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "--nowhere" in refused.stderr


def test_a_list_is_a_project(tmp_path: Path) -> None:
    for name in ("a/host.cpp", "a/kernel/k.cpp", "a/build/x.cpp"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    lines = (
        "vendor\tmine",
        "chip\tascend910b",
        f"build\t{tmp_path}/a/build",
        f"host\t{tmp_path}/a/host.cpp",
        f"host\t{tmp_path}/a/host.cpp",
        "host_option\t-DX",
        f"base\t{tmp_path}/a",
        "kernel_file\tAdd|Ascend910B|dir/k.cpp",
        "kernel_option\t||-g|--save-temp-files|--cce-auto-sync=on",
        "kernel_option\tMul||-DM",
        "kernel_option\tMul|Ascend910_93,ascend950|-DOF_93",
    )
    (tmp_path / "list").write_text("\n".join(lines))
    project = read_list(tmp_path / "list")
    assert project.host == (tmp_path / "a/host.cpp",)
    assert [path.name for path in project.kernels] == ["host.cpp", "k.cpp"]
    file = KernelFile(op_type="Add", chip="ascend910b", path=Path("dir/k.cpp"))
    assert project.kernel_files == (file,)
    assert project.file_of_kernel("Add", "ascend910b") == file
    assert project.file_of_kernel("Add", "ascend910_93") is None
    assert project.options_for_kernel("Mul", "ascend910b") == ("-g", "-DM")
    assert project.options_for_kernel("Mul", "ascend910_93") == ("-g", "-DM", "-DOF_93")
    assert project.options_for_kernel("Add", "ascend910_93") == ("-g",)


@pytest.mark.parametrize(
    ("path", "file", "same"),
    [
        ("add.cpp", "op_kernel/arch35/add.cpp", True),
        ("arch22/add.cpp", "op_kernel/arch22/add.cpp", True),
        ("arch22/add.cpp", "op_kernel/arch35/add.cpp", False),
        ("/here/add.cpp", "/here/add.cpp", True),
        ("/here/add.cpp", "/there/here/add.cpp", False),
    ],
)
def test_a_kernel_is_in_the_file_of_its_folder(path: str, file: str, *, same: bool) -> None:
    assert KernelFile(op_type="Add", chip="", path=Path(path)).is_at(Path(file)) is same


@pytest.mark.parametrize(
    ("line", "error", "got"),
    [
        ("host\t/nowhere.cpp", ProjectLayoutError, "no file /nowhere.cpp"),
        ("chip\tascend910b", ProjectLayoutError, "no host code"),
        (f"host\t{__file__}\nkernel_option\t||--enable-simt", CompilerOptionError, "SIMT"),
    ],
)
def test_a_list_that_cannot_be_built_is_refused(
    line: str, error: type[Exception], got: str, tmp_path: Path
) -> None:
    (tmp_path / "list").write_text(f"vendor\tmine\n{line}\n")
    with pytest.raises(error, match=got):
        read_list(tmp_path / "list")
