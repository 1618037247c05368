// native/collective/data_type.cpp
#include "collective/data_type.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "runtime/error.h"
#include "runtime/soc.h"

namespace opwright::collective {
namespace {

struct TypeRow {
  HcclDataType type;
  const char* name;
  size_t size;
};

constexpr TypeRow kTypes[] = {
    {HCCL_DATA_TYPE_INT8, "int8", 1},        {HCCL_DATA_TYPE_INT16, "int16", 2},
    {HCCL_DATA_TYPE_INT32, "int32", 4},      {HCCL_DATA_TYPE_FP16, "float16", 2},
    {HCCL_DATA_TYPE_FP32, "float32", 4},     {HCCL_DATA_TYPE_INT64, "int64", 8},
    {HCCL_DATA_TYPE_UINT64, "uint64", 8},    {HCCL_DATA_TYPE_UINT8, "uint8", 1},
    {HCCL_DATA_TYPE_UINT16, "uint16", 2},    {HCCL_DATA_TYPE_UINT32, "uint32", 4},
    {HCCL_DATA_TYPE_FP64, "float64", 8},     {HCCL_DATA_TYPE_BFP16, "bfloat16", 2},
    {HCCL_DATA_TYPE_INT128, "int128", 16},   {HCCL_DATA_TYPE_HIF8, "hifloat8", 1},
    {HCCL_DATA_TYPE_FP8E4M3, "fp8_e4m3", 1}, {HCCL_DATA_TYPE_FP8E5M2, "fp8_e5m2", 1},
    {HCCL_DATA_TYPE_FP8E8M0, "fp8_e8m0", 1},
};

const TypeRow& row_of(HcclDataType type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return row;
  }
  fail(HCCL_E_PARA, "data type ", static_cast<int>(type), " does not exist");
}

template <class To, class From>
To bits_of(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

// Half precision as it lies in memory. The conversions round to the nearest, ties to even.
struct Half {
  uint16_t bits;

  operator float() const {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
    const uint32_t rest = bits & 0x7fffu;
    if (rest >= 0x7c00u) return bits_of<float>(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    // Scaling by 2^112 moves the exponent and makes subnormal numbers normal, exactly.
    const float magnitude = bits_of<float>(rest << 13) * 0x1p112f;
    return bits_of<float>(sign | bits_of<uint32_t>(magnitude));
  }
  static Half from(float value) {
    const uint32_t word = bits_of<uint32_t>(value);
    const auto sign = static_cast<uint16_t>(word >> 16 & 0x8000u);
    const uint32_t rest = word & 0x7fffffffu;
    if (rest > 0x7f800000u) return {static_cast<uint16_t>(sign | 0x7e00u)};
    if (rest >= 0x47800000u) return {static_cast<uint16_t>(sign | 0x7c00u)};  // 65536 and more
    if (rest < 0x38800000u) {  // below the normal numbers: the addition rounds to a multiple of 2^-24
      const float shifted = bits_of<float>(rest) + 0.5f;
      return {static_cast<uint16_t>(sign | (bits_of<uint32_t>(shifted) - 0x3f000000u))};
    }
    const uint32_t odd = rest >> 13 & 1u;
    return {static_cast<uint16_t>(sign | ((rest + 0xfffu + odd - 0x38000000u) >> 13))};
  }
};

struct Bfloat16 {
  uint16_t bits;

  operator float() const { return bits_of<float>(static_cast<uint32_t>(bits) << 16); }
  static Bfloat16 from(float value) {
    const uint32_t word = bits_of<uint32_t>(value);
    if ((word & 0x7fffffffu) > 0x7f800000u) return {static_cast<uint16_t>(word >> 16 | 0x40u)};
    return {static_cast<uint16_t>((word + 0x7fffu + (word >> 16 & 1u)) >> 16)};
  }
};

template <class T, class Wide>
T store(Wide value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return value;
  } else {
    return T::from(value);
  }
}

// Integers wrap, as in two's complement; floats keep NaN.
template <HcclReduceOp kOp, class T>
T combine(T left, T right) {
  if constexpr (kOp == HCCL_REDUCE_SUM || kOp == HCCL_REDUCE_PROD) {
    if constexpr (std::is_integral_v<T>) {
      using U = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
      const U a = static_cast<U>(left);
      const U b = static_cast<U>(right);
      return static_cast<T>(kOp == HCCL_REDUCE_SUM ? a + b : a * b);
    } else {
      return kOp == HCCL_REDUCE_SUM ? left + right : left * right;
    }
  } else {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(left)) return left;
      if (std::isnan(right)) return right;
    }
    return kOp == HCCL_REDUCE_MAX ? std::max(left, right) : std::min(left, right);
  }
}

constexpr size_t kBlock = 2048;  // elements that are accumulated together: they stay in the first cache

