// core/custom_pass/custom_pass.h: converters of several operators at once.
#pragma once

#include <string>

#include "core/conversion/converters/converter_util.h"

namespace torch_aie::core::custom_pass {

/// Patterns are graphs in TorchScript's text form, of operators whose inner results nobody else reads. Where one is
/// found, the converter is called instead of those of the operators: `args` are the pattern's inputs in their order,
/// the node's outputs are the pattern's. A later registration is tried first; one of the same text replaces an earlier.
class ASCENDIE_API RegisterSubgraphConverters {
 public:
  /// A pattern that does not parse makes `compile` throw: this is called while libraries are loaded.
  RegisterSubgraphConverters&& pattern(const std::string& subgraph, conversion::converters::Converter converter) &&;
  RegisterSubgraphConverters& pattern(const std::string& subgraph, conversion::converters::Converter converter) &;
};

}  // namespace torch_aie::core::custom_pass
