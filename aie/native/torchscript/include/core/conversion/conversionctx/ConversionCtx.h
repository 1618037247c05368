// core/conversion/conversionctx/ConversionCtx.h: the network that is being built, and what each value became in it.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <unordered_map>

#include "builder/Builder.h"
#include "common/Common.h"
#include "core/conversion/var/Var.h"
#include "network/Network.h"

namespace torch_aie::core::conversion {

struct ASCENDIE_API ConversionCtx {
  AscendIE::Network* net = nullptr;
  AscendIE::Builder* builder = nullptr;
  std::unordered_map<const torch::jit::Value*, Var> value_var_map;

  void AssociateValueAndVar(const torch::jit::Value* value, Var var);
  /// Null if nothing was associated with the value.
  const Var* FindVar(const torch::jit::Value* value) const;
};

}  // namespace torch_aie::core::conversion
