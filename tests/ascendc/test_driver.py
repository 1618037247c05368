"""The Ascend C compiler as a user runs it: `bisheng` of `opwright run`, and through CMake."""

from __future__ import annotations

import sysconfig
from typing import TYPE_CHECKING

import pytest

from tests.ascendc.commands import on_twin

if TYPE_CHECKING:
    from pathlib import Path

# Adds 1 to each element in place; the host part prints what came back.
KERNEL = """\
#include "kernel_operator.h"
using namespace AscendC;

__global__ __vector__ void add_one(__gm__ float* x, uint32_t each) {
  TPipe pipe;
  TQue<TPosition::VECIN, 1> in;
  TQue<TPosition::VECOUT, 1> out;
  pipe.InitBuffer(in, 1, each * sizeof(float));
  pipe.InitBuffer(out, 1, each * sizeof(float));
  GlobalTensor<float> values;
  values.SetGlobalBuffer(x + GetBlockIdx() * each, each);
  LocalTensor<float> from = in.AllocTensor<float>();
  DataCopy(from, values, each);
  in.EnQue(from);
  from = in.DeQue<float>();
  LocalTensor<float> to = out.AllocTensor<float>();
  Adds(to, from, 1.0f, each);
  out.EnQue(to);
  in.FreeTensor(from);
  to = out.DeQue<float>();
  DataCopy(values, to, each);
  out.FreeTensor(to);
}
"""
LAUNCH = """
extern "C" void launch(uint32_t blocks, aclrtStream stream, float* x, uint32_t each) {
  add_one<<<blocks, nullptr, stream>>>(x, each);
}
"""
HOST = """\
#include <cstdio>
#include <vector>
#include "acl/acl.h"

extern "C" void launch(uint32_t blocks, aclrtStream stream, float* x, uint32_t each);

int main() {
  aclInit(nullptr);
  aclrtContext context;
  aclrtCreateContext(&context, 0);
  aclrtStream stream;
  aclrtCreateStream(&stream);
  std::vector<float> host(64, 41);
  const size_t bytes = host.size() * sizeof(float);
  void* device;
  aclrtMalloc(&device, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMemcpy(device, bytes, host.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE);
  launch(8, stream, static_cast<float*>(device), 8);
  const int status = aclrtSynchronizeStream(stream);
  aclrtMemcpy(host.data(), bytes, device, bytes, ACL_MEMCPY_DEVICE_TO_HOST);
  float sum = 0;
  for (const float value : host) sum += value;
  std::printf("%d %g\\n", status + aclrtDestroyContext(context), sum);
}
"""
WRONG_LAUNCHES = """
  for (float* const wrong : {host.data(), static_cast<float*>(device) - 8}) {
    launch(1, stream, wrong, 8);
    aclrtSynchronizeStream(stream);
    std::puts(aclGetRecentErrMsg());
  }
"""
PROJECT = """\
cmake_minimum_required(VERSION 3.16)
find_package(ASC REQUIRED)
project(sample LANGUAGES ASC CXX)
add_library(kernel SHARED kernel.asc)
target_compile_options(kernel PRIVATE $<$<COMPILE_LANGUAGE:ASC>:--npu-arch=dav-2201>)
add_executable(program whole.asc)
add_executable(linked host.cpp)
set_target_properties(linked PROPERTIES LINKER_LANGUAGE ASC)
target_include_directories(linked PRIVATE $ENV{ASCEND_HOME_PATH}/include)
target_link_libraries(linked PRIVATE kernel)
"""


