// native/sparse_attention/cpu.cpp
#include "sparse_attention/cpu.h"

#include <ATen/Version.h>
#include <ATen/cpu/Utils.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

#include "runtime/error.h"

namespace opwright::sparse {

namespace {

constexpr std::string_view kNames[] = {"base", "avx2", "avx512", "avx512_bf16", "amx_bf16"};

// libtorch does not report it in each of its versions.
bool has_vector_products_of_bfloat16() {
#if defined(__x86_64__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned kAvx512Bf16 = 1u << 5;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & kAvx512Bf16) != 0;
#else
  return false;
#endif
}

Isa best() {
  const std::string capability = at::get_cpu_capability();
  if (capability == "AVX2") return Isa::kAvx2;
  if (capability != "AVX512") return Isa::kBase;
  if (!has_vector_products_of_bfloat16()) return Isa::kAvx512;
  // ATen asks for the system's permission to use tile registers, if there are any; all that there are multiply
  // bfloat16.
  return at::cpu::init_amx() ? Isa::kAmxBf16 : Isa::kAvx512Bf16;
}

Isa chosen() {
  const Isa found = best();
  const char* const text = std::getenv("OPWRIGHT_CPU_ISA");
  if (text == nullptr) return found;
  const auto* const name = std::find(std::begin(kNames), std::end(kNames), text);
  require(name != std::end(kNames), ACL_ERROR_INVALID_PARAM, "OPWRIGHT_CPU_ISA is '", text,
          "'; it must be base, avx2, avx512, avx512_bf16 or amx_bf16");
  return std::min(found, static_cast<Isa>(name - std::begin(kNames)));
}

}  // namespace

Isa isa() {
  static const Isa value = chosen();
  return value;
}

}  // namespace opwright::sparse
