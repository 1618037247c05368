// converters/resizing.cpp: upsampling, one row for each mode and rank, each with two schemas.
#include <c10/util/Exception.h>

#include "converters/by_schema.h"
#include "converters/shared.h"

namespace torch_aie::core::conversion::converters {

namespace {

using AscendIE::Attributes;
using torch::jit::Node;

struct Mode {
  const char* operators;  // behind aten::upsample_
  const char* mode;
  int rank;
};

constexpr Mode kModes[] = {
    {"nearest1d", "nearest", 1}, {"nearest2d", "nearest", 2},  {"nearest3d", "nearest", 3}, {"linear1d", "linear", 1},
    {"bilinear2d", "linear", 2}, {"trilinear3d", "linear", 3}, {"bicubic2d", "cubic", 2},
};
constexpr const char* kScales[] = {"scales_d", "scales_h", "scales_w"};

bool has_corners(const Mode& mode) { return std::string(mode.mode) != "nearest"; }

bool resize(ConversionCtx* ctx, const Node* node, args& arguments, const Mode& mode, bool vector) {
  std::vector<AscendIE::Tensor*> inputs{tensor(ctx, arguments)};
  Attributes attributes{{"mode", std::string(mode.mode)}};
  if (!arguments[1].isNone()) attributes["output_size"] = integers(arguments[1], inputs);
  size_t next = 2;
  if (has_corners(mode)) attributes["align_corners"] = int64_t{arguments[next++].unwrapToBool()};
  const auto set_scale = [&](size_t i, double scale) { attributes["scale_" + std::to_string(i)] = scale; };
  if (vector && !arguments[next].isNone()) {
    const std::vector<double> scales = arguments[next].unwrapToDoubleVector();
    for (size_t i = 0; i < scales.size(); ++i) set_scale(i, scales[i]);
  }
  for (size_t i = 0; !vector && next + i < arguments.size(); ++i) {
    if (!arguments[next + i].isNone()) set_scale(i, arguments[next + i].unwrapToDouble());
  }
  return finish(ctx, node, ctx->net->AddOperation("Resize", inputs, std::move(attributes)));
}

std::string scale_arguments(const Mode& mode) {
  if (mode.rank == 1) return ", float? scales=None";
  std::string text;
  for (int i = 3 - mode.rank; i < 3; ++i) text += std::string(", float? ") + kScales[i] + "=None";
  return text;
}

RegisterNodeConverters register_resizing() {
  RegisterNodeConverters all;
  for (const Mode& mode : kModes) {
    const std::string name = std::string("aten::upsample_") + mode.operators;
    const std::string corners = has_corners(mode) ? ", bool align_corners" : "";
    const auto converter = [mode](bool vector) {
      return [mode, vector](ConversionCtx* ctx, const Node* node, args& arguments) {
        return resize(ctx, node, arguments, mode, vector);
      };
    };
    all.pattern(name + "(Tensor self, int[" + std::to_string(mode.rank) + "] output_size" + corners +
                    scale_arguments(mode) + ") -> Tensor",
                converter(false));
    all.pattern(name + ".vec(Tensor input, int[]? output_size" + corners + ", float[]? scale_factors) -> Tensor",
                converter(true));
  }
  return all;
}

const auto g_resizing_rows = register_resizing();

}  // namespace

}  // namespace torch_aie::core::conversion::converters
