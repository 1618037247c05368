"""C and C++ programs that call aclnn functions by CANN's headers and library names."""

from __future__ import annotations

import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from opwright.aclnn.known import read_known_functions
from opwright.twin.toolkit import default_toolkit
from tests.twin.on_twin import CLEAN, ROOT

if TYPE_CHECKING:
    from pathlib import Path

TOOLKIT = default_toolkit()
HEADERS = TOOLKIT.root / "include" / "aclnnop"
LIMIT = 120  # seconds
DECLARATIONS = [
    re.findall(r"aclnnStatus (\w+)\(", line)[0]
    for line in (ROOT / "native" / "opapi" / "declarations.tsv").read_text("utf-8").splitlines()[1:]
]

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


def links(*, by_path: bool, runtime: str = "ascendcl") -> list[str]:
    names = (runtime, "nnopbase", "opapi_math")
    if by_path:  # as target_link_libraries has them in the guides of CANN's operator repositories
        return [str(TOOLKIT.libraries / f"lib{name}.so") for name in names]
    return [f"-L{TOOLKIT.libraries}", *(f"-l{name}" for name in names)]


@pytest.mark.parametrize(
    ("runtime", "by_path"), [("ascendcl", False), ("ascendcl", True), ("acl_rt", False)]
)
def test_a_program_calls_a_function_by_its_header(
    tmp_path: Path, runtime: str, *, by_path: bool
) -> None:
    run_path = f"-Wl,-rpath,{TOOLKIT.libraries}"
    libraries = links(by_path=by_path, runtime=runtime)
    compile_cpp(tmp_path, PROGRAM, *libraries, "-o", "main", run_path)
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
    phases = [name + phase for name in read_known_functions() for phase in ("GetWorkspaceSize", "")]
    assert len(declared) == len(set(declared))
    assert set(declared) == {*phases, *DECLARATIONS}


def test_older_paths_stand_for_the_same_headers(tmp_path: Path) -> None:
    names = sorted(path.name for path in HEADERS.glob("*.h"))
    assert sorted(path.name for path in (HEADERS / "level2").glob("*.h")) == names
    body = "auto* const phase1 = &aclnnAddGetWorkspaceSize;\n"
    compile_cpp(tmp_path, f'#include "aclnnop/level2/aclnn_add.h"\n{body}', "-c")


def test_libraries_have_what_headers_declare(tmp_path: Path) -> None:
    """The functions of acl, aclnn, aclnnop and hccl, among the symbols of all libraries."""
    include = TOOLKIT.root / "include"
    folders = ("acl", "aclnn", "aclnnop", "hccl")
    paths = [path for name in folders for path in (include / name).glob("*.h")]
    (tmp_path / "all.cpp").write_text(
        "".join(f'#include "{path.relative_to(include)}"\n' for path in sorted(paths)), "utf-8"
    )
    command = ["g++", "-E", "-P", f"-I{include}", "all.cpp"]
    text = subprocess.run(
        command, cwd=tmp_path, check=True, timeout=LIMIT, capture_output=True, text=True
    ).stdout
    declared = set(re.findall(r"\b([aA]cl\w*[A-Z]\w*|Hccl[A-Z]\w*)\s*\(", text))
    declared -= {"HcclCommConfigInit"}  # the header defines it
    libraries = [
        path for path in TOOLKIT.libraries.glob("*.so") if path.read_bytes()[1:4] == b"ELF"
    ]
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", *libraries],
        check=True,
        timeout=LIMIT,
        capture_output=True,
        text=True,
    ).stdout
    defined = {line.split()[-1].partition("@")[0] for line in symbols.splitlines() if " " in line}
    assert len(declared) > 2 * len(read_known_functions())
    assert sorted(declared - defined) == []


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
    assert set(functions) <= set(read_known_functions())


@pytest.mark.parametrize("folder", ["acl", "aclnn", "aclnnop", "hccl"])
def test_headers_compile_as_c(folder: str, tmp_path: Path) -> None:
    include = TOOLKIT.root / "include"
    lines = [
        f'#include "{folder}/{path.name}"\n' for path in sorted((include / folder).glob("*.h"))
    ]
    (tmp_path / "main.c").write_text("".join(lines), encoding="utf-8")
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{include}"]
    subprocess.run([*command, "main.c"], cwd=tmp_path, check=True, timeout=LIMIT)


