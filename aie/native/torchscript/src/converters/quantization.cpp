// converters/quantization.cpp: fake quantization: values become the nearest ones that integers stand for.
#include "converters/by_schema.h"

namespace torch_aie::core::conversion::converters {

namespace {

constexpr SchemaRow kQuantizationSchemas[] = {
    {"aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, "
     "int quant_min, int quant_max) -> Tensor",
     "FakeQuantize"},
    {"aten::fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, "
     "int quant_max) -> Tensor",
     "FakeQuantize"},
    {"aten::fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, "
     "int quant_min, int quant_max) -> Tensor",
     "FakeQuantize"},
};

const auto g_quantization_rows = by_schema(kQuantizationSchemas);

}  // namespace

}  // namespace torch_aie::core::conversion::converters
