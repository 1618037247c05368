// native/ascendc/kernel/core/debug.h
// printf, assert, DumpTensor and related functions. ASCENDC_DUMP=0 turns them off, as documented.
#pragma once

#include <cstdio>
#include <cstring>
#include <string>

#include "core/global_tensor.h"
#include "core/local_tensor.h"
#include "core/pipe.h"

#ifndef ASCENDC_DUMP
#define ASCENDC_DUMP 1
#endif

namespace AscendC {

namespace machine {

// One value among printf's, which knows its type itself.
struct Printed {
  enum class Kind : uint8_t { kSigned, kUnsigned, kReal, kText, kPointer } kind;
  union {
    int64_t integer;
    uint64_t natural;
    double real;
    const char* text;
    const void* pointer;
  };

  Printed(bool v) : kind(Kind::kUnsigned), natural(v) {}
  template <class T, std::enable_if_t<std::is_integral_v<T> && std::is_signed_v<T>, int> = 0>
  Printed(T v) : kind(Kind::kSigned), integer(v) {}
  template <class T, std::enable_if_t<std::is_integral_v<T> && std::is_unsigned_v<T>, int> = 0>
  Printed(T v) : kind(Kind::kUnsigned), natural(v) {}
  template <class T, std::enable_if_t<std::is_enum_v<T>, int> = 0>
  Printed(T v) : kind(Kind::kSigned), integer(static_cast<int64_t>(v)) {}
  Printed(double v) : kind(Kind::kReal), real(v) {}
  Printed(float v) : kind(Kind::kReal), real(v) {}
  Printed(half v) : kind(Kind::kReal), real(static_cast<float>(v)) {}
  Printed(bfloat16_t v) : kind(Kind::kReal), real(static_cast<float>(v)) {}
  Printed(const char* v) : kind(Kind::kText), text(v) {}
  Printed(const void* v) : kind(Kind::kPointer), pointer(v) {}
};

// Writes to standard output, whole texts at a time.
OPWRIGHT_RUNTIME void print(const char* format, const Printed* values, size_t count);
// A failed assertion: prints, and ends the launch.
[[noreturn]] OPWRIGHT_RUNTIME void assertion_failed(const char* file, int line, const char* condition,
                                                    const char* format, const Printed* values, size_t count);

// The content of a tensor, for DumpTensor.
struct Dumped {
  const void* data;
  uint32_t count;
  uint64_t address;  // as the kernel counts it: local ones from the start of their memory
  const char* type;
  const char* position;
  Printed (*element)(const void* data, uint32_t index);
};
OPWRIGHT_RUNTIME void dump(const Dumped& tensor, const char* heading, const ShapeInfo* shape);

template <class T>
constexpr const char* name_of_type() {
  if constexpr (std::is_same_v<T, half>)
    return "float16";
  else if constexpr (std::is_same_v<T, bfloat16_t>)
    return "bfloat16";
  else if constexpr (std::is_same_v<T, float>)
    return "float32";
  else if constexpr (std::is_same_v<T, double>)
    return "double";
  else if constexpr (std::is_same_v<T, bool>)
    return "bool";
  else if constexpr (std::is_same_v<T, int8_t>)
    return "int8";
  else if constexpr (std::is_same_v<T, uint8_t>)
    return "uint8";
  else if constexpr (std::is_same_v<T, int16_t>)
    return "int16";
  else if constexpr (std::is_same_v<T, uint16_t>)
    return "uint16";
  else if constexpr (std::is_same_v<T, int32_t>)
    return "int32";
  else if constexpr (std::is_same_v<T, uint32_t>)
    return "uint32";
  else if constexpr (std::is_same_v<T, int64_t>)
    return "int64";
  else if constexpr (std::is_same_v<T, uint64_t>)
    return "uint64";
  else
    return "unknown";
}

template <class T>
Printed element_of(const void* data, uint32_t index) {
  return Printed(static_cast<const T*>(data)[index]);
}

constexpr const char* short_name_of(Memory memory) {
  constexpr const char* kNames[] = {"UB", "L1", "L0A", "L0B", "L0C", "BIAS", "FIXBUF", "GM"};
  return kNames[static_cast<size_t>(memory)];
}

template <class T>
void dump_tensor(const T* data, TPosition position, const std::string& heading, uint32_t count,
                 const ShapeInfo* shape) {
  const Memory memory = memory_of(position);
  uint64_t address = reinterpret_cast<uint64_t>(data);
  if (memory == Memory::kNone) {
    check_global("DumpTensor", "tensor", data, bytes_of<T>(count));
  } else {
    check_local("DumpTensor", "tensor", data, bytes_of<T>(count));
    address -= reinterpret_cast<uint64_t>(core().memory[static_cast<size_t>(memory)].base);
  }
  dump(Dumped{data, count, address, name_of_type<T>(), short_name_of(memory), element_of<T>}, heading.c_str(), shape);
}

template <class T>
void dump_pointer(const T* data, TPosition position, uint32_t desc, uint32_t count) {
  dump_tensor(data, position, "desc=" + std::to_string(desc), count, nullptr);
}

}  // namespace machine

template <class... Values>
void printf([[maybe_unused]] const char* format, [[maybe_unused]] Values... values) {
#if ASCENDC_DUMP
  const machine::Printed list[] = {machine::Printed(values)..., machine::Printed(0)};
  machine::print(format, list, sizeof...(values));
#endif
}
template <class... Values>
void PRINTF(const char* format, Values... values) {
  AscendC::printf(format, values...);
}

template <template <class> class Tensor, class T>
void DumpTensor([[maybe_unused]] const Tensor<T>& tensor, [[maybe_unused]] uint32_t desc,
                [[maybe_unused]] uint32_t dumpSize) {
#if ASCENDC_DUMP
  machine::dump_tensor(tensor.data(), tensor.position(), "desc=" + std::to_string(desc), dumpSize, nullptr);
#endif
}
template <template <class> class Tensor, class T>
void DumpTensor([[maybe_unused]] const Tensor<T>& tensor, [[maybe_unused]] uint32_t desc,
                [[maybe_unused]] uint32_t dumpSize, [[maybe_unused]] const ShapeInfo& shapeInfo) {
#if ASCENDC_DUMP
  machine::dump_tensor(tensor.data(), tensor.position(), "desc=" + std::to_string(desc), dumpSize, &shapeInfo);
#endif
}
template <template <class> class Tensor, class T>
void DumpAccChkPoint([[maybe_unused]] const Tensor<T>& tensor, [[maybe_unused]] uint32_t index,
                     [[maybe_unused]] uint32_t countOff, [[maybe_unused]] uint32_t dumpSize) {
#if ASCENDC_DUMP
  machine::dump_tensor(tensor.data() + countOff, tensor.position(), "index=" + std::to_string(index), dumpSize,
                       nullptr);
#endif
}

template <class T>
void LocalTensor<T>::Print(uint32_t count) const {
  machine::dump_tensor(data_, position_, "Print", count, nullptr);
}
template <class T>
int32_t LocalTensor<T>::ToFile(const std::string& file_name) const {
  std::FILE* const file = std::fopen(file_name.c_str(), "wb");
  if (file == nullptr) return -1;
  const size_t written = std::fwrite(data_, 1, bytes(), file);
  return std::fclose(file) == 0 && written == bytes() ? 0 : -1;
}

OPWRIGHT_INLINE void Trap() { machine::refuse("Trap", "the kernel stops itself"); }
// Stamps for the profiler of the device; the trace shows the pipes here.
OPWRIGHT_INLINE void PrintTimeStamp(uint32_t) {}
template <pipe_t pipe, uint16_t index>
OPWRIGHT_INLINE void MarkStamp() {}
template <pipe_t pipe>
OPWRIGHT_INLINE void MarkStamp(uint16_t) {}
OPWRIGHT_INLINE void MetricsProfStart() {}
OPWRIGHT_INLINE void MetricsProfStop() {}

namespace machine {

template <class... Values>
[[noreturn]] __attribute__((noinline, cold)) void assertion(const char* file, int line, const char* condition,
                                                            const char* format = "", Values... values) {
  const Printed list[] = {Printed(values)..., Printed(0)};
  assertion_failed(file, line, condition, format, list, sizeof...(values));
}

}  // namespace machine
}  // namespace AscendC

