// native/ascendc/kernel/advanced/operands.h
// Operands of the high-level API. Its functions are compiled once, in libascendc_runtime (native/ascendc/functions);
// kernels hold the calls, which name to the checks what they read and write: one vector instruction for each call.
#pragma once

#include "core/local_tensor.h"
#include "core/machine.h"

namespace AscendC::machine::advanced {

enum class Number : uint8_t {
  kHalf,
  kBfloat16,
  kFloat,
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kInt4,
};

template <class T>
inline constexpr Number kNumberOf = std::is_same_v<T, half>         ? Number::kHalf
                                    : std::is_same_v<T, bfloat16_t> ? Number::kBfloat16
                                    : std::is_same_v<T, float>      ? Number::kFloat
                                    : std::is_same_v<T, int8_t>     ? Number::kInt8
                                    : std::is_same_v<T, uint8_t>    ? Number::kUint8
                                    : std::is_same_v<T, bool>       ? Number::kUint8
                                    : std::is_same_v<T, int16_t>    ? Number::kInt16
                                    : std::is_same_v<T, uint16_t>   ? Number::kUint16
                                    : std::is_same_v<T, int32_t>    ? Number::kInt32
                                    : std::is_same_v<T, uint32_t>   ? Number::kUint32
                                    : std::is_same_v<T, int64_t>    ? Number::kInt64
                                    : std::is_same_v<T, int4b_t>    ? Number::kInt4
                                                                    : Number::kUint64;

// Elements that follow each other.
struct Run {
  void* data = nullptr;
  Number number = Number::kFloat;
};

template <class T>
inline constexpr bool kIsReal = std::is_same_v<T, half> || std::is_same_v<T, float>;

// One call of the API.
class Call {
 public:
  OPWRIGHT_INLINE explicit Call(const char* api) : api_(api), instruction_(Pipe::kVector, api) {}

  template <class T>
  OPWRIGHT_INLINE Run in(const char* operand, const LocalTensor<T>& tensor, uint64_t count) {
    const Region region = region_of(operand, tensor, count);
    instruction_.reads(operand, region);
    return {tensor.data(), kNumberOf<PrimT<T>>};
  }
  template <class T>
  OPWRIGHT_INLINE Run out(const char* operand, const LocalTensor<T>& tensor, uint64_t count) {
    const Region region = region_of(operand, tensor, count);
    instruction_.writes(operand, region);
    return {tensor.data(), kNumberOf<PrimT<T>>};
  }
  // Space for intermediate results: the call overwrites all of it.
  template <class T>
  OPWRIGHT_INLINE void temporary(const LocalTensor<T>& tensor) {
    out("sharedTmpBuffer", tensor, tensor.GetSize());
  }
  OPWRIGHT_INLINE const char* api() const { return api_; }

 private:
  template <class T>
  OPWRIGHT_INLINE Region region_of(const char* operand, const LocalTensor<T>& tensor, uint64_t count) {
    if (memory_of(tensor.position()) != Memory::kUnified) {
      refuse(api_, operand, " is not in the unified buffer; allowed: VECIN, VECCALC, VECOUT");
    }
    const auto bytes = static_cast<uint32_t>(bytes_of<PrimT<T>>(count));
    check_local(api_, operand, tensor.data(), bytes);
    instruction_.aligned(operand, tensor.data(), 32);
    return {tensor.data(), bytes, 1, 0, 1, 0, tensor.buffer()};
  }

  const char* api_;
  Instruction instruction_;
};

}  // namespace AscendC::machine::advanced
