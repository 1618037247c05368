// tests/check/guarded/kernels.cpp
// Kernels of operators.py: broken in how they use memory, and sound ones beside them.
#include <ATen/Functions.h>
#include <opwright/kernel.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace {

using at::Tensor;

const float* in(const Tensor& x) { return x.const_data_ptr<float>(); }
float* out(const Tensor& x) { return x.mutable_data_ptr<float>(); }

void copy_all(const Tensor& x, const Tensor& result) {
  if (x.numel() > 0) std::memcpy(out(result), in(x), x.nbytes());
}

// Broken ----------------------------------------------------------------------------------------------------------

void reads_past(const Tensor& x, const Tensor& result) {
  for (int64_t i = 0; i < x.numel(); ++i) out(result)[i] = in(x)[i] + 0 * in(x)[i + 1];
}

void reads_before(const Tensor& x, const Tensor& result) {
  for (int64_t i = 0; i < x.numel(); ++i) out(result)[i] = in(x)[i] + (in(x)[i - 1] > 1e30f ? 1 : 0);
}

void reads_far(const Tensor& x, const Tensor& result) {
  copy_all(x, result);
  if (x.numel() > 0) out(result)[0] = in(x)[0] + 0 * in(x)[x.numel() + (1 << 20)];
}

void writes_past(const Tensor& x, const Tensor& result) {
  copy_all(x, result);
  out(result)[result.numel()] = 0;
}

void writes_before(const Tensor& x, const Tensor& result) {
  copy_all(x, result);
  out(result)[-1] = 0;
}

// Blocks of eight, the last one too.
void whole_blocks(const Tensor& x, const Tensor& result) {
  for (int64_t begin = 0; begin < x.numel(); begin += 8) {
    for (int64_t i = begin; i < begin + 8; ++i) out(result)[i] = in(x)[i];
  }
}

void unchecked_rows(const Tensor& table, const Tensor& rows, const Tensor& result) {
  const int64_t width = table.size(1);
  const auto* const index = rows.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < rows.numel(); ++i) {
    for (int64_t j = 0; j < width; ++j) out(result)[i * width + j] = in(table)[index[i] * width + j];
  }
}

// As if every tensor were contiguous.
void ignores_strides(const Tensor& x, const Tensor& result) {
  for (int64_t i = 0; i < x.numel(); ++i) out(result)[i] = in(x)[i];
}

void skips_last(const Tensor& x, const Tensor& result) {
  for (int64_t i = 0; i + 1 < x.numel(); ++i) out(result)[i] = in(x)[i];
}

void adds_to_workspace(const Tensor& x, const Tensor& result) {
  const Tensor workspace = at::empty({x.numel() + 8}, x.options());
  float* const sums = out(workspace);
  for (int64_t i = 0; i < x.numel(); ++i) out(result)[i] = in(x)[i] + sums[i];
}

void keeps_pointer(const Tensor& x, const Tensor& result) {
  static const float* kept = nullptr;
  copy_all(x, result);
  if (kept != nullptr && x.numel() > 0) out(result)[0] += 0 * kept[0];
  if (x.numel() > 0) kept = in(x);
}

void leaks_buffer(const Tensor& x, const Tensor& result) {
  auto* const buffer = static_cast<volatile char*>(std::malloc(300));
  buffer[0] = 1;
  copy_all(x, result);
}

// All calls compute in one buffer.
void one_buffer(const Tensor& x, const Tensor& result) {
  static std::vector<float> buffer(1 << 16);
  const auto count = std::min<int64_t>(x.numel(), 1 << 16);
  std::copy_n(in(x), count, buffer.data());
  for (int pass = 0; pass < 50; ++pass) {
    for (int64_t i = 0; i < count; ++i) *static_cast<volatile float*>(&buffer[i]) = buffer[i];
  }
  copy_all(x, result);
  std::copy_n(buffer.data(), count, out(result));
}

// Sound -----------------------------------------------------------------------------------------------------------

void reads_to_the_end(const Tensor& x, const Tensor& result) {
  for (int64_t i = x.numel() - 1; i >= 0; --i) out(result)[i] = in(x)[i];
}