// DumpTensor for pointers: `dump_size` elements of global memory, of the unified buffer, of L0C and of L1.
template <class T>
void asc_dump_gm([[maybe_unused]] __gm__ T* input, [[maybe_unused]] uint32_t desc,
                 [[maybe_unused]] uint32_t dump_size) {
#if ASCENDC_DUMP
  AscendC::machine::dump_pointer(AscendC::machine::host_address(input), AscendC::TPosition::GM, desc, dump_size);
#endif
}
template <class T>
void asc_dump_ubuf([[maybe_unused]] __ubuf__ T* input, [[maybe_unused]] uint32_t desc,
                   [[maybe_unused]] uint32_t dump_size) {
#if ASCENDC_DUMP
  AscendC::machine::dump_pointer(input, AscendC::TPosition::VECCALC, desc, dump_size);
#endif
}
template <class T>
void asc_dump_cbuf([[maybe_unused]] __cc__ T* input, [[maybe_unused]] uint32_t desc,
                   [[maybe_unused]] uint32_t dump_size) {
#if ASCENDC_DUMP
  AscendC::machine::dump_pointer(input, AscendC::TPosition::CO1, desc, dump_size);
#endif
}
template <class T>
void asc_dump_l1buf([[maybe_unused]] __cbuf__ T* input, [[maybe_unused]] uint32_t desc,
                    [[maybe_unused]] uint32_t dump_size) {
#if ASCENDC_DUMP
  AscendC::machine::dump_pointer(input, AscendC::TPosition::A1, desc, dump_size);
#endif
}

#if ASCENDC_DUMP
#define ascendc_assert(condition, ...) \
  ((condition) ? (void)0 : ::AscendC::machine::assertion(__FILE__, __LINE__, #condition, ##__VA_ARGS__))
#else
#define ascendc_assert(condition, ...) ((void)0)
#endif
// Host code of the same file keeps its meaning: outside of a kernel a failed assertion ends the process.
#undef assert
#ifdef NDEBUG
#define assert(condition, ...) ((void)0)
#else
#define assert(condition, ...) ascendc_assert(condition, ##__VA_ARGS__)
#endif
// The name in older kernels. On the device it expands to nothing, so that published kernels have it also behind a value
// (`n = count ASSERT(count > 0);`): there it is a sum that leaves the value as it is.
namespace AscendC::machine {

struct Asserted {};
OPWRIGHT_INLINE void operator+(Asserted) {}
template <class T>
OPWRIGHT_INLINE T operator+(T value, Asserted) {
  return value;
}

}  // namespace AscendC::machine
#ifndef ASSERT
#define ASSERT(condition) +(ascendc_assert(condition), ::AscendC::machine::Asserted())
#endif

// Of older kernels as well: what to do before the launch ends, and messages with a level.
#define ASCENDC_ASSERT(condition, ...)                               \
  do {                                                               \
    if (!(condition)) {                                              \
      __VA_ARGS__;                                                   \
      ::AscendC::machine::assertion(__FILE__, __LINE__, #condition); \
    }                                                                \
  } while (false)
#define KERNEL_LOG(level, format, ...) ::AscendC::printf("[" #level "] " format "\n", ##__VA_ARGS__)