template <HcclReduceOp kOp, class T, class Wide>
void reduce_as(const std::vector<const void*>& inputs, void* target, size_t count) {
  std::array<Wide, kBlock> sum;
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t size = std::min(kBlock, count - begin);
    const T* first = static_cast<const T*>(inputs[0]) + begin;
    for (size_t i = 0; i < size; ++i) sum[i] = static_cast<Wide>(first[i]);
    for (size_t r = 1; r < inputs.size(); ++r) {
      const T* next = static_cast<const T*>(inputs[r]) + begin;
      for (size_t i = 0; i < size; ++i) sum[i] = combine<kOp, Wide>(sum[i], static_cast<Wide>(next[i]));
    }
    T* out = static_cast<T*>(target) + begin;
    for (size_t i = 0; i < size; ++i) out[i] = store<T>(sum[i]);
  }
}

template <class T, class Wide = T>
void reduce_with(HcclReduceOp op, const std::vector<const void*>& inputs, void* target, size_t count) {
  switch (op) {
    case HCCL_REDUCE_SUM:
      return reduce_as<HCCL_REDUCE_SUM, T, Wide>(inputs, target, count);
    case HCCL_REDUCE_PROD:
      return reduce_as<HCCL_REDUCE_PROD, T, Wide>(inputs, target, count);
    case HCCL_REDUCE_MAX:
      return reduce_as<HCCL_REDUCE_MAX, T, Wide>(inputs, target, count);
    case HCCL_REDUCE_MIN:
      return reduce_as<HCCL_REDUCE_MIN, T, Wide>(inputs, target, count);
  }
}

}  // namespace

size_t size_of(HcclDataType type) { return row_of(type).size; }
const char* name_of(HcclDataType type) { return row_of(type).name; }

const char* name_of(HcclReduceOp op) {
  static constexpr const char* kNames[] = {"sum", "prod", "max", "min"};
  const auto index = static_cast<size_t>(op);
  require(index < std::size(kNames), HCCL_E_PARA, "reduction ", static_cast<int>(op),
          " does not exist; allowed: 0 (sum), 1 (prod), 2 (max), 3 (min)");
  return kNames[index];
}

void require_reducible(HcclDataType type, HcclReduceOp op) {
  const char* const type_name = name_of(type);
  const char* const op_name = name_of(op);
  switch (type) {
    case HCCL_DATA_TYPE_INT16:
    case HCCL_DATA_TYPE_BFP16:
      // CANN's pages of HcclAllReduce, HcclReduce and HcclReduceScatter say so for Atlas A2 and A3.
      require(op != HCCL_REDUCE_PROD || soc().is_ascend950(), HCCL_E_NOT_SUPPORT, "HCCL has no reduction prod for ",
              type_name, " on ", soc().name, "; allowed for it: sum, max, min");
      return;
    case HCCL_DATA_TYPE_INT8:
    case HCCL_DATA_TYPE_INT32:
    case HCCL_DATA_TYPE_INT64:
    case HCCL_DATA_TYPE_FP16:
    case HCCL_DATA_TYPE_FP32:
      return;
    case HCCL_DATA_TYPE_UINT64:
    case HCCL_DATA_TYPE_FP64:
      if (soc().is_ascend950()) return;
      break;
    default:
      break;
  }
  fail(HCCL_E_NOT_SUPPORT, "HCCL does not reduce (", op_name, ") ", type_name, " on ", soc().name,
       "; allowed: int8, int16, int32, int64, float16, float32, bfloat16");
}

void reduce(HcclDataType type, HcclReduceOp op, const std::vector<const void*>& inputs, void* target, size_t count) {
  switch (type) {
    case HCCL_DATA_TYPE_INT8:
      return reduce_with<int8_t>(op, inputs, target, count);
    case HCCL_DATA_TYPE_INT16:
      return reduce_with<int16_t>(op, inputs, target, count);
    case HCCL_DATA_TYPE_INT32:
      return reduce_with<int32_t>(op, inputs, target, count);
    case HCCL_DATA_TYPE_INT64:
      return reduce_with<int64_t>(op, inputs, target, count);
    case HCCL_DATA_TYPE_UINT64:
      return reduce_with<uint64_t>(op, inputs, target, count);
    case HCCL_DATA_TYPE_FP16:
      return reduce_with<Half, float>(op, inputs, target, count);
    case HCCL_DATA_TYPE_BFP16:
      return reduce_with<Bfloat16, float>(op, inputs, target, count);
    case HCCL_DATA_TYPE_FP32:
      return reduce_with<float>(op, inputs, target, count);
    case HCCL_DATA_TYPE_FP64:
      return reduce_with<double>(op, inputs, target, count);
    default:
      fail(HCCL_E_INTERNAL, "no reduction of ", name_of(type));
  }
}

}  // namespace opwright::collective
