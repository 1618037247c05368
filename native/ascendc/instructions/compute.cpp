// native/ascendc/instructions/compute.cpp
// One function per row of vector/table.h with one source, two sources or a source and a scalar.
#include "instructions/arithmetic.h"

namespace AscendC::machine::vector {
namespace {

template <class D, class W>
void store(void* dst, uint64_t start, const W* numbers, uint32_t count, const Arguments& arguments) {
  D* lanes = static_cast<D*>(dst) + start;
  if constexpr (std::is_same_v<D, half>) {
    narrow(lanes, numbers, count, arguments.saturates);
  } else if constexpr (std::is_integral_v<D> && std::is_integral_v<W>) {
    for (uint32_t i = 0; i < count; i++) {
      lanes[i] =
          static_cast<D>(std::clamp<W>(numbers[i], std::numeric_limits<D>::min(), std::numeric_limits<D>::max()));
    }
  } else {
    for (uint32_t i = 0; i < count; i++) lanes[i] = saturate<D>(std::nearbyint(numbers[i]));
  }
}

// Runs `lane(i, …)` over numbers of type W, from sources of type S into a destination of type D. Sources may be the
// destination; elements of one number type are computed in place, without a copy.
template <class D, class S, class W, size_t kSources, class Lane>
void over_lanes(uint32_t count, void* dst, const void* const* sources, const Arguments& arguments, Lane lane) {
  constexpr bool direct = std::is_same_v<D, W> && std::is_same_v<S, W>;
  constexpr bool stored_directly = std::is_same_v<D, W>;
  W buffers[kSources][direct ? 1 : kBatch];
  W result[stored_directly ? 1 : kBatch];
  const uint32_t batch = direct ? count : kBatch;
  for (uint32_t start = 0; start < count; start += batch) {
    const uint32_t size = std::min(batch, count - start);
    const W* a = numbers<S>(sources[0], start, size, buffers[0]);
    const W* b = a;
    if constexpr (kSources > 1) b = numbers<S>(sources[1], start, size, buffers[1]);
    W* out = stored_directly ? static_cast<W*>(dst) + start : result;
#pragma GCC ivdep
    for (uint32_t i = 0; i < size; i++) out[i] = lane(a[i], b[i]);
    if constexpr (!stored_directly) store<D>(dst, start, result, size, arguments);
  }
}

// The same where the destination is read too: its element type is D, the sources' S.
template <class D, class S, size_t kSources, class Lane>
void over_destination(uint32_t count, void* dst, const void* const* sources, const Arguments& arguments, Lane lane) {
  using W = Wide<D>;
  W buffers[kSources][kBatch];
  W result[kBatch];
  for (uint32_t start = 0; start < count; start += kBatch) {
    const uint32_t size = std::min(kBatch, count - start);
    const W* a = numbers<S>(sources[0], start, size, buffers[0]);
    const W* b = a;
    if constexpr (kSources > 2) b = numbers<S>(sources[1], start, size, buffers[1]);
    const W* previous = numbers<D>(sources[kSources - 1], start, size, buffers[kSources - 1]);
    W* out = std::is_same_v<D, W> ? static_cast<W*>(dst) + start : result;
#pragma GCC ivdep
    for (uint32_t i = 0; i < size; i++) out[i] = lane(a[i], b[i], previous[i]);
    if constexpr (!std::is_same_v<D, W>) store<D>(dst, start, result, size, arguments);
  }
}

}  // namespace

#define OPWRIGHT_UNARY_ROW(operation, D, S)                                                                           \
  template <>                                                                                                         \
  OPWRIGHT_RUNTIME void compute<Operation::k##operation, D, S>(uint32_t count, void* dst, const void* const* sources, \
                                                               const Arguments& arguments) {                          \
    using W = Wide<S>;                                                                                                \
    over_lanes<D, S, W, 1>(count, dst, sources, arguments,                                                            \
                           [](W a, W) { return one_source<Operation::k##operation, W>(a); });                         \
  }
OPWRIGHT_VECTOR_UNARY_ROWS(OPWRIGHT_UNARY_ROW)

template <Operation operation, class D, class S>
void compute_binary(uint32_t count, void* dst, const void* const* sources, const Arguments& arguments) {
  using W = Wide<S>;
  if constexpr (accumulates(operation)) {
    over_destination<D, S, 3>(count, dst, sources, arguments, [](auto a, auto b, auto previous) {
      return with_destination<operation, Wide<D>>(a, b, previous);
    });
  } else if constexpr (operation == Operation::kAddDeqRelu) {
    const float scale = arguments.scale;
    float sums[kBatch];
    for (uint32_t start = 0; start < count; start += kBatch) {
      const uint32_t size = std::min(kBatch, count - start);
      const S* a = static_cast<const S*>(sources[0]) + start;
      const S* b = static_cast<const S*>(sources[1]) + start;
      for (uint32_t i = 0; i < size; i++) sums[i] = relu(static_cast<float>(add(a[i], b[i])) * scale);
      store<D>(dst, start, sums, size, arguments);
    }
  } else {
    over_lanes<D, S, W, 2>(count, dst, sources, arguments, [](W a, W b) { return two_sources<operation, W>(a, b); });
  }
}
#define OPWRIGHT_BINARY_ROW(operation, D, S)                                                                          \
  template <>                                                                                                         \
  OPWRIGHT_RUNTIME void compute<Operation::k##operation, D, S>(uint32_t count, void* dst, const void* const* sources, \
                                                               const Arguments& arguments) {                          \
    compute_binary<Operation::k##operation, D, S>(count, dst, sources, arguments);                                    \
  }
OPWRIGHT_VECTOR_BINARY_ROWS(OPWRIGHT_BINARY_ROW)

template <Operation operation, class D, class S>
void compute_scalar(uint32_t count, void* dst, const void* const* sources, const Arguments& arguments) {
  using W = Wide<S>;
  const auto scalar = static_cast<W>(scalar_of<S>(arguments));
  if constexpr (accumulates(operation)) {
    over_destination<D, S, 2>(count, dst, sources, arguments,
                              [scalar](auto a, auto, auto previous) { return scalar * a + previous; });
  } else {
    const int32_t mode = arguments.mode;
    over_lanes<D, S, W, 1>(count, dst, sources, arguments,
                           [scalar, mode](W a, W) { return with_scalar<operation, W>(a, scalar, mode); });
  }
}
#define OPWRIGHT_SCALAR_ROW(operation, D, S)                                                                          \
  template <>                                                                                                         \
  OPWRIGHT_RUNTIME void compute<Operation::k##operation, D, S>(uint32_t count, void* dst, const void* const* sources, \
                                                               const Arguments& arguments) {                          \
    compute_scalar<Operation::k##operation, D, S>(count, dst, sources, arguments);                                    \
  }
OPWRIGHT_VECTOR_SCALAR_ROWS(OPWRIGHT_SCALAR_ROW)

}  // namespace AscendC::machine::vector