def done(folder: Path, command: str) -> str:
    """Run a command that must succeed; return its output."""
    result = on_twin(folder, *command.split())
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Return a folder with a kernel, its host, and both in one file."""
    (tmp_path / "kernel.asc").write_text(KERNEL + LAUNCH)
    (tmp_path / "host.cpp").write_text(HOST)
    (tmp_path / "whole.asc").write_text(KERNEL + HOST.replace("extern", LAUNCH + "extern", 1))
    return tmp_path


def test_one_file_becomes_a_program(sources: Path) -> None:
    done(sources, "bisheng whole.asc -o program --npu-arch=dav-2201")
    assert done(sources, "./program") == "0 2688\n"


@pytest.mark.parametrize(
    "commands",
    [
        (
            "bisheng -c kernel.asc -o kernel.o --npu-arch=dav-2201",
            "bisheng -c host.cpp -I{toolkit}/include",
            "bisheng kernel.o host.o -o program",
        ),
        (
            "bisheng -shared kernel.asc -o libkernel.so -fPIC --npu-arch=dav-2201",
            "bisheng host.cpp -I{toolkit}/include -o program -L. -lkernel -Wl,-rpath,$ORIGIN",
        ),
        (
            "bisheng -lib kernel.asc -o libkernel.a --npu-arch=dav-2201",
            "bisheng host.cpp -I{toolkit}/include -o program libkernel.a",
        ),
    ],
    ids=["objects", "shared", "static"],
)
def test_a_kernel_is_compiled_apart(sources: Path, commands: tuple[str, ...]) -> None:
    toolkit = done(sources, "printenv ASCEND_HOME_PATH").strip()
    for command in commands:
        done(sources, command.format(toolkit=toolkit))
    assert done(sources, "./program") == "0 2688\n"


def test_headers_of_torch_npu_stand_beside_those_of_the_toolkit(tmp_path: Path) -> None:
    (tmp_path / "both.cpp").write_text(
        '#include "acl/acl.h"\n#include "torch_npu/csrc/core/npu/interface/AclInterface.h"\n'
    )
    packages = sysconfig.get_path("purelib")
    folders = (f"{packages}/torch_npu/include", f"{packages}/torch/include")
    include = " ".join(f"-isystem {folder}" for folder in folders)
    toolkit = done(tmp_path, "printenv ASCEND_HOME_PATH").strip()
    done(tmp_path, f"bisheng -c both.cpp -I{toolkit}/include {include}")


def test_cmake_knows_the_language(sources: Path) -> None:
    (sources / "CMakeLists.txt").write_text(PROJECT)
    done(sources, "cmake -B build")
    done(sources, "cmake --build build")
    assert done(sources, "build/program") == "0 2688\n"
    assert done(sources, "build/linked") == "0 2688\n"  # finds libkernel.so


@pytest.mark.parametrize("mode", ["sim", "cpu"])
def test_each_run_mode_of_cmake_is_the_twin(sources: Path, mode: str) -> None:
    (sources / "CMakeLists.txt").write_text(PROJECT)
    text = (sources / "whole.asc").read_text()
    asks = '#ifdef ASCENDC_CPU_DEBUG\n#include "cpu_debug_launch.h"\n#endif\n'
    debugged = 'int main() {\n#ifdef ASCENDC_CPU_DEBUG\n  std::printf("cpu ");\n#endif\n'
    (sources / "whole.asc").write_text(asks + text.replace("int main() {\n", debugged))
    said = done(sources, f"cmake -B build -DCMAKE_ASC_RUN_MODE={mode}")
    assert f"CMAKE_ASC_RUN_MODE is {mode}: kernels run on the twin" in said
    done(sources, "cmake --build build --target program")
    assert done(sources, "build/program") == ("cpu " if mode == "cpu" else "") + "0 2688\n"


def test_another_run_mode_is_refused(sources: Path) -> None:
    (sources / "CMakeLists.txt").write_text(PROJECT)
    result = on_twin(sources, "cmake", "-B", "build", "-DCMAKE_ASC_RUN_MODE=fpga")
    assert result.returncode == 1
    assert "CMAKE_ASC_RUN_MODE is fpga; allowed: npu, sim, cpu" in " ".join(result.stderr.split())


@pytest.mark.parametrize("options", ["-MD", "-MMD -MF rule.d"])
def test_rules_for_make_name_the_source(sources: Path, options: str) -> None:
    done(sources, f"bisheng -c kernel.asc {options}")
    rule = (sources / ("rule.d" if "-MF" in options else "kernel.d")).read_text()
    target, _, read = rule.partition(":")
    assert target == "kernel.o"
    assert read.replace("\\", " ").split()[0] == "kernel.asc"


def test_messages_name_the_line_of_the_source(sources: Path) -> None:
    text = (sources / "kernel.asc").read_text().replace("Adds(to", "AddScalars(to")
    (sources / "wrong.asc").write_text(text)
    result = on_twin(sources, "bisheng", "-c", "wrong.asc")
    assert result.returncode == 1
    line = text.splitlines().index("  AddScalars(to, from, 1.0f, each);") + 1
    assert f"wrong.asc:{line}:3: error: " in result.stderr
    assert "AddScalars" in result.stderr
    assert "docs/ascend_c_api.md" in result.stderr


@pytest.mark.parametrize(
    ("given", "message"),
    [("kernel.asc --enable-simt", "SIMT"), ("-c nowhere.asc", "nowhere.asc: no such file")],
)
def test_a_refusal_has_no_traceback(sources: Path, given: str, message: str) -> None:
    result = on_twin(sources, "bisheng", *given.split())
    assert result.returncode == 1
    assert "OPW-A002" in result.stderr
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_memory_that_is_not_the_device_s_is_refused(sources: Path) -> None:
    """Of the host, and before the first tensor: both with the line of the copy."""
    host = HOST.replace("launch(8, stream, static_cast<float*>(device), 8);", WRONG_LAUNCHES)
    text = KERNEL + host.replace("extern", LAUNCH + "extern", 1)
    (sources / "wrong.asc").write_text(text)
    done(sources, "bisheng wrong.asc -o wrong --npu-arch=dav-2201")
    said = done(sources, "./wrong")
    line = text.splitlines().index("  DataCopy(from, values, each);") + 1
    assert said.count("OPW-X005") == 2
    assert said.count(f"wrong.asc:{line}, block ") == 2
    assert said.count("call:    DataCopy, src") == 2
    assert "which is neither local nor global memory" in said
    assert "32 bytes before the memory of device 0" in said


RUN_MODE = """\
#include <cstdio>
#include "acl/acl.h"

