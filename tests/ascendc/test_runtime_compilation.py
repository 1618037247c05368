"""Ascend C that a program compiles while it runs: libacl_rtc, and kernels of device binaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.ascendc.commands import on_twin

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = r"""
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_rt_compile.h"

const char* const kSource = R"(
#include "kernel_operator.h"
#include "given/factor.h"
#if 0
__global__ __vector__ void not_there(GM_ADDR x) {}
#endif
namespace math {
template <class T>
__global__ __vector__ void scale(GM_ADDR x, int8_t by, uint32_t count) {
  AscendC::TPipe pipe;
  AscendC::TBuf<AscendC::TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, count * sizeof(T));
  AscendC::GlobalTensor<T> values;
  values.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(x), count);
  AscendC::LocalTensor<T> local = buffer.Get<T>();
  AscendC::DataCopy(local, values, count);
  AscendC::PipeBarrier<PIPE_ALL>();
  AscendC::Muls(local, local, static_cast<T>(by * FACTOR), count);
  AscendC::PipeBarrier<PIPE_ALL>();
  AscendC::DataCopy(values, local, count);
}
__global__ __vector__ void plain(GM_ADDR x) {
  *reinterpret_cast<__gm__ float*>(x) = AscendC::GetBlockNum();
}
}
extern "C" __global__ __vector__ void by_name(GM_ADDR x) {
  *reinterpret_cast<__gm__ float*>(x) = 7;
}
)";

int failures = 0;

void expect(int line, int wanted, int got) {
  if (wanted == got) return;
  std::printf("line %d: %d, not %d: %s\n", line, got, wanted, aclGetRecentErrMsg());
  ++failures;
}
#define EXPECT(WANTED, CALL) expect(__LINE__, WANTED, CALL)

std::string log_of(aclrtcProg prog) {
  size_t size = 0;
  EXPECT(0, aclrtcGetCompileLogSize(prog, &size));
  std::vector<char> text(size);
  EXPECT(0, aclrtcGetCompileLog(prog, text.data()));
  return text.data();
}

int compile(const char* source, const std::vector<const char*>& options, const char* expression,
            std::string* log) {
  aclrtcProg prog = nullptr;
  EXPECT(0, aclrtcCreateProg(&prog, source, "sample.asc", 0, nullptr, nullptr));
  if (expression != nullptr) EXPECT(0, aclrtcAddNameExpr(prog, expression));
  std::vector<const char*> words = options;
  const int code = aclrtcCompileProg(prog, words.size(), words.data());
  *log = log_of(prog);
  EXPECT(0, aclrtcDestroyProg(&prog));
  return code;
}

