// native/ascendc/kernel/core/registers.h
// Special registers of a core that instructions read. Every block starts with these values.
#pragma once

#include <cstdint>

namespace AscendC::machine {

// The update of a value in global memory by a copy.
enum class Update : uint8_t { kSet, kAdd, kMax, kMin };

struct Registers {
  // Which elements of a repeat a vector instruction takes: a bit each, or how many elements in counter mode.
  uint64_t mask_low = ~uint64_t{0};
  uint64_t mask_high = ~uint64_t{0};
  bool mask_counts = false;
  // The comparison mask of Compare and Select in register form.
  uint64_t compare_low = 0;
  uint64_t compare_high = 0;
  Update atomic_operation = Update::kSet;
  uint8_t atomic_type = 0;               // 0 none, 1 float, 2 half, 3 int16, 4 int32, 5 int8, 6 bfloat16
  uint64_t control = uint64_t{1} << 48;  // CTRL; inf and NaN stay, as the host's runtime sets it up on Atlas A2
  // SetDeqScale: of int32_t sources; of int16_t ones as scale, offset and sign; of those as 16 such words.
  float dequantise_scale = 1.0f;
  uint64_t dequantise = 0;
  const uint64_t* dequantise_vector = nullptr;
  // SetPadValue, for DataCopyPad.
  uint64_t pad_value = 0;
  bool pads = false;
  // Fixpipe
  uint64_t quantise = 0;  // of every channel
  const void* quantise_tensor = nullptr;
  bool relu_before = false;
  // Values that LoadData fills in.
  uint64_t load_padding = 0;
  uint64_t load_repeat = 0;
  uint16_t load_height = 0;
  uint16_t load_width = 0;
  uint8_t load_pad[4] = {};
  // Results of the last reductions and sorts.
  float reduce_value = 0;
  uint64_t reduce_index = 0;
  double reduce_sum = 0;
  uint32_t merge_counts[4] = {};
  int64_t gather_count = 0;
  // SetFixpipeNz2ndFlag, for DataCopy out of L0C.
  uint16_t nd_matrices = 1;
  uint16_t nd_src_stride = 0;
  uint16_t nd_dst_stride = 0;
};

}  // namespace AscendC::machine
