// native/opapi/tiled_format.cpp
// Each format splits some axes of the base tensor into blocks, and stores blocks and insides in an order of its own.
#include "opapi/tiled_format.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <numeric>

#include "nnopbase/validate.h"
#include "opapi/tensors.h"

namespace opwright::opapi {
namespace {

constexpr int64_t kCube = 16;  // rows of a block of the matrix unit
constexpr int64_t kC0 = -1;    // in a list of blocks: as many elements as the storage's last dimension has

// Matrices are seen as [batch, rows, columns], images as NCHW, volumes as NCDHW.
struct TileLayout {
  aclFormat format;
  const char* name;
  size_t base_rank;             // 3 for matrices with any number of batch dimensions
  std::vector<int64_t> blocks;  // of each axis; 0: not split
  std::vector<int64_t> order;   // of the axes after the split, in the storage
  size_t merged;                // so many leading dimensions of the storage are one
};

const std::vector<TileLayout>& layouts() {
  static const std::vector<int64_t> matrix_order{0, 3, 1, 2, 4};  // batch, columns / C0, rows / 16, 16, C0
  static const std::vector<TileLayout> all{
      {ACL_FORMAT_NC1HWC0, "NC1HWC0", 4, {0, kC0, 0, 0}, {0, 1, 3, 4, 2}, 1},
      {ACL_FORMAT_FRACTAL_Z, "FRACTAL_Z", 4, {kCube, kC0, 0, 0}, {2, 4, 5, 0, 1, 3}, 3},
      {ACL_FORMAT_NDC1HWC0, "NDC1HWC0", 5, {0, kC0, 0, 0, 0}, {0, 3, 1, 4, 5, 2}, 1},
      {ACL_FRACTAL_Z_3D, "FRACTAL_Z_3D", 5, {kCube, kC0, 0, 0, 0}, {4, 2, 5, 6, 0, 1, 3}, 4},
      {ACL_FORMAT_FRACTAL_NZ, "FRACTAL_NZ", 3, {0, kCube, kC0}, matrix_order, 1},
      {kNzC0Of16, "FRACTAL_NZ_C0_16", 3, {0, kCube, kC0}, matrix_order, 1},
      {kNzC0Of32, "FRACTAL_NZ_C0_32", 3, {0, kCube, kC0}, matrix_order, 1},
      {kNzC0Of2, "FRACTAL_NZ_C0_2", 3, {0, kCube, kC0}, matrix_order, 1},
      {kNzC0Of4, "FRACTAL_NZ_C0_4", 3, {0, kCube, kC0}, matrix_order, 1},
      {kNzC0Of8, "FRACTAL_NZ_C0_8", 3, {0, kCube, kC0}, matrix_order, 1},
  };
  return all;
}

const TileLayout* find_layout(aclFormat format) noexcept {
  const auto found = std::find_if(layouts().begin(), layouts().end(),
                                  [&](const TileLayout& layout) { return layout.format == format; });
  return found == layouts().end() ? nullptr : &*found;
}

bool is_matrix(const TileLayout& layout) { return layout.base_rank == 3; }

// The sizes as the layout sees them. Images with fewer than four dimensions are C, CH or CHW.
std::vector<int64_t> seen_sizes(const TileLayout& layout, at::IntArrayRef sizes) {
  const size_t rank = sizes.size();
  if (is_matrix(layout)) {
    require(rank >= 2, ACLNN_ERR_PARAM_INVALID, "storage format ", layout.name, " needs at least two dimensions, got ",
            rank);
    const int64_t batch = std::accumulate(sizes.begin(), sizes.end() - 2, int64_t{1}, std::multiplies<>());
    return {batch, sizes[rank - 2], sizes[rank - 1]};
  }
  const bool image = layout.base_rank == 4;
  require(rank == layout.base_rank || (image && rank < 4), ACLNN_ERR_PARAM_INVALID, "storage format ", layout.name,
          " needs ", image ? "at most 4" : "5", " dimensions, got ", rank);
  if (rank == layout.base_rank) return sizes.vec();
  std::vector<int64_t> result(layout.base_rank, 1);
  std::copy(sizes.begin(), sizes.end(), result.begin() + 1);
  return result;
}

int64_t ceil_div(int64_t value, int64_t divisor) { return (value + divisor - 1) / divisor; }

int64_t block_of(int64_t block, int64_t c0) { return block == kC0 ? c0 : block; }

// The axes after the split, in the order of the base: [blocks, inside] for each axis that is split.
std::vector<int64_t> split_sizes(const TileLayout& layout, const std::vector<int64_t>& sizes, int64_t c0) {
  std::vector<int64_t> result;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t block = block_of(layout.blocks[i], c0);
    if (block == 0) {
      result.push_back(sizes[i]);
    } else {
      result.insert(result.end(), {ceil_div(sizes[i], block), block});
    }
  }
  return result;
}

std::vector<int64_t> padded_sizes(const TileLayout& layout, const std::vector<int64_t>& sizes, int64_t c0) {
  std::vector<int64_t> result = sizes;
  for (size_t i = 0; i < result.size(); ++i) {
    const int64_t block = block_of(layout.blocks[i], c0);
    if (block != 0) result[i] = ceil_div(result[i], block) * block;
  }
  return result;
}

std::vector<int64_t> inverse(const std::vector<int64_t>& order) {
  std::vector<int64_t> result(order.size());
  for (size_t i = 0; i < order.size(); ++i) result[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return result;
}

std::vector<int64_t> permuted(const std::vector<int64_t>& values, const std::vector<int64_t>& order) {
  std::vector<int64_t> result;
  for (const int64_t index : order) result.push_back(values[static_cast<size_t>(index)]);
  return result;
}

// A view of the whole tensor with its dimensions in another order: order[i] is the view's dimension that comes i-th in
// the base tensor.
std::vector<int64_t> base_order(const aclTensor& tensor) {
  std::vector<int64_t> order(tensor.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return tensor.strides[static_cast<size_t>(a)] > tensor.strides[static_cast<size_t>(b)];
  });
  return order;
}

std::vector<int64_t> base_sizes(const aclTensor& tensor) {
  return permuted(std::vector<int64_t>(tensor.sizes.begin(), tensor.sizes.end()), base_order(tensor));
}

bool is_whole(const aclTensor& tensor) {
  if (tensor.offset != 0) return false;
  const std::vector<int64_t> order = base_order(tensor);
  int64_t step = 1;
  for (auto i = order.rbegin(); i != order.rend(); ++i) {
    const auto dim = static_cast<size_t>(*i);
    if (tensor.sizes[dim] != 1 && tensor.strides[dim] != step) return false;
    step *= tensor.sizes[dim];
  }
  return true;
}

// The storage as a tensor of its own; a view.
at::Tensor whole_storage(const aclTensor& tensor) {
  aclTensor whole = tensor;
  whole.format = ACL_FORMAT_ND;
  whole.sizes = tensor.storage_sizes;
  whole.strides = contiguous_strides(tensor.storage_sizes);
  return view_of(whole);
}

// The storage as the layout's axes in the order of the base tensor; a view.
at::Tensor split_storage(const TileLayout& layout, const at::Tensor& storage, const aclTensor& tensor,
                         const std::vector<int64_t>& seen) {
  const int64_t c0 = tensor.storage_sizes[tensor.storage_sizes.size() - 1];
  return storage.view(permuted(split_sizes(layout, seen, c0), layout.order)).permute(inverse(layout.order));
}

// A matrix whose caller sees its blocks: torch_npu gives a weight that it casts for grouped products the sizes of its
// storage. Four int8 of a block may be seen as an int32 (which holds eight 4-bit numbers).
bool shows_blocks(const aclTensor& tensor) {
  const Dims &sizes = tensor.sizes, &stored = tensor.storage_sizes;
  if (!is_matrix(*find_layout(tensor.format)) || sizes.size() != stored.size() || sizes.size() < 4) return false;
  const size_t last = sizes.size() - 1;
  if (!std::equal(sizes.begin(), sizes.begin() + last, stored.begin())) return false;
  return sizes[last] == stored[last] || (tensor.dtype == ACL_INT32 && 4 * sizes[last] == stored[last]);
}

// Its values are those of the storage as it is.
aclTensor as_stored(const aclTensor& tensor) {
  aclTensor whole = tensor;
  whole.format = ACL_FORMAT_ND;
  whole.storage_sizes = tensor.sizes;
  return whole;
}

}  // namespace