void last_block_short(const Tensor& x, const Tensor& result) {
  for (int64_t begin = 0; begin < x.numel(); begin += 8) {
    std::array<float, 8> block{};
    const int64_t count = std::min<int64_t>(8, x.numel() - begin);
    std::copy_n(in(x) + begin, count, block.data());
    std::copy_n(block.data(), count, out(result) + begin);
  }
}

void checked_rows(const Tensor& table, const Tensor& rows, const Tensor& result) {
  const int64_t width = table.size(1);
  const auto* const index = rows.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < rows.numel(); ++i) {
    const bool known = index[i] >= 0 && index[i] < table.size(0);
    for (int64_t j = 0; j < width; ++j) {
      out(result)[i * width + j] = known ? in(table)[index[i] * width + j] : 0;
    }
  }
}

void fills_workspace(const Tensor& x, const Tensor& result) {
  const Tensor workspace = at::zeros({x.numel() + 8}, x.options());
  for (int64_t i = 0; i < x.numel(); ++i) out(result)[i] = in(x)[i] + in(workspace)[i];
}

// A table of constants, and the sum of the call before: both are the kernel's own memory.
void own_memory(const Tensor& x, const Tensor& result) {
  static const std::array<float, 4> table{0, 0, 0, 0};
  thread_local std::vector<float> before;
  for (int64_t i = 0; i < x.numel(); ++i) out(result)[i] = in(x)[i] + table[static_cast<size_t>(i % 4)];
  before.assign(in(x), in(x) + x.numel());
}

void shared_ends(const Tensor& x, const Tensor& y) {
  for (int64_t i = 0; i < x.numel(); ++i) out(x)[i] += in(y)[i];
}

}  // namespace

OPWRIGHT_KERNEL(aclnnReadsPast, (In, x)(Out, out), reads_past(x, out))
OPWRIGHT_KERNEL(aclnnReadsBefore, (In, x)(Out, out), reads_before(x, out))
OPWRIGHT_KERNEL(aclnnReadsFar, (In, x)(Out, out), reads_far(x, out))
OPWRIGHT_KERNEL(aclnnWritesPast, (In, x)(Out, out), writes_past(x, out))
OPWRIGHT_KERNEL(aclnnWritesBefore, (In, x)(Out, out), writes_before(x, out))
OPWRIGHT_KERNEL(aclnnWholeBlocks, (In, x)(Out, out), whole_blocks(x, out))
OPWRIGHT_KERNEL(aclnnUncheckedRows, (In, table)(In, rows)(Out, out), unchecked_rows(table, rows, out))
OPWRIGHT_KERNEL(aclnnIgnoresStrides, (In, x)(Out, out), ignores_strides(x, out))
OPWRIGHT_KERNEL(aclnnSkipsLast, (In, x)(Out, out), skips_last(x, out))
OPWRIGHT_KERNEL(aclnnAddsToWorkspace, (In, x)(Out, out), adds_to_workspace(x, out))
OPWRIGHT_KERNEL(aclnnKeepsPointer, (In, x)(Out, out), keeps_pointer(x, out))
OPWRIGHT_KERNEL(aclnnLeaksBuffer, (In, x)(Out, out), leaks_buffer(x, out))
OPWRIGHT_KERNEL(aclnnOneBuffer, (In, x)(Out, out), one_buffer(x, out))

OPWRIGHT_KERNEL(aclnnReadsToTheEnd, (In, x)(Out, out), reads_to_the_end(x, out))
OPWRIGHT_KERNEL(aclnnLastBlockShort, (In, x)(Out, out), last_block_short(x, out))
OPWRIGHT_KERNEL(aclnnCheckedRows, (In, table)(In, rows)(Out, out), checked_rows(table, rows, out))
OPWRIGHT_KERNEL(aclnnFollowsStrides, (In, x)(Out, out), out.copy_(x))
OPWRIGHT_KERNEL(aclnnFillsWorkspace, (In, x)(Out, out), fills_workspace(x, out))
OPWRIGHT_KERNEL(aclnnOwnMemory, (In, x)(Out, out), own_memory(x, out))
OPWRIGHT_KERNEL(aclnnSharedEnds, (Ref, xRef)(In, y), shared_ends(xRef, y))
