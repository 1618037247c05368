// native/ascendc/kernel/core/shape_info.h
// The shape that a kernel attaches to a tensor. Instructions do not read it.
#pragma once

#include "core/position.h"
#include "core/types.h"

namespace AscendC {

struct ShapeInfo {
  ShapeInfo() = default;
  ShapeInfo(uint8_t dims, const uint32_t* sizes, uint8_t original_dims, const uint32_t* original_sizes,
            DataFormat format)
      : shapeDim(dims), originalShapeDim(original_dims), dataFormat(format) {
    for (int i = 0; i < dims && i < K_MAX_DIM; ++i) shape[i] = sizes[i];
    for (int i = 0; i < original_dims && i < K_MAX_DIM; ++i) originalShape[i] = original_sizes[i];
  }
  ShapeInfo(uint8_t dims, const uint32_t* sizes, DataFormat format) : ShapeInfo(dims, sizes, dims, sizes, format) {}
  ShapeInfo(uint8_t dims, const uint32_t* sizes) : ShapeInfo(dims, sizes, DataFormat::ND) {}

  uint8_t shapeDim = 0;
  uint8_t originalShapeDim = 0;
  uint32_t shape[K_MAX_DIM] = {};
  uint32_t originalShape[K_MAX_DIM] = {};
  DataFormat dataFormat = DataFormat::ND;
};

OPWRIGHT_INLINE int GetShapeSize(const ShapeInfo& info) {
  int size = 1;
  for (int i = 0; i < info.shapeDim; ++i) size *= static_cast<int>(info.shape[i]);
  return info.shapeDim == 0 ? 0 : size;
}

}  // namespace AscendC
