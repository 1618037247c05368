// native/ascendc/instructions/move.cpp
// Data copies: runs of bytes, with padding, and between row-major matrices and parts of 32 bytes.
#include "copy/move.h"

#include <algorithm>
#include <cstring>

#include "core/pipe.h"
#include "instructions/atomic.h"

namespace AscendC::machine::copy {
namespace {

constexpr uint32_t kBlockBytes = 32;

std::byte* run_of(const Side& side, uint32_t run) { return static_cast<std::byte*>(side.base) + run * side.stride; }

// Refuses what lies outside of memory. `bytes` are those of one run.
void check(const char* api, const Side& side, uint32_t runs, uint64_t bytes) {
  const uint64_t extent = static_cast<uint64_t>(runs - 1) * static_cast<uint64_t>(side.stride) + bytes;
  if (side.base == nullptr) refuse(api, side.name, " has no memory: it was not set up");
  side.global ? check_global(api, side.name, side.base, extent) : check_local(api, side.name, side.base, extent);
}

// Copies read the unified buffer and L1.
void check_source(const char* api, const Side& src, uint32_t runs, uint64_t bytes) {
  check(api, src, runs, bytes);
  if (src.global) return;
  for (const Memory memory : {Memory::kL0A, Memory::kL0B, Memory::kL0C}) {
    const MemorySpan& span = core().memory[static_cast<size_t>(memory)];
    if (static_cast<uint64_t>(static_cast<const uint8_t*>(src.base) - span.base) >= span.bytes) continue;
    refuse(api, src.name, " lies in the ", name_of(memory), "; allowed: the unified buffer and L1",
           memory == Memory::kL0C ? ", or Fixpipe, or DataCopyCO12DstParams" : "");
  }
}

void note_access(Instruction& instruction, const Side& side, uint32_t runs, uint32_t bytes, bool write) {
  if (!instruction.active()) return;
  if (!side.global) instruction.aligned(side.name, side.base, kBlockBytes);
  const Region region{side.base, bytes, runs, side.stride, 1, 0, side.buffer};
  write ? instruction.writes(side.name, region) : instruction.reads(side.name, region);
}

void put(const char* api, bool global, std::byte* dst, const std::byte* src, uint32_t bytes) {
  if (global && core().registers.atomic_operation != Update::kSet) {
    update(api, dst, src, bytes);
  } else {
    std::memmove(dst, src, bytes);
  }
}

}  // namespace

void move(Pipe pipe, const char* api, const Side& dst, const Side& src, uint32_t runs, uint32_t bytes) {
  Instruction instruction(pipe, api);
  if (runs == 0 || bytes == 0) return;
  check_source(api, src, runs, bytes);
  check(api, dst, runs, bytes);
  note_access(instruction, src, runs, bytes, false);
  note_access(instruction, dst, runs, bytes, true);
  if (src.stride == bytes && dst.stride == bytes) {
    put(api, dst.global, run_of(dst, 0), run_of(src, 0), runs * bytes);
    return;
  }
  for (uint32_t run = 0; run < runs; run++) put(api, dst.global, run_of(dst, run), run_of(src, run), bytes);
}

void move_blocks(Pipe pipe, const char* api, const Side& dst, const Side& src, uint64_t bytes) {
  const uint64_t whole = bytes / kBlockBytes * kBlockBytes;
  if (whole != bytes && core().checks) {
    refuse(api, "count takes ", bytes, " bytes, of which only whole blocks of 32 bytes are copied (", whole,
           "); copy a multiple of 32 bytes, or use DataCopyPad");
  }
  if (whole >> 32 != 0) refuse(api, "count takes ", bytes, " bytes, more than any memory of a core holds");
  move(pipe, api, dst, src, 1, static_cast<uint32_t>(whole));
}

namespace {

// Fills `bytes` bytes with an element.
void fill(std::byte* at, uint32_t bytes, const std::byte* element, uint32_t element_bytes) {
  for (uint32_t done = 0; done < bytes; done += element_bytes) {
    std::memcpy(at + done, element, std::min(element_bytes, bytes - done));
  }
}

}  // namespace

void move_padded(Pipe pipe, const char* api, const Side& dst, const Side& src, uint32_t runs, uint32_t bytes,
                 Padding padding) {
  Instruction instruction(pipe, api);
  if (runs == 0 || bytes == 0) return;
  const uint32_t element = padding.element_bytes;
  const uint32_t left = padding.left * element;
  const uint32_t right = padding.right * element;
  if (bytes % element != 0)
    refuse(api, "blockLen is ", bytes, " bytes; it must be a multiple of the element's ", element);
  if (left > kBlockBytes || right > kBlockBytes) {
    refuse(api, "leftPadding and rightPadding take ", left, " and ", right, " bytes; each may take 32 at most");
  }
  const Registers& registers = core().registers;
  const bool asked = left != 0 || right != 0;
  if (!padding.given && registers.pads) {
    padding.given = true;
    padding.value = registers.pad_value;
  }
  const uint32_t filled = (left + bytes + right + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  check_source(api, src, runs, bytes);
  check(api, dst, runs, filled);
  note_access(instruction, src, runs, bytes, false);
  // Without a padding value only the data counts as written: the rest is left to chance on the device.
  const bool all = padding.given || !asked;
  Side written = dst;
  if (!all) written.base = run_of(dst, 0) + left;
  if (instruction.active()) {
    instruction.aligned(dst.name, dst.base, kBlockBytes);
    instruction.writes(dst.name, Region{written.base, all ? filled : bytes, runs, dst.stride, 1, 0, dst.buffer});
  }
  const auto* value = reinterpret_cast<const std::byte*>(&padding.value);
  for (uint32_t run = 0; run < runs; run++) {
    std::byte* to = run_of(dst, run);
    std::memcpy(to + left, run_of(src, run), bytes);
    if (!all) continue;
    // Without any padding asked for, the device fills the last block with the run's first element.
    const std::byte* filler = asked ? value : to;
    fill(to, left, filler, element);
    fill(to + left + bytes, filled - left - bytes, filler, element);
  }
}

void rows_to_parts(Pipe pipe, const Side& dst, const Side& src, uint32_t element_bytes, const Nd2NzParams& shape) {
  constexpr const char* kApi = "DataCopy";
  Instruction instruction(pipe, kApi);
  if (shape.ndNum == 0 || shape.nValue == 0 || shape.dValue == 0) return;
  const uint32_t row_bytes = uint32_t{shape.dValue} * element_bytes;
  const uint32_t parts = (row_bytes + kBlockBytes - 1) / kBlockBytes;
  const int64_t src_row = int64_t{shape.srcDValue} * element_bytes;
  const int64_t dst_row = int64_t{shape.dstNzNStride} * kBlockBytes;
  const int64_t dst_part = int64_t{shape.dstNzC0Stride} * kBlockBytes;
  for (uint32_t matrix = 0; matrix < shape.ndNum; matrix++) {
    const Side from{src.name,
                    static_cast<std::byte*>(src.base) + int64_t{matrix} * shape.srcNdMatrixStride * element_bytes,
                    src_row, src.global, src.buffer};
    const Side to{dst.name,
                  static_cast<std::byte*>(dst.base) + int64_t{matrix} * shape.dstNzMatrixStride * element_bytes,
                  dst_part, dst.global, dst.buffer};
    check(kApi, from, shape.nValue, row_bytes);
    check(kApi, to, parts, static_cast<uint64_t>((shape.nValue - 1) * dst_row) + kBlockBytes);
    note_access(instruction, from, shape.nValue, row_bytes, false);
    if (instruction.active()) {
      instruction.aligned(to.name, to.base, kBlockBytes);
      instruction.writes(to.name, Region{to.base, kBlockBytes, shape.nValue, dst_row, parts, dst_part, to.buffer});
    }
    for (uint32_t row = 0; row < shape.nValue; row++) {
      for (uint32_t part = 0; part < parts; part++) {
        std::byte* target = run_of(to, part) + row * dst_row;
        const uint32_t bytes = std::min(kBlockBytes, row_bytes - part * kBlockBytes);
        std::memcpy(target, run_of(from, row) + part * kBlockBytes, bytes);
        std::memset(target + bytes, 0, kBlockBytes - bytes);
      }
    }
  }
}

void parts_to_rows(Pipe pipe, const Side& dst, const Side& src, uint32_t element_bytes, const Nz2NdParamsFull& shape) {
  constexpr const char* kApi = "DataCopy";
  constexpr uint32_t kPart = 16;  // elements
  Instruction instruction(pipe, kApi);
  if (shape.ndNum == 0 || shape.nValue == 0 || shape.dValue == 0) return;
  if (shape.dValue % kPart != 0) refuse(kApi, "dValue is ", shape.dValue, "; NZ to ND needs a multiple of 16");
  const uint32_t part_bytes = kPart * element_bytes;
  const uint32_t parts = shape.dValue / kPart;
  const int64_t src_part = int64_t{shape.srcNStride} * part_bytes;
  const int64_t dst_row = int64_t{shape.dstDStride} * element_bytes;
  for (uint32_t matrix = 0; matrix < shape.ndNum; matrix++) {
    const Side from{src.name,
                    static_cast<std::byte*>(src.base) + int64_t{matrix} * shape.srcNdMatrixStride * kPart * part_bytes,
                    src_part, src.global, src.buffer};
    const Side to{dst.name,
                  static_cast<std::byte*>(dst.base) + int64_t{matrix} * shape.dstNdMatrixStride * element_bytes,
                  dst_row, dst.global, dst.buffer};
    check(kApi, from, parts, shape.nValue * part_bytes);
    check(kApi, to, shape.nValue, shape.dValue * element_bytes);
    note_access(instruction, from, parts, shape.nValue * part_bytes, false);
    note_access(instruction, to, shape.nValue, shape.dValue * element_bytes, true);
    for (uint32_t row = 0; row < shape.nValue; row++) {
      for (uint32_t part = 0; part < parts; part++) {
        put(kApi, dst.global, run_of(to, row) + part * part_bytes, run_of(from, part) + row * part_bytes, part_bytes);
      }
    }
  }
}

void widen_bias(const Side& dst, const Side& src, uint32_t runs, uint32_t count) {
  constexpr const char* kApi = "DataCopy";
  Instruction instruction(Pipe::kMte1, kApi);
  if (runs == 0 || count == 0) return;
  check(kApi, src, runs, count * sizeof(half));
  check(kApi, dst, runs, count * sizeof(float));
  note_access(instruction, src, runs, count * sizeof(half), false);
  note_access(instruction, dst, runs, count * sizeof(float), true);
  for (uint32_t run = 0; run < runs; run++) {
    const auto* from = reinterpret_cast<const half*>(run_of(src, run));
    auto* to = reinterpret_cast<float*>(run_of(dst, run));
    std::copy_n(from, count, to);
  }
}

}  // namespace AscendC::machine::copy
