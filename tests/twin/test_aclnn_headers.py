"""C and C++ programs that call aclnn functions by CANN's headers and library names."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from opwright.aclnn.known import known_functions
from opwright.twin.toolkit import default_toolkit
from tests.twin.on_twin import CLEAN, ROOT

if TYPE_CHECKING:
    from pathlib import Path

TOOLKIT = default_toolkit()
HEADERS = TOOLKIT.root / "include" / "aclnnop"
LIMIT = 120  # seconds

PROGRAM = """\
#include <cstdio>
#include <vector>
#include "acl/acl.h"
#include "aclnnop/aclnn_add.h"

namespace {

const std::vector<int64_t> shape{3};
const std::vector<int64_t> stride{1};

aclTensor* make_tensor(std::vector<float> values, void*& memory) {
  const size_t size = values.size() * sizeof(float);
  aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMemcpy(memory, size, values.data(), size, ACL_MEMCPY_HOST_TO_DEVICE);
  return aclCreateTensor(shape.data(), 1, ACL_FLOAT, stride.data(), 0, ACL_FORMAT_ND,
                         shape.data(), 1, memory);
}

}  // namespace

int main() {
  aclInit(nullptr);
  aclrtSetDevice(0);
  aclrtStream stream = nullptr;
  aclrtCreateStream(&stream);
  void* memory = nullptr;
  const aclTensor* self = make_tensor({1, 2, 3}, memory);
  const aclTensor* other = make_tensor({10, 20, 30}, memory);
  aclTensor* out = make_tensor({0, 0, 0}, memory);
  float two = 2;
  aclScalar* alpha = aclCreateScalar(&two, ACL_FLOAT);
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  const auto phase1 = aclnnAddGetWorkspaceSize(self, other, alpha, out, &size, &executor);
  const auto phase2 = aclnnAdd(nullptr, size, executor, stream);
  aclrtSynchronizeStream(stream);
  std::vector<float> result(3);
  aclrtMemcpy(result.data(), 12, memory, 12, ACL_MEMCPY_DEVICE_TO_HOST);
  std::printf("%d %d %g %g %g\\n", phase1, phase2, result[0], result[1], result[2]);
  return aclFinalize();
}
"""


def compile_cpp(folder: Path, source: str, *arguments: str) -> None:
    (folder / "main.cpp").write_text(source, encoding="utf-8")
    warnings = ["-Wall", "-Wextra", "-Werror"]
    command = ["g++", *warnings, f"-I{TOOLKIT.root / 'include'}", "main.cpp", *arguments]
    subprocess.run(command, cwd=folder, check=True, timeout=LIMIT)


def links(*, by_path: bool) -> list[str]:
    names = ("ascendcl", "nnopbase", "opapi_math")
    if by_path:  # as target_link_libraries has them in the guides of CANN's operator repositories
        return [str(TOOLKIT.libraries / f"lib{name}.so") for name in names]
    return [f"-L{TOOLKIT.libraries}", *(f"-l{name}" for name in names)]


@pytest.mark.parametrize("by_path", [False, True])
def test_a_program_calls_a_function_by_its_header(tmp_path: Path, *, by_path: bool) -> None:
    run_path = f"-Wl,-rpath,{TOOLKIT.libraries}"
    compile_cpp(tmp_path, PROGRAM, *links(by_path=by_path), "-o", "main", run_path)
    printed = subprocess.run(
        ["./main"],
        cwd=tmp_path,
        env=CLEAN,
        check=True,
        timeout=LIMIT,
        capture_output=True,
        text=True,
    ).stdout
    assert printed == "0 0 21 42 63\n"


def test_headers_compile_together_and_declare_what_the_library_has(tmp_path: Path) -> None:
    paths = sorted(HEADERS.glob("*.h"))
    compile_cpp(tmp_path, "".join(f'#include "aclnnop/{path.name}"\n' for path in paths), "-c")
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    declared = re.findall(r"^aclnnStatus (\w+)\(", text, re.MULTILINE)
    phases = [name + phase for name in known_functions() for phase in ("GetWorkspaceSize", "")]
    assert sorted(declared) == sorted(phases)


@pytest.mark.parametrize(
    ("function", "header"),
    [
        ("aclnnAdaptiveMaxPool2d", "aclnn_adaptive_max_pool2d.h"),
        ("aclnnInplaceMuls", "aclnn_mul.h"),
        ("aclnnAvgPool2d", "aclnn_avgpool2d.h"),
        ("aclnnFFNV2", "aclnn_ffn_v2.h"),
        ("aclRfft1D", "acl_rfft1d.h"),
    ],
)
def test_a_function_is_declared_where_cann_declares_it(function: str, header: str) -> None:
    declaration = f"aclnnStatus {function}GetWorkspaceSize("
    assert [
        path.name for path in HEADERS.glob("*.h") if declaration in path.read_text(encoding="utf-8")
    ] == [header]


def test_headers_that_take_other_functions_name_known_ones() -> None:
    rows = (ROOT / "native" / "opapi" / "headers.tsv").read_text(encoding="utf-8").splitlines()[1:]
    functions = [name for row in rows for name in row.split("\t")[1].split(" ")]
    assert len(functions) == len(set(functions))
    assert set(functions) <= set(known_functions())


@pytest.mark.parametrize("folder", ["acl", "aclnn", "aclnnop"])
def test_headers_compile_as_c(folder: str, tmp_path: Path) -> None:
    include = TOOLKIT.root / "include"
    lines = [
        f'#include "{folder}/{path.name}"\n' for path in sorted((include / folder).glob("*.h"))
    ]
    (tmp_path / "main.c").write_text("".join(lines), encoding="utf-8")
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{include}"]
    subprocess.run([*command, "main.c"], cwd=tmp_path, check=True, timeout=LIMIT)
