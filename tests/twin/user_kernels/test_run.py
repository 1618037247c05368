"""Kernels across processes: `opwright run --kernels`, kernels in C++, the end of a process."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from opwright.twin.toolkit import default_toolkit, find_missing_parts
from opwright.twin.user_kernels.library import library_of
from tests.twin.on_twin import CLEAN, python

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.twin,
    pytest.mark.build,
    pytest.mark.skipif(bool(find_missing_parts(default_toolkit())), reason="needs make native"),
]

# Text, all of it: files and programs that `opwright run` starts as a user has them.

DECLARATION = """
import torch
import opwright as ow

ops = ow.OperatorSet("declared")

@ops.operator("add_custom(Tensor x, Tensor y) -> Tensor")
def add_custom(x, y):
    return x + y

@ops.operator("add(Tensor x, Tensor y, *, Scalar alpha=1) -> Tensor")
def add(x, y, *, alpha=1):
    raise AssertionError("the twin has this function")
"""

PYTHON_KERNEL = """
import torch
from opwright import twin

@twin.kernel("aclnnAddCustom(const aclTensor *x, const aclTensor *y, aclTensor *out)")
def add_custom(x, y, out):
    torch.add(x, y, out=out)
"""

CPP_KERNEL = """
#include <ATen/ops/add.h>
#include <opwright/kernel.h>

#include <stdexcept>

OPWRIGHT_KERNEL(aclnnAddCustom, (In, x)(In, y)(Out, out), at::add_out(out, x, y))
OPWRIGHT_KERNEL(aclnnThrowCustom, (In, x), throw std::runtime_error("no such shape"))
OPWRIGHT_KERNEL(aclnnThrowNumber, (In, x), throw 42)
OPWRIGHT_KERNEL(aclnnThrowTorch, (In, x), TORCH_CHECK(x.dim() == 1, "one dimension, not ", x.dim()))
"""

CALL = """
import torch, torch_npu
from tests.twin.aclnn_calls import call
x, out = torch.ones(2, 3, device="npu"), torch.empty(2, 3, device="npu")
call("aclnnAddCustom", x, x, out)
print(out.cpu().sum().item())
"""

# A C program: the two phases by name, device memory, no Python.
C_PROGRAM = """
#include <dlfcn.h>
#include <stdio.h>
#include "acl/acl_rt.h"
#include "aclnn/acl_meta.h"

typedef aclnnStatus (*Phase1)(aclTensor*, aclTensor*, aclTensor*, uint64_t*, aclOpExecutor**);
typedef aclnnStatus (*Phase2)(void*, uint64_t, aclOpExecutor*, aclrtStream);
#define CHECK(call) if (int code = (call)) { printf(#call ": %d\\n", code); return 1; }

int main(int, char** arguments) {
  void* library = dlopen(arguments[1], RTLD_LAZY);
  if (library == nullptr) { puts(dlerror()); return 1; }
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(0));
  void* x; void* out;
  CHECK(aclrtMalloc(&x, 8, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMalloc(&out, 8, ACL_MEM_MALLOC_HUGE_FIRST));
  float values[2] = {1.5f, -2};
  CHECK(aclrtMemcpy(x, 8, values, 8, ACL_MEMCPY_HOST_TO_DEVICE));
  int64_t size = 2;
  aclTensor* a = aclCreateTensor(&size, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &size, 1, x);
  aclTensor* b = aclCreateTensor(&size, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &size, 1, out);
  uint64_t workspace; aclOpExecutor* executor;
  CHECK(((Phase1)dlsym(library, "aclnnAddCustomGetWorkspaceSize"))(a, a, b, &workspace, &executor));
  CHECK(((Phase2)dlsym(library, "aclnnAddCustom"))(nullptr, workspace, executor, nullptr));
  CHECK(aclrtSynchronizeDevice());
  CHECK(aclrtMemcpy(values, 8, out, 8, ACL_MEMCPY_DEVICE_TO_HOST));
  printf("%g %g, Python: %s\\n", values[0], values[1],
         dlsym(RTLD_DEFAULT, "Py_IsInitialized") != nullptr ? "yes" : "no");
  return 0;
}
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def opwright(*arguments: str | Path, cache: Path) -> subprocess.CompletedProcess[str]:
    return python("-m", "opwright", *arguments, XDG_CACHE_HOME=str(cache))


@pytest.fixture
def python_file(tmp_path: Path) -> Path:
    file = tmp_path / "reference.py"
    file.write_text(PYTHON_KERNEL)
    return file


@pytest.fixture(scope="module")
def cpp_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("cpp") / "kernel.cpp"
    file.write_text(CPP_KERNEL)
    return file