void run_kernels() {
  const char* headers[] = {"#define FACTOR 3\n"};
  const char* names[] = {"given/factor.h"};
  aclrtcProg prog = nullptr;
  EXPECT(0, aclrtcCreateProg(&prog, kSource, "", 1, headers, names));
  const char* const expression = "math::scale<float>";
  EXPECT(0, aclrtcAddNameExpr(prog, expression));
  const char* lowered = nullptr;
  EXPECT(176006, aclrtcGetLoweredName(prog, expression, &lowered));
  size_t size = 0;
  EXPECT(176000, aclrtcGetBinDataSize(prog, &size));
  const char* options[] = {"--npu-arch=dav-2201"};
  EXPECT(0, aclrtcCompileProg(prog, 1, options));
  std::printf("%s", log_of(prog).c_str());
  EXPECT(176005, aclrtcAddNameExpr(prog, "math::scale<half>"));
  EXPECT(176007, aclrtcGetLoweredName(prog, "math::scale<half>", &lowered));
  EXPECT(0, aclrtcGetLoweredName(prog, expression, &lowered));
  std::printf("%s\n", lowered);
  EXPECT(0, aclrtcGetBinDataSize(prog, &size));
  std::vector<char> binary(size);
  EXPECT(0, aclrtcGetBinData(prog, binary.data()));

  EXPECT(0, aclInit(nullptr));
  EXPECT(0, aclrtSetDevice(0));
  aclrtStream stream = nullptr;
  EXPECT(0, aclrtCreateStream(&stream));
  void* device = nullptr;
  std::vector<float> host(64, 2);
  const size_t bytes = host.size() * sizeof(float);
  EXPECT(0, aclrtMalloc(&device, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT(0, aclrtMemcpy(device, bytes, host.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
  const auto first = [&] {
    EXPECT(0, aclrtSynchronizeStream(stream));
    EXPECT(0, aclrtMemcpy(host.data(), bytes, device, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    return host[0];
  };

  aclrtBinaryLoadOption option;
  option.type = ACL_RT_BINARY_LOAD_OPT_MAGIC;
  option.value.magic = ACL_RT_BINARY_MAGIC_ELF_AICORE;
  aclrtBinaryLoadOptions load_options{&option, 1};
  aclrtBinHandle loaded = nullptr;
  EXPECT(0, aclrtBinaryLoadFromData(binary.data(), size, &load_options, &loaded));
  aclrtFuncHandle scale = nullptr, plain = nullptr, by_name = nullptr, missing = nullptr;
  EXPECT(0, aclrtBinaryGetFunction(loaded, lowered, &scale));
  EXPECT(0, aclrtBinaryGetFunction(loaded, "math::plain", &plain));
  EXPECT(0, aclrtBinaryGetFunction(loaded, "by_name", &by_name));
  EXPECT(507027, aclrtBinaryGetFunction(loaded, "not_there", &missing));
  char name[8];
  EXPECT(0, aclrtGetFunctionName(by_name, sizeof name, name));
  EXPECT(107000, aclrtGetFunctionName(by_name, 7, name));
  EXPECT(0, std::strcmp(name, "by_name"));

  int8_t by = 5;
  uint32_t count = 64;
  void* array[] = {&device, &by, &count};
  EXPECT(0, aclrtLaunchKernelWithArgsArray(scale, 1, stream, nullptr, array));
  const float scaled = first();
  std::printf("%g %g\n", scaled, host[63]);

  struct { void* x; int8_t by; uint32_t count; } block{device, 1, count};
  EXPECT(0, aclrtLaunchKernelWithHostArgs(scale, 1, stream, nullptr, &block, sizeof block,
                                          nullptr, 0));
  std::printf("%g\n", first());
  EXPECT(107000, aclrtLaunchKernelWithHostArgs(scale, 1, stream, nullptr, &block, 12, nullptr, 0));
  aclrtPlaceHolderInfo place{};
  EXPECT(ACL_ERROR_FEATURE_UNSUPPORTED,
         aclrtLaunchKernelWithHostArgs(scale, 1, stream, nullptr, &block, sizeof block, &place, 1));

  aclrtArgsHandle arguments = nullptr;
  aclrtParamHandle parameter = nullptr;
  EXPECT(0, aclrtKernelArgsInit(plain, &arguments));
  EXPECT(107000, aclrtKernelArgsAppend(arguments, &by, sizeof by, &parameter));
  EXPECT(0, aclrtKernelArgsAppend(arguments, &device, sizeof device, &parameter));
  EXPECT(107000, aclrtLaunchKernelWithConfig(plain, 9, stream, nullptr, arguments, nullptr));
  EXPECT(0, aclrtKernelArgsFinalize(arguments));
  aclrtLaunchKernelAttr attribute;
  attribute.id = ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE;
  attribute.value.schemMode = 1;
  aclrtLaunchKernelCfg config{&attribute, 1};
  EXPECT(0, aclrtLaunchKernelWithConfig(plain, 9, stream, &config, arguments, nullptr));
  std::printf("%g\n", first());
  attribute.id = ACL_RT_LAUNCH_KERNEL_ATTR_BLOCKDIM_OFFSET;
  attribute.value.blockDimOffset = 1;
  EXPECT(ACL_ERROR_FEATURE_UNSUPPORTED,
         aclrtLaunchKernelWithConfig(plain, 9, stream, &config, arguments, nullptr));

  EXPECT(0, aclrtBinaryUnLoad(loaded));
  EXPECT(107017, aclrtLaunchKernelWithArgsArray(by_name, 1, stream, nullptr, array));
  EXPECT(107000, aclrtBinaryLoadFromData("\x7f" "ELF", 4, nullptr, &loaded));
  EXPECT(0, aclrtcDestroyProg(&prog));
  EXPECT(176000, aclrtcDestroyProg(&prog));
}

void refuse() {
  std::string log;
  EXPECT(176003, compile("__global__ void f() { nothing(); }", {}, nullptr, &log));
  std::printf("%s\n", log.substr(0, log.find('\n')).c_str());
  const char* const empty = "";
  EXPECT(176002, compile(empty, {"-fnot-an-option"}, nullptr, &log));
  std::printf("%d\n", log.find("-fnot-an-option") != std::string::npos);
  for (const char* const option :
       {"--npu-arch=dav-3510", "--enable-simt", "-shared", "other.cpp"}) {
    EXPECT(176002, compile(empty, {option}, nullptr, &log));
    const size_t got = log.find("got:");
    std::printf("%s\n", log.substr(got, log.find('\n', got) - got).c_str());
  }
  EXPECT(176007, compile(empty, {}, "missing<float>", &log));
  EXPECT(176004, compile("__global__ void f() {}", {"-lno_library_of_this_name"}, nullptr, &log));
  EXPECT(176003, compile(empty, {"-xaicpu"}, nullptr, &log));
  EXPECT(0, compile("__global__ void f() { int unused; }", {"-Wall"}, nullptr, &log));
  std::printf("%d\n", log.find("unused variable") != std::string::npos);
  aclrtcProg prog = nullptr;
  EXPECT(176001, aclrtcCreateProg(&prog, nullptr, "", 0, nullptr, nullptr));
  const char* texts[] = {""};
  const char* names[] = {"../out.h"};
  EXPECT(176001, aclrtcCreateProg(&prog, empty, "", 1, texts, names));
  EXPECT(176001, aclrtcCreateProg(&prog, empty, "", 1, nullptr, nullptr));
  EXPECT(0, aclrtcCreateProg(&prog, empty, "", 0, nullptr, nullptr));
  const char* options[] = {""};
  EXPECT(176002, aclrtcCompileProg(prog, 1, options));
  EXPECT(176000, aclrtcCompileProg(nullptr, 0, nullptr));
}

int main(int count, char**) {
  if (count > 1) refuse();
  else run_kernels();
  return failures;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the compiled program."""
    folder = tmp_path_factory.mktemp("rtc")
    (folder / "main.cpp").write_text(PROGRAM)
    toolkit = on_twin(folder, "printenv", "ASCEND_HOME_PATH").stdout.strip()
    links = (f"-L{toolkit}/lib64", "-lascendcl", "-lacl_rtc")
    command = ("g++", f"-I{toolkit}/include", "main.cpp", *links, "-o", "main")
    result = on_twin(folder, *command)
    assert result.returncode == 0, result.stderr
    return folder


def test_a_program_compiles_its_kernels_and_runs_them(program: Path) -> None:
    result = on_twin(program, "./main")
    assert result.stdout.splitlines() == [
        "_ZN4math5scaleIfEEvPhaj",
        "30 30",  # 2 * 5 * FACTOR
        "90",
        "9",
    ]
    assert result.returncode == 0, result.stderr


def test_what_cannot_be_compiled_is_named_in_the_log(program: Path) -> None:
    result = on_twin(program, "./main", "refuse")
    lines = result.stdout.splitlines()
    assert result.returncode == 0, result.stdout + result.stderr
    assert lines[0].startswith("sample.asc: In function ")
    assert lines[1:] == [
        "1",
        "got:     dav-3510",
        "got:     --enable-simt: SIMT kernels are not supported",
        "got:     -shared",
        "got:     the file other.cpp",
        "1",
    ]
