// native/nnopbase/overlap.cpp
#include "nnopbase/overlap.h"

#include <algorithm>
#include <vector>

#include "nnopbase/call_operands.h"

namespace opwright {
namespace {

struct Dimension {
  int64_t size;
  int64_t stride;  // elements
  bool operator==(const Dimension& other) const noexcept { return size == other.size && stride == other.stride; }
};

// The elements of a tensor in their order, in the form that is the same for all ways to write it: without dimensions of
// size 1, and with those joined that one stride can step through.
struct View {
  uintptr_t begin;  // of the first element
  aclDataType dtype;
  std::vector<Dimension> dimensions;  // outermost first

  bool operator==(const View& other) const noexcept {
    return begin == other.begin && dtype == other.dtype && dimensions == other.dimensions;
  }
};

View view_of(const aclTensor& tensor) {
  const auto storage = reinterpret_cast<uintptr_t>(tensor.data);
  // Blocks of a tiled format hold padding, too: all of the storage.
  if (!is_base_format(tensor.format)) return {storage, tensor.dtype, {{tensor.storage_sizes.product(), 1}}};
  View view{storage + byte_of(tensor.offset, tensor.dtype), tensor.dtype, {}};
  for (size_t i = 0; i < tensor.sizes.size(); ++i) {
    const Dimension next{tensor.sizes[i], tensor.strides[i]};
    if (next.size == 1) continue;
    if (!view.dimensions.empty() && view.dimensions.back().stride == next.size * next.stride) {
      Dimension& last = view.dimensions.back();
      last = {last.size * next.size, next.stride};
    } else {
      view.dimensions.push_back(next);
    }
  }
  return view;
}

// Calls visit(begin, bytes) for each run of neighbours, until one of the calls answers true; answers whether one did.
template <class Visit>
bool any_run(const View& view, const Visit& visit) {
  std::vector<Dimension> outer = view.dimensions;
  int64_t length = 1;
  if (!outer.empty() && outer.back().stride == 1) {
    length = outer.back().size;
    outer.pop_back();
  }
  const size_t bytes = bytes_of(length, view.dtype);
  std::vector<int64_t> place(outer.size(), 0);
  while (true) {
    int64_t index = 0;
    for (size_t i = 0; i < outer.size(); ++i) index += place[i] * outer[i].stride;
    if (visit(view.begin + byte_of(index, view.dtype), bytes)) return true;
    size_t moved = outer.size();
    while (moved > 0 && ++place[moved - 1] == outer[moved - 1].size) place[--moved] = 0;
    if (moved == 0) return false;
  }
}

struct Operand {
  View view;
  const aclTensor* tensor;
  MemoryRange range;
};

// Whether the two have a byte in common.
bool share_bytes(const Operand& left, const Operand& right) {
  const auto begin = reinterpret_cast<uintptr_t>(std::max(left.range.address, right.range.address));
  const auto end_of = [](const MemoryRange& range) { return reinterpret_cast<uintptr_t>(range.address) + range.bytes; };
  const uintptr_t end = std::min(end_of(left.range), end_of(right.range));
  if (begin >= end) return false;
  std::vector<bool> covered(end - begin);
  const auto within = [&](uintptr_t first, size_t bytes) {
    const auto clip = [&](uintptr_t at) { return static_cast<std::ptrdiff_t>(std::clamp(at, begin, end) - begin); };
    return std::pair(covered.begin() + clip(first), covered.begin() + clip(first + bytes));
  };
  any_run(left.view, [&](uintptr_t first, size_t bytes) {
    const auto [from, to] = within(first, bytes);
    std::fill(from, to, true);
    return false;
  });
  return any_run(right.view, [&](uintptr_t first, size_t bytes) {
    const auto [from, to] = within(first, bytes);
    return std::find(from, to, true) != to;
  });
}

std::vector<Operand> viewed_operands_of(aclOpExecutor& executor) {
  std::vector<Operand> operands;
  for (const CallOperand& operand : operands_of(executor)) {
    if (operand.range) operands.push_back({view_of(*operand.tensor), operand.tensor, *operand.range});
  }
  return operands;
}

OrderDependence::Operand describe(const Operand& operand) {
  return {operand.range.what, dtype_name(operand.tensor->dtype), to_string(operand.tensor->sizes),
          to_string(operand.tensor->strides), operand.tensor->offset};
}

}  // namespace

std::optional<OrderDependence> order_dependence_of(aclOpExecutor& executor) {
  const std::vector<Operand> operands = viewed_operands_of(executor);
  for (const Operand& written : operands) {
    if (!written.range.written) continue;
    for (const Operand& read : operands) {
      if (&read == &written || !read.range.read || read.view == written.view || !share_bytes(written, read)) continue;
      return OrderDependence{executor.name(), 0, describe(written), describe(read)};
    }
  }
  return std::nullopt;
}

}  // namespace opwright
