// native/sparse_attention/cpu.cpp
#include "sparse_attention/cpu.h"

#include <ATen/Version.h>
#include <ATen/cpu/Utils.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

#include "runtime/error.h"

namespace opwright::sparse {

namespace {

constexpr std::string_view kNames[] = {"base", "avx2", "avx512", "avx512_bf16", "amx_bf16"};

bool has(const char* feature) {
  const auto found = at::cpu::get_cpu_capabilities();
  const auto entry = found.find(feature);
  return entry != found.end() && entry->second.isBool() && entry->second.toBool();
}

Isa best() {
  const std::string capability = at::get_cpu_capability();
  if (capability == "AVX2") return Isa::kAvx2;
  if (capability != "AVX512") return Isa::kBase;
  if (!has("avx512_bf16")) return Isa::kAvx512;
  // Tile registers need the system's permission, which ATen asks for.
  return has("amx_bf16") && at::cpu::init_amx() ? Isa::kAmxBf16 : Isa::kAvx512Bf16;
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