int main() {
  aclrtRunMode mode = ACL_DEVICE;
  const aclError code = aclrtGetRunMode(&mode);
  std::printf("%d %d\\n", code, mode == ACL_HOST);
}
"""


def test_samples_learn_that_they_run_on_the_host(tmp_path: Path) -> None:
    (tmp_path / "main.cpp").write_text(RUN_MODE)
    toolkit = done(tmp_path, "printenv ASCEND_HOME_PATH").strip()
    done(tmp_path, f"g++ main.cpp -o main -I{toolkit}/include -L{toolkit}/lib64 -lascendcl")
    assert done(tmp_path, "./main") == "0 1\n"


PLATFORM = """\
#include <cstdio>
#include "tiling/platform/platform_ascendc.h"

int main() {
  auto* const platform = platform_ascendc::PlatformAscendCManager::GetInstance();
  std::printf("%u\\n", platform->GetCoreNumAic());
}
"""


@pytest.mark.parametrize(
    "name",
    [
        "ascendalog",
        "tiling_api",
        "register",
        "platform",
        "graph_base",
        "unified_dlog",
        "opp_registry",
    ],
)
def test_a_name_of_cann_links_what_the_package_library_has(tmp_path: Path, name: str) -> None:
    (tmp_path / "main.asc").write_text(PLATFORM)
    toolkit = done(tmp_path, "printenv ASCEND_HOME_PATH").strip()
    done(tmp_path, f"bisheng --npu-arch=dav-2201 main.asc -o main -L{toolkit}/lib64 -l{name}")
    result = on_twin(tmp_path, "./main")  # it asks before it has set a device
    assert (result.returncode, result.stderr) == (0, "")
    assert int(result.stdout) > 0


def test_host_code_needs_no_other_folder_of_headers_than_that_of_cann(tmp_path: Path) -> None:
    text = f'#include "register/op_def_registry.h"\n{PLATFORM}'
    (tmp_path / "main.cpp").write_text(text)
    toolkit = done(tmp_path, "printenv ASCEND_HOME_PATH").strip()
    library = f"-L{toolkit}/lib64 -ltiling_api -lregister -lplatform -Wl,--no-as-needed"
    done(tmp_path, f"g++ -std=c++17 main.cpp -o main -I{toolkit}/include {library}")
    result = on_twin(tmp_path, "./main")
    assert (result.returncode, result.stderr) == (0, "")
