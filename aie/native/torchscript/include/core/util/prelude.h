// core/util/prelude.h: shapes as the engine and as ATen have them.
#pragma once

#include <ATen/core/TensorBody.h>

#include <vector>

#include "common/Common.h"
#include "common/Dims.h"
#include "core/util/jit_util.h"

namespace torch_aie::core::util {

inline std::vector<int64_t> toVec(const AscendIE::Dims& dims) { return {dims.begin(), dims.end()}; }
inline AscendIE::Dims toDims(c10::IntArrayRef sizes) { return {static_cast<int32_t>(sizes.size()), sizes.data()}; }

/// With a dimension more at `pos`, counted from 0 to the rank. Throws c10::Error for another one, and for rank 9.
ASCENDIE_API AscendIE::Dims unsqueezeDims(const AscendIE::Dims& dims, int64_t pos, int64_t val = 1);

ASCENDIE_API bool hasDataType(c10::ScalarType type);
/// Throws c10::Error for a type that the engine does not have.
ASCENDIE_API AscendIE::DataType toDataType(c10::ScalarType type);
ASCENDIE_API c10::ScalarType toScalarType(AscendIE::DataType type);

}  // namespace torch_aie::core::util