bool is_tiled(aclFormat format) noexcept { return find_layout(format) != nullptr; }

std::vector<int64_t> tiled_sizes(aclFormat format, at::IntArrayRef sizes, int64_t c0) {
  const TileLayout& layout = *find_layout(format);
  const std::vector<int64_t> stored = permuted(split_sizes(layout, seen_sizes(layout, sizes), c0), layout.order);
  std::vector<int64_t> result;
  if (is_matrix(layout)) {
    result.assign(sizes.begin(), sizes.end() - 2);
  } else {
    const auto merged = stored.begin() + static_cast<std::ptrdiff_t>(layout.merged);
    result.push_back(std::accumulate(stored.begin(), merged, int64_t{1}, std::multiplies<>()));
  }
  result.insert(result.end(), stored.begin() + static_cast<std::ptrdiff_t>(layout.merged), stored.end());
  return result;
}

aclTensor with_blocks(const aclTensor& tensor, aclFormat format) {
  constexpr size_t kRowBits = 256;
  const auto c0 = static_cast<int64_t>(kRowBits / bits_of(tensor.dtype));
  const std::vector<int64_t> sizes = tiled_sizes(format, base_sizes(tensor), c0);
  aclTensor result = tensor;
  result.format = format;
  result.storage_sizes.assign(sizes.data(), sizes.size());
  return result;
}

