// native/collective/data_type.h
// Element types and reductions.
#pragma once

#include <cstddef>
#include <vector>

#include "hccl/hccl_types.h"

namespace opwright::collective {

// Bytes of an element; throws HCCL_E_PARA for a type that does not exist.
size_t size_of(HcclDataType type);
const char* name_of(HcclDataType type);
const char* name_of(HcclReduceOp op);

// Throws HCCL_E_NOT_SUPPORT unless HCCL documents the reduction for the reported SoC.
void require_reducible(HcclDataType type, HcclReduceOp op);

// target[i] = op over all inputs[r][i], in the order of r; float16 and bfloat16 are accumulated in float32 and rounded
// once. `target` may be one of the inputs.
void reduce(HcclDataType type, HcclReduceOp op, const std::vector<const void*>& inputs, void* target, size_t count);

}  // namespace opwright::collective