# Folders of the toolkit's include whose headers programs name; those below ascendc and opwright are
# parts of these. aclnn/opdev is for C++ alone.
IN_C = ("acl", "aclnn", "hccl")
IN_CPP = (*IN_C, "exe_graph", "ge", "graph", "lib", "node", "platform", "register", "tiling")


def alone(tmp_path: Path, header: Path, compiler: str, *options: str) -> str:
    """Return what the compiler says to a file that includes nothing else."""
    include = TOOLKIT.root / "include"
    source = tmp_path / f"{header.relative_to(include)}.{compiler}".replace("/", "-")
    source.write_text(f'#include "{header.relative_to(include)}"\n', encoding="utf-8")
    words = [compiler, *options, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{include}"]
    result = subprocess.run(
        [*words, str(source)], check=False, timeout=LIMIT, capture_output=True, text=True
    )
    return "" if result.returncode == 0 else f"{header}: {result.stderr[:1000]}"


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_each_header_compiles_alone_as_cpp(compiler: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    include = TOOLKIT.root / "include"
    headers = [path for name in IN_CPP for path in sorted((include / name).rglob("*.h"))]
    options = ("-x", "c++", "-std=c++17")
    with ThreadPoolExecutor(2) as pool:
        said = list(
            pool.map(
                lambda header: alone(tmp_path, header, compiler, *options),
                [include / "securec.h", *headers],
            )
        )
    assert len(said) > 70
    assert [text for text in said if text] == []


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_each_header_compiles_alone_as_c(compiler: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    include = TOOLKIT.root / "include"
    headers = [path for name in IN_C for path in sorted((include / name).glob("*.h"))]
    options = ("-x", "c", "-std=c99")
    said = [
        alone(tmp_path, header, compiler, *options) for header in [include / "securec.h", *headers]
    ]
    assert len(said) > 20
    assert [text for text in said if text] == []


def test_headers_of_functions_bring_the_types_that_they_name() -> None:
    """They compile alone because each includes this one; together they are compiled above."""
    texts = [path.read_text(encoding="utf-8") for path in HEADERS.rglob("*.h")]
    assert len(texts) > 1500
    base = '#include "aclnn/aclnn_base.h"\n'
    forwarding = re.compile(r'#include "(\.\./|aclnnop/)\w+\.h"\n')
    assert [text for text in texts if base not in text and not forwarding.search(text)] == []


BOUNDED = """\
#include <stdio.h>
#include "securec.h"

static char text[8];

static void print(int result) { printf("%d %s\\n", result, text); }

int main(void) {
  print(memcpy_s(text, 4, "abcdef", 6));
  print(strcpy_s(text, 8, "abc"));
  print(strcat_s(text, 8, "defg"));
  print(strcat_s(text, 8, "h"));
  print(strncpy_s(text, 8, "abcdefghijk", 3));
  print(memmove_s(text + 1, 7, text, 4));
  print(memcpy_s(text + 1, 7, text, 4));
  print(snprintf_s(text, 8, 3, "%d", 12345));
  print(sprintf_s(text, 8, "%d", 12345));
  print(sprintf_s(text, 4, "%d", 12345));
  print(memset_s(text, 7, 'x', 8));
  return 0;
}
"""

BOUNDED_PRINTED = """\
162
0 abc
0 abcdefg
162
0 abc
0 aabc
182 a
-1 123
5 12345
-1
162 xxxxxxx
"""


def test_bounded_copies_are_functions_of_c_and_need_no_library(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(BOUNDED, encoding="utf-8")
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{TOOLKIT.root / 'include'}"]
    subprocess.run([*command, "main.c"], cwd=tmp_path, check=True, timeout=LIMIT)
    program = tmp_path / "a.out"
    printed = subprocess.run(
        [program], check=True, timeout=LIMIT, capture_output=True, text=True
    ).stdout
    assert [line.strip() for line in printed.splitlines()] == BOUNDED_PRINTED.splitlines()


WEIGHTS = """\
#include <cstdio>
#include <cstdlib>
#include <vector>
#include "acl/acl.h"
#include "aclnnop/aclnn_mm.h"
#include "aclnnop/aclnn_trans_convolution_weight.h"
#include "aclnnop/aclnn_trans_matmul_weight.h"
#include "aclnnop/aclnn_trans_quant_param.h"

namespace {

// One, as float16.
constexpr uint16_t kOne = 0x3C00;

aclTensor* make_tensor(std::vector<int64_t> shape, uint64_t count, uint16_t value, void*& memory) {
  const std::vector<uint16_t> values(count, value);
  aclrtMalloc(&memory, 2 * count, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMemcpy(memory, 2 * count, values.data(), 2 * count, ACL_MEMCPY_HOST_TO_DEVICE);
  const std::vector<int64_t> strides{shape[1], 1};
  return aclCreateTensor(shape.data(), 2, ACL_FLOAT16, strides.data(), 0, ACL_FORMAT_ND,
                         shape.data(), 2, memory);
}

}  // namespace

int main() {
  aclInit(nullptr);
  aclrtSetDevice(0);
  aclrtStream stream = nullptr;
  aclrtCreateStream(&stream);
  const std::vector<int64_t> sizes{20, 3}, filter{2, 4, 8, 8};
  const aclIntArray* shape = aclCreateIntArray(sizes.data(), 2);
  uint64_t half = 0, bytes = 0, blocks = 0;
  aclnnCalculateMatmulWeightSize(shape, &half);
  aclnnCalculateMatmulWeightSizeV2(shape, ACL_INT8, &bytes);
  uint64_t others = 0;
  aclnnCalculateMatmulWeightSizeV2(shape, ACL_INT32, &others);
  if (others != bytes) return 1;
  aclnnCalculateConvolutionWeightSize(aclCreateIntArray(filter.data(), 4), false, 1, ACL_FLOAT16,
                                      &blocks);
  std::printf("%lu %lu %lu\\n", half, bytes, blocks);

  void *of_x = nullptr, *of_weight = nullptr, *of_out = nullptr;
  aclTensor* x = make_tensor({2, 20}, 40, kOne, of_x);
  aclTensor* weight = make_tensor(sizes, half, kOne, of_weight);
  aclTensor* out = make_tensor({2, 3}, 6, 0, of_out);
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  int code = aclnnTransMatmulWeightGetWorkspaceSize(weight, &size, &executor);
  code = code ? code : aclnnTransMatmulWeight(nullptr, size, executor, stream);
  aclFormat format = ACL_FORMAT_ND;
  aclGetFormat(weight, &format);
  std::printf("%d %d", code, static_cast<int>(format));
  code = aclnnMmGetWorkspaceSize(x, weight, out, 0, &size, &executor);
  code = code ? code : aclnnMm(nullptr, size, executor, stream);
  code = code ? code : aclrtSynchronizeStream(stream);
  std::vector<uint16_t> product(6);
  aclrtMemcpy(product.data(), 12, of_out, 12, ACL_MEMCPY_DEVICE_TO_HOST);
  std::printf(" %d %04x %04x\\n", code, product[0], product[5]);
  code = aclnnTransMatmulWeightGetWorkspaceSize(weight, &size, &executor);
  std::printf("%d\\n", code);

  const float scales[] = {1.0F, 0.5F}, offset = -3.0F;
  uint64_t* packed = nullptr;
  uint64_t count = 0;
  code = aclnnTransQuantParam(scales, 2, &offset, 1, &packed, &count);
  std::printf("%d %lu %lx %lx\\n", code, count, packed[0], packed[1]);
  std::free(packed);
  std::printf("%d\\n", aclnnTransQuantParam(scales, 0, nullptr, 0, &packed, &count));
  return aclFinalize();
}
"""


def test_a_program_prepares_weights_and_scales(tmp_path: Path) -> None:
    """Two blocks of 16 rows; 20 in float16 is 4D00; -3 in nine bits is 1FD."""
    run_path = f"-Wl,-rpath,{TOOLKIT.libraries}"
    compile_cpp(tmp_path, WEIGHTS, *links(by_path=False), "-o", "main", run_path)
    done = subprocess.run(
        ["./main"],
        cwd=tmp_path,
        env=CLEAN,
        check=True,
        timeout=LIMIT,
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == [
        "512 1024 16384",
        "0 29 0 4d00 4d00",
        "161002",
        "0 2 7fa03f800000 7fa03f000000",
        "161002",
    ]


HALF = """\
#include <cmath>
#include <cstdio>
#include <initializer_list>
#include "aclnn/opdev/fp16_t.h"

int main() {
  for (int i = 0; i < 0x10000; ++i) {
    op::fp16_t number;
    number.val = static_cast<uint16_t>(i);
    const float value = number;
    const op::fp16_t back = value;
    if (!std::isnan(value) && back.val != number.val) std::printf("%04x\\n", i);
  }
  for (const double value : {1.0, 65519.0, 65520.0, -2049.0, 2051.0, 5.96e-8, 2.98e-8, 0.1}) {
    std::printf("%04x ", op::fp16_t(value).val);
  }
  std::printf("%04x\\n", op::fp16_t(NAN).val & 0x7FFF);
}
"""


def test_a_half_number_of_the_host(tmp_path: Path) -> None:
    """Every number is itself again; others are rounded, halves to even."""
    compile_cpp(tmp_path, HALF, "-std=c++11", "-o", "main")
    done = subprocess.run(
        ["./main"], cwd=tmp_path, check=True, timeout=LIMIT, capture_output=True, text=True
    )
    assert done.stdout == "3c00 7bff 7c00 e800 6802 0001 0000 2e66 7e00\n"


WRONG_CALLS = """\
#include <cstdio>
#include <vector>
#include "acl/acl.h"
#include "aclnnop/aclnn_adaptive_avg_pool2d.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_fast_gelu.h"
#include "aclnnop/aclnn_matmul.h"
#include "aclnnop/aclnn_nll_loss.h"
#include "aclnnop/aclnn_relu.h"
#include "aclnnop/aclnn_topk.h"

namespace {

aclTensor* make_tensor(std::vector<int64_t> shape, aclDataType dtype) {
  void* memory = nullptr;
  aclrtMalloc(&memory, 256, ACL_MEM_MALLOC_HUGE_FIRST);
  return aclCreateTensor(shape.data(), shape.size(), dtype, nullptr, 0, ACL_FORMAT_ND, shape.data(),
                         shape.size(), memory);
}

void print(int code) { std::printf("%d %s\\n", code, code == 0 ? "" : aclGetRecentErrMsg()); }

}  // namespace

int main() {
  aclInit(nullptr);
  aclrtSetDevice(0);
  aclrtStream stream = nullptr;
  aclrtCreateStream(&stream);
  float one = 1;
  const aclScalar* alpha = aclCreateScalar(&one, ACL_FLOAT);
  const aclTensor *row = make_tensor({2}, ACL_FLOAT), *square = make_tensor({2, 2}, ACL_FLOAT);
  const aclTensor* shorts = make_tensor({2}, ACL_UINT16);
  const aclTensor* flags = make_tensor({2}, ACL_BOOL);
  aclTensor *row_out = make_tensor({2}, ACL_FLOAT), *square_out = make_tensor({2, 2}, ACL_FLOAT);
  aclTensor *flag = make_tensor({1}, ACL_BOOL), *index = make_tensor({1}, ACL_INT64);
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  print(aclnnAddGetWorkspaceSize(shorts, row, alpha, row_out, &size, &executor));
  print(aclnnTopkGetWorkspaceSize(flags, 1, 0, true, true, flag, index, &size, &executor));
  print(aclnnMatmulGetWorkspaceSize(square, square, square_out, 5, &size, &executor));
  aclTensor* wide = make_tensor({2}, ACL_INT16);
  print(aclnnInplaceReluGetWorkspaceSize(wide, &size, &executor));
  print(aclnnFastGeluGetWorkspaceSize(row, square_out, &size, &executor));
  aclTensor* three = make_tensor({3}, ACL_FLOAT);
  print(aclnnAddGetWorkspaceSize(row, three, alpha, row_out, &size, &executor));
  const int64_t one_by_one[] = {1, 1};
  aclTensor *image = make_tensor({1, 2, 2}, ACL_FLOAT), *pooled = make_tensor({1, 2, 1}, ACL_FLOAT);
  print(aclnnAdaptiveAvgPool2dGetWorkspaceSize(image, aclCreateIntArray(one_by_one, 2), pooled,
                                               &size, &executor));
  aclTensor *loss = make_tensor({}, ACL_FLOAT), *total = make_tensor({1}, ACL_FLOAT);
  aclTensor* target = make_tensor({2}, ACL_INT64);
  print(aclnnNLLLossGetWorkspaceSize(square, target, nullptr, 1, -100, loss, total, &size,
                                     &executor));
  print(aclnnMatmulGetWorkspaceSize(square, square, square_out, 1, &size, &executor));
  print(aclnnMatmul(nullptr, 0, executor, stream));
  print(aclrtSynchronizeStream(stream));

  aclOpExecutor* repeated = nullptr;
  print(aclnnAddGetWorkspaceSize(row, row, alpha, row_out, &size, &repeated));
  print(aclSetAclOpExecutorRepeatable(repeated));
  print(aclnnAdd(nullptr, 0, repeated, stream));
  print(aclnnAdd(nullptr, 0, repeated, stream));
  print(aclDestroyAclOpExecutor(repeated));
  print(aclDestroyAclOpExecutor(repeated));
  print(aclnnAdd(nullptr, 0, repeated, stream));

  aclOpExecutor* once = nullptr;
  print(aclnnAddGetWorkspaceSize(row, row, alpha, row_out, &size, &once));
  print(aclnnAdd(nullptr, 0, once, stream));
  print(aclnnAdd(nullptr, 0, once, stream));
  return aclFinalize();
}
"""

USED = (
    "161002 {}: the executor was used or destroyed before; one that serves several calls of "
    "phase 2 needs aclSetAclOpExecutorRepeatable first"
)
DIFFERENT_SIZES = (
    "161002 aclnnAddGetWorkspaceSize: The size of tensor a (2) must match the size of tensor b (3) "
    "at non-singleton dimension 0; operands: self float32 [2], other float32 [3], out float32 [2]"
)
ANSWERS = [
    "161002 aclnnAddGetWorkspaceSize: parameter 'self' is uint16; allowed: float32, float16, ",
    "161002 aclnnTopkGetWorkspaceSize: parameter 'self' is bool; allowed: float32, float16, int8, ",
    "161002 aclnnMatmulGetWorkspaceSize: parameter 'cubeMathType' is 5; allowed: 0 to 4",
    "161002 aclnnInplaceReluGetWorkspaceSize: parameter 'selfRef' is int16; allowed: float32, ",
    "161002 aclnnFastGeluGetWorkspaceSize: parameter 'self' has shape [2]; it must have that of ",
    DIFFERENT_SIZES,
    "161002 aclnnAdaptiveAvgPool2dGetWorkspaceSize: output 'out' has shape [1, 2, 1], but the ",
    "161001 aclnnNLLLossGetWorkspaceSize: parameter 'weight' is null, but it is required",
    *["0 "] * 8,
    USED.format("aclDestroyAclOpExecutor"),
    USED.format("aclnnAdd"),
    *["0 "] * 2,
    USED.format("aclnnAdd"),
]


def test_wrong_calls_are_refused_as_pages_say(tmp_path: Path) -> None:
    """And a program that uses an executor twice goes on."""
    libraries = [*links(by_path=False), "-lopapi_nn", f"-Wl,-rpath,{TOOLKIT.libraries}"]
    compile_cpp(tmp_path, WRONG_CALLS, *libraries, "-o", "main")
    printed = subprocess.run(
        ["./main"],
        cwd=tmp_path,
        env=CLEAN,
        check=True,
        timeout=LIMIT,
        capture_output=True,
        text=True,
    ).stdout
    lines = printed.splitlines()
    assert len(lines) == len(ANSWERS)
    for line, answer in zip(lines, ANSWERS, strict=True):
        assert line.startswith(answer)