void validate_tiled(const aclTensor& tensor, const char* name) {
  const TileLayout& layout = *find_layout(tensor.format);
  require(is_whole(tensor), ACLNN_ERR_PARAM_INVALID, "parameter '", name, "': the view ", to_string(tensor.sizes),
          " with strides ", to_string(tensor.strides), " and offset ", tensor.offset,
          " is a part of a tensor in storage format ", layout.name, "; cast the tensor to ND (2) first");
  if (shows_blocks(tensor)) {
    validate_storage(as_stored(tensor), name);
    return;
  }
  const size_t rank = tensor.storage_sizes.size();
  require(rank >= 4, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "': the storage shape ",
          to_string(tensor.storage_sizes), " is not one of format ", layout.name);
  const std::vector<int64_t> wanted =
      tiled_sizes(tensor.format, base_sizes(tensor), std::max<int64_t>(tensor.storage_sizes[rank - 1], 1));
  require(tensor.storage_sizes == Dims(wanted.data(), wanted.size()), ACLNN_ERR_PARAM_INVALID, "parameter '", name,
          "': a tensor with sizes ", to_string(tensor.sizes), " in storage format ", layout.name,
          " has the storage shape ", to_string(Dims(wanted.data(), wanted.size())), ", got ",
          to_string(tensor.storage_sizes));
  validate_storage(tensor, name);
}

at::Tensor unpack(const aclTensor& tensor) {
  if (shows_blocks(tensor)) return view_of(as_stored(tensor)).clone(at::MemoryFormat::Contiguous);
  return unpack_blocks(whole_storage(tensor), tensor);
}

at::Tensor unpack_blocks(const at::Tensor& storage, const aclTensor& tensor) {
  const TileLayout& layout = *find_layout(tensor.format);
  const std::vector<int64_t> base = base_sizes(tensor);
  const std::vector<int64_t> seen = seen_sizes(layout, base);
  const int64_t c0 = tensor.storage_sizes[tensor.storage_sizes.size() - 1];
  at::Tensor values = split_storage(layout, storage, tensor, seen).reshape(padded_sizes(layout, seen, c0));
  for (size_t i = 0; i < seen.size(); ++i) values = values.narrow(static_cast<int64_t>(i), 0, seen[i]);
  // The caller may write into it, so it must not share the storage's memory.
  return values.reshape(base).clone(at::MemoryFormat::Contiguous).permute(inverse(base_order(tensor)));
}

void pack(const at::Tensor& values, const aclTensor& tensor) {
  if (shows_blocks(tensor)) {
    view_of(as_stored(tensor)).copy_(values);
    return;
  }
  pack_blocks(values, whole_storage(tensor), tensor);
}

void pack_blocks(const at::Tensor& values, const at::Tensor& storage, const aclTensor& tensor) {
  const TileLayout& layout = *find_layout(tensor.format);
  const std::vector<int64_t> seen = seen_sizes(layout, base_sizes(tensor));
  const int64_t c0 = tensor.storage_sizes[tensor.storage_sizes.size() - 1];
  const std::vector<int64_t> padded_to = padded_sizes(layout, seen, c0);
  at::Tensor padded = at::zeros(padded_to, values.options());
  at::Tensor inside = padded;
  for (size_t i = 0; i < seen.size(); ++i) inside = inside.narrow(static_cast<int64_t>(i), 0, seen[i]);
  inside.copy_(values.permute(base_order(tensor)).reshape(seen));
  split_storage(layout, storage, tensor, seen).copy_(padded.view(split_sizes(layout, seen, c0)));
}

}  // namespace opwright::opapi