def test_a_python_file_for_a_child_process(python_file: Path, cache: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    options = ("--kernels", python_file, "--trace", trace)
    result = opwright("run", *options, "--", sys.executable, "-c", CALL, cache=cache)
    assert (result.returncode, result.stdout) == (0, "12.0\n"), result.stderr
    tasks = [event for event in json.loads(trace.read_text()) if event.get("cat") == "task"]
    (task,) = (event for event in tasks if event["name"] == "aclnnAddCustom")
    shapes = dict.fromkeys(("x", "y", "out"), "float32[2, 3]")
    assert task["args"].items() >= shapes.items()


def test_a_declaration_is_a_kernel_file(cache: Path, tmp_path: Path) -> None:
    file = tmp_path / "operators.py"
    file.write_text(DECLARATION)
    program = f"{CALL}print(torch.add(x, x, alpha=2).cpu().sum().item())\n"
    options = ("--kernels", file)
    result = opwright("run", *options, "--", sys.executable, "-c", program, cache=cache)
    assert (result.returncode, result.stdout) == (0, "12.0\n18.0\n"), result.stderr


def test_a_kernel_beside_a_declaration_stays_in_front_of_the_reference(
    cache: Path, tmp_path: Path
) -> None:
    file = tmp_path / "operators.py"
    file.write_text(DECLARATION + PYTHON_KERNEL.replace("torch.add(x, y, out=out)", "out.fill_(7)"))
    options = ("--kernels", file)
    result = opwright("run", *options, "--", sys.executable, "-c", CALL, cache=cache)
    assert (result.returncode, result.stdout) == (0, "42.0\n"), result.stderr


def test_operators_whose_functions_the_twin_has_need_no_kernel(cache: Path, tmp_path: Path) -> None:
    file = tmp_path / "operators.py"
    file.write_text(
        "import opwright as ow\n"
        "ops = ow.OperatorSet('known', version='1')\n"
        "@ops.operator('magnitude(Tensor x) -> Tensor', aclnn='aclnnAbs')\n"
        "def magnitude(x):\n"
        "    raise NotImplementedError\n"
    )
    program = "import torch; print(torch.tensor([-2.0]).npu().abs().item())"
    options = ("--kernels", file)
    result = opwright("run", *options, "--", sys.executable, "-c", program, cache=cache)
    assert (result.returncode, result.stdout) == (0, "2.0\n"), result.stderr
    result = opwright("kernels", "build", file, cache=cache)
    assert (result.returncode, result.stdout) == (0, "")
    assert result.stderr == "no package is needed: the twin has these functions itself\n"


def test_torch_of_a_child_process_loads_torch_npu_by_itself(python_file: Path, cache: Path) -> None:
    program = "import torch; print(torch.npu.device_count())"
    result = opwright(
        *("run", "--kernels", python_file, "--", sys.executable, "-c", program), cache=cache
    )
    assert (result.returncode, result.stdout) == (0, "2\n"), result.stderr


def test_a_file_that_cannot_be_imported(tmp_path: Path, cache: Path) -> None:
    file = tmp_path / "bad.py"
    file.write_text("import no_such_module\n")
    result = opwright("run", "--kernels", file, "--", "true", cache=cache)
    assert result.returncode == 2
    assert result.stderr == (
        "OPW-K025 the kernel file cannot be loaded\n"
        f"  where:   {file}\n"
        "  got:     ModuleNotFoundError: No module named 'no_such_module'\n"
        "  fix:     make the file importable by itself: `python FILE` must end without an error\n"
    )


@pytest.mark.parametrize(
    ("name", "got", "fix"),
    [
        (
            "empty.py",
            "no use of opwright.twin.kernel, and no operators",
            "decorate the reference function with opwright.twin.kernel",
        ),
        ("empty.cpp", "no OPWRIGHT_KERNEL", "declare the kernel with OPWRIGHT_KERNEL"),
    ],
)
def test_a_file_without_kernels(name: str, got: str, fix: str, tmp_path: Path, cache: Path) -> None:
    file = tmp_path / name
    file.write_text("\n")
    result = opwright("run", "--kernels", file, "--", "true", cache=cache)
    assert result.returncode == 2
    assert result.stderr == (
        "OPW-K024 the file declares no kernel\n"
        f"  where:   {file}\n  got:     {got}\n  fix:     {fix}\n"
    )


def test_a_kernel_declared_after_torch_npu_without_the_twins_part(
    python_file: Path, cache: Path
) -> None:
    program = f"import torch_npu; exec(open({str(python_file)!r}).read())"
    result = opwright("run", "--", sys.executable, "-c", program, cache=cache)
    assert "OPW-K022 the kernel was declared too late" in result.stderr


def test_the_functions_of_another_package_must_agree(python_file: Path, cache: Path) -> None:
    program = PYTHON_KERNEL.replace("const aclTensor *y, ", "").replace("x, y, out", "x, out")
    program += "import torch_npu"
    options = ("--kernels", python_file)
    result = opwright("run", *options, "--", sys.executable, "-c", program, cache=cache)
    assert "OPW-K023 another kernel package has the function with other parameters" in result.stderr


PARENT = """
import subprocess, sys
import opwright.twin, torch, torch_npu

@opwright.twin.kernel("aclnnScaled(const aclTensor *x, const aclTensor *y, aclTensor *out)")
def scaled(x, y, out):
    out.copy_(x * 3 + y)

sys.exit(subprocess.run([*sys.argv[2:], sys.executable, "-c", sys.argv[1]]).returncode)
"""
CHILD = """
import opwright.twin, torch, torch_npu
import opwright as ow

ops = ow.OperatorSet("inherited")

@ops.operator("scaled(Tensor x) -> Tensor", shapes={"x": "*s"})
def scaled(x):
    return x * 5

print(scaled(torch.ones(2).npu()).cpu().tolist())
"""


@pytest.mark.parametrize("command", [[], [sys.executable, "-m", "opwright", "run", "--"]])
def test_a_child_process_does_not_find_its_parents_functions(
    command: list[str], cache: Path
) -> None:
    result = python("-c", PARENT, CHILD, *command, XDG_CACHE_HOME=str(cache))
    assert (result.returncode, result.stdout) == (0, "[5.0, 5.0]\n"), result.stderr


def test_kernels_that_are_running_when_the_program_ends(python_file: Path, cache: Path) -> None:
    python_file.write_text(
        PYTHON_KERNEL.replace(
            "    torch.add",
            "    import sys, time\n"
            "    while not hasattr(sys, 'ended'): time.sleep(0.01)\n"
            "    time.sleep(0.3); print('ran', flush=True)\n"
            "    torch.add",
        )
    )
    end = "import sys; print('end', flush=True); sys.ended = True"
    program = CALL.replace("print(out.cpu().sum().item())", end)
    options = ("--kernels", python_file)
    result = opwright("run", *options, "--", sys.executable, "-c", program, cache=cache)
    assert (result.returncode, result.stdout) == (0, "end\nran\n"), result.stderr


def test_an_error_nobody_waited_for_is_printed_at_the_end(python_file: Path, cache: Path) -> None:
    python_file.write_text(PYTHON_KERNEL.replace("torch.add(x, y, out=out)", "1 / 0"))
    program = CALL.replace("print(out.cpu().sum().item())", "")
    options = ("--kernels", python_file)
    result = opwright("run", *options, "--", sys.executable, "-c", program, cache=cache)
    assert "aclnnAddCustom: ZeroDivisionError" in result.stderr


def test_every_task_at_its_call(python_file: Path, cache: Path) -> None:
    options = ("--sync", "--kernels", python_file)
    result = opwright("run", *options, "--", sys.executable, "-c", CALL, cache=cache)
    assert (result.returncode, result.stdout) == (0, "12.0\n"), result.stderr


def test_show(tmp_path: Path, cache: Path) -> None:
    header = tmp_path / "ops.h"
    header.write_text("REG_OP(Neg).INPUT(x, T).OUTPUT(y, T).OP_END_FACTORY_REG(Neg)")
    result = opwright("kernels", "show", header, cache=cache)
    assert result.stdout == "aclnnNeg(const aclTensor *x, aclTensor *out)\n"


def test_a_cpp_file_for_a_child_process(cpp_file: Path, cache: Path) -> None:
    program = CALL + (
        'for name in ("aclnnThrowCustom", "aclnnThrowNumber", "aclnnThrowTorch"):\n'
        "    call(name, x)\n"
        "    try:\n        torch.npu.synchronize()\n"
        "    except RuntimeError as error:\n        print(str(error).splitlines()[-1])\n"
        "print((x + 1).sum().item())\n"
    )
    options = ("--kernels", cpp_file)
    result = opwright("run", *options, "--", sys.executable, "-c", program, cache=cache)
    assert result.returncode == 0, result.stderr
    first, *errors, last = result.stdout.splitlines()
    assert (first, last) == ("12.0", "12.0")
    for error, parts in zip(
        errors,
        [
            ("aclnnThrowCustom", "no such shape"),
            ("aclnnThrowNumber", "an exception that is no std::exception"),
            ("aclnnThrowTorch", "one dimension, not 2"),
        ],
        strict=True,
    ):
        assert all(part in error for part in parts), error


def test_a_cpp_kernel_needs_no_python(cpp_file: Path, cache: Path, tmp_path: Path) -> None:
    package = tmp_path / "package"
    built = opwright("kernels", "build", cpp_file, "--out", package, cache=cache)
    assert built.stdout == f"{package}\n", built.stderr
    source, program = tmp_path / "main.cpp", tmp_path / "main"
    source.write_text(C_PROGRAM)
    toolkit = default_toolkit()
    command = ("g++", source, "-o", program, "-I", toolkit.root / "include")
    libraries = ("-L", toolkit.libraries, "-lascendcl", "-lnnopbase", "-ldl")
    subprocess.run([*command, *libraries], check=True)
    result = subprocess.run(
        [program, library_of(package)],
        env={**CLEAN, "LD_LIBRARY_PATH": str(toolkit.libraries)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout == "3 -4, Python: no\n", result.stderr
