// native/ascendc/instructions/slices.cpp
// DataCopy between slices of tensors with several dimensions.
#include <cstring>
#include <vector>

#include "copy/move.h"
#include "instructions/atomic.h"

namespace AscendC::machine::copy {
namespace {

constexpr const char* kApi = "DataCopy";
constexpr uint32_t kSliceBlockBytes = 32;
constexpr uint32_t kMaxDims = 8;

// Where the pieces of one dimension start, in elements.
std::vector<uint64_t> starts(const SliceInfo& slice, uint32_t piece) {
  std::vector<uint64_t> result;
  for (uint64_t at = slice.startIndex; at + piece <= uint64_t{slice.endIndex} + 1;
       at += piece + uint64_t{slice.stride}) {
    result.push_back(at);
  }
  return result;
}

// Where the pieces of a slice start, in elements of the whole tensor.
std::vector<uint64_t> pieces_of(const SliceInfo* slices, uint32_t dims, uint32_t piece) {
  std::vector<uint64_t> result{0};
  uint64_t extent = 1;
  for (uint32_t dim = 0; dim < dims; dim++) extent *= slices[dim].shapeValue;
  for (uint32_t dim = dims; dim-- > 0;) {
    extent /= slices[dim].shapeValue;
    std::vector<uint64_t> next;
    for (const uint64_t base : result) {
      for (const uint64_t at : starts(slices[dim], dim == 0 ? piece : 1)) next.push_back(base + at * extent);
    }
    result = std::move(next);
  }
  return result;
}

void check_slices(const char* side, const SliceInfo* slices, uint32_t dims) {
  for (uint32_t dim = 0; dim < dims; dim++) {
    const SliceInfo& slice = slices[dim];
    if (slice.shapeValue == 0 || slice.startIndex > slice.endIndex || slice.endIndex > slice.shapeValue) {
      refuse(kApi, side, "SliceInfo[", dim, "] goes from ", slice.startIndex, " to ", slice.endIndex, " of ",
             slice.shapeValue, " elements; allowed: startIndex <= endIndex <= shapeValue");
    }
    if (dim != 0 && slice.burstLen != 1) refuse(kApi, side, "SliceInfo[", dim, "].burstLen must be 1");
  }
}

}  // namespace

void move_slices(Pipe pipe, const Side& dst, const Side& src, uint32_t element_bytes, const SliceInfo* dst_slices,
                 const SliceInfo* src_slices, uint32_t dims) {
  Instruction instruction(pipe, kApi);
  if (dims == 0 || dims > kMaxDims) refuse(kApi, "dimValue is ", dims, "; allowed: 1 to ", kMaxDims);
  check_slices("dst", dst_slices, dims);
  check_slices("src", src_slices, dims);
  const uint32_t bytes = src_slices[0].burstLen * kSliceBlockBytes;
  if (dst_slices[0].burstLen != src_slices[0].burstLen) {
    refuse(kApi, "burstLen is ", dst_slices[0].burstLen, " of dst and ", src_slices[0].burstLen,
           " of src; they must be equal");
  }
  const std::vector<uint64_t> from = pieces_of(src_slices, dims, bytes / element_bytes);
  const std::vector<uint64_t> to = pieces_of(dst_slices, dims, bytes / element_bytes);
  if (from.size() != to.size()) {
    refuse(kApi, "the slice of dst has ", to.size(), " pieces, that of src ", from.size(), "; they must be equal");
  }
  for (size_t i = 0; i < from.size(); i++) {
    std::byte* target = static_cast<std::byte*>(dst.base) + to[i] * element_bytes;
    std::byte* source = static_cast<std::byte*>(src.base) + from[i] * element_bytes;
    src.global ? check_global(kApi, src.name, source, bytes) : check_local(kApi, src.name, source, bytes);
    dst.global ? check_global(kApi, dst.name, target, bytes) : check_local(kApi, dst.name, target, bytes);
    instruction.reads(src.name, Region{source, bytes, 1, 0, 1, 0, src.buffer});
    instruction.writes(dst.name, Region{target, bytes, 1, 0, 1, 0, dst.buffer});
    if (dst.global && core().registers.atomic_operation != Update::kSet) {
      update(kApi, target, source, bytes);
    } else {
      std::memmove(target, source, bytes);
    }
  }
}

}  // namespace AscendC::machine::copy
