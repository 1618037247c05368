// native/ascendc/kernel/core/tiling.h
// Tiling data, tiling keys and the kind of a kernel, as its source names them.
#pragma once

#include <cstring>

#include "core/machine.h"

namespace AscendC::machine {

// The tiling data that the kernel was given, as a Data. The host may have sent less.
template <class Data>
OPWRIGHT_INLINE const Data* given_tiling(const void* tiling) {
  const void* const data = host_address(tiling);
  check_global("GET_TILING_DATA", "tiling", data, sizeof(Data));
  return static_cast<const Data*>(data);
}

template <class Data>
OPWRIGHT_INLINE void copy_tiling(Data& data, const void* tiling) {
  std::memcpy(static_cast<void*>(&data), host_address(tiling), sizeof data);
}

OPWRIGHT_INLINE bool tiling_key_is(uint64_t key) { return core().tiling_key == key; }

// Notes the kind of the kernel in which `Local` is declared, when the library is loaded.
template <class Local, uint64_t key, KernelKind kind>
struct KindNote {
  static const char* function() { return __PRETTY_FUNCTION__; }
  static inline const bool noted = note_kind(function(), key, kind);
};

}  // namespace AscendC::machine

enum KernelMetaType {
  KERNEL_TYPE_AIV_ONLY,
  KERNEL_TYPE_AIC_ONLY,
  KERNEL_TYPE_MIX_AIV_1_0,
  KERNEL_TYPE_MIX_AIC_1_0,
  KERNEL_TYPE_MIX_AIC_1_1,
  KERNEL_TYPE_MIX_AIC_1_2,
  KERNEL_TYPE_AICORE,
  KERNEL_TYPE_VECTORCORE,
  KERNEL_TYPE_MIX_AICORE,
  KERNEL_TYPE_MIX_VECTOR_CORE,
  KERNEL_TYPE_MAX
};

namespace AscendC::machine {

// Kinds of other products have no place on Atlas A2.
constexpr KernelKind kind_of(KernelMetaType type) {
  switch (type) {
    case KERNEL_TYPE_AIV_ONLY:
      return KernelKind::kVector;
    case KERNEL_TYPE_AIC_ONLY:
      return KernelKind::kCube;
    case KERNEL_TYPE_MIX_AIV_1_0:
      return KernelKind::kMix01;
    case KERNEL_TYPE_MIX_AIC_1_0:
      return KernelKind::kMix10;
    case KERNEL_TYPE_MIX_AIC_1_1:
      return KernelKind::kMix11;
    case KERNEL_TYPE_MIX_AIC_1_2:
      return KernelKind::kMix12;
    default:
      return KernelKind::kUnknown;
  }
}

}  // namespace AscendC::machine

#define OPWRIGHT_NOTE_KIND(key, type)                                                            \
  do {                                                                                           \
    struct opwright_kernel_kind {};                                                              \
    static_assert(::AscendC::machine::kind_of(type) != ::AscendC::machine::KernelKind::kUnknown, \
                  "Atlas A2 has no kernels of this type; see docs/ascend_c.md");                 \
    (void)::AscendC::machine::KindNote<opwright_kernel_kind, static_cast<uint64_t>(key),         \
                                       ::AscendC::machine::kind_of(type)>::noted;                \
  } while (false)
#define KERNEL_TASK_TYPE(key, type) OPWRIGHT_NOTE_KIND(key, type)
#define KERNEL_TASK_TYPE_DEFAULT(type) OPWRIGHT_NOTE_KIND(~uint64_t{0}, type)

// The structure that GET_TILING_DATA fills: registered in the kernel, or for the whole source by `opwright ascendc
// build`, which derives it from the tiling definition of the host side.
#define REGISTER_TILING_DEFAULT(type) using opwright_default_tiling = type
#define REGISTER_TILING_FOR_TILINGKEY(expression, type) static_assert(sizeof(type) > 0)
#define REGISTER_NONE_TILING static_assert(true)

#define GET_TILING_DATA(data, tiling) GET_TILING_DATA_WITH_STRUCT(opwright_default_tiling, data, tiling)
#define GET_TILING_DATA_WITH_STRUCT(type, data, tiling) \
  type data;                                            \
  ::AscendC::machine::copy_tiling(data, ::AscendC::machine::given_tiling<type>(tiling))
#define GET_TILING_DATA_MEMBER(type, member, data, tiling) \
  decltype(type::member) data;                             \
  ::AscendC::machine::copy_tiling(data, reinterpret_cast<const uint8_t*>(tiling) + offsetof(type, member))
#define GET_TILING_DATA_PTR_WITH_STRUCT(type, pointer, tiling) \
  const type* const pointer = ::AscendC::machine::given_tiling<type>(tiling)
#define COPY_TILING_WITH_STRUCT(type, source, pointer)              \
  type pointer##_opwright_copy;                                     \
  ::AscendC::machine::copy_tiling(pointer##_opwright_copy, source); \
  const type* const pointer = &pointer##_opwright_copy
#define COPY_TILING_WITH_ARRAY(type, count, source, pointer)        \
  type pointer##_opwright_copy[count];                              \
  ::AscendC::machine::copy_tiling(pointer##_opwright_copy, source); \
  const type(*const pointer)[count] = &pointer##_opwright_copy
#define __tiling_data_ptr__ const

#define TILING_KEY_IS(key) (::AscendC::machine::tiling_key_is(key))
#define TILING_KEY_LIST(first, second) \
  (::AscendC::machine::tiling_key_is(first) || ::AscendC::machine::tiling_key_is(second))
#define TILING_KEY_VAR (::AscendC::machine::core().tiling_key)
