// core/conversion/converters/converters.h: how converters are written and registered.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <functional>
#include <string>
#include <vector>

#include "AscendIE.h"
#include "core/conversion/conversionctx/ConversionCtx.h"
#include "core/conversion/converters/Weights.h"
#include "core/conversion/var/Var.h"
#include "core/util/jit_util.h"
#include "core/util/prelude.h"

namespace torch_aie::core::conversion::converters {

using args = std::vector<Var>;
/// Adds layers for one node and associates every output of it; false or an exception ends the compilation, except
/// c10::NotImplementedError (TORCH_CHECK_NOT_IMPLEMENTED), with which the node runs on libtorch.
using Converter = std::function<bool(ConversionCtx*, const torch::jit::Node*, args&)>;

/// One registry per process: a later registration of an operator (name and overload) replaces an earlier one.
class ASCENDIE_API RegisterNodeConverters {
 public:
  /// A schema that does not parse makes `compile` throw: this is called while libraries are loaded.
  RegisterNodeConverters&& pattern(const std::string& schema, Converter converter) &&;
  RegisterNodeConverters& pattern(const std::string& schema, Converter converter) &;
};

/// Null if the node's operator has none.
ASCENDIE_API const Converter* FindConverter(const torch::jit::Node* node);

}  // namespace torch_aie::core::conversion::converters
