// conversion/conversion.cpp: calls a converter or an evaluator for each node, then builds the model.
#include "conversion/conversion.h"

#include <c10/util/Exception.h>

#include <string_view>

#include "conversion/evaluators.h"
#include "conversion/on_behalf_of.h"
#include "core/conversion/converters/converters.h"

namespace torch_aie::core::conversion {

namespace {

using torch::jit::Node;

AscendIE::BuilderFlag flag_of(PrecisionPolicy policy) {
  switch (policy) {
    case PrecisionPolicy::FP16:
      return AscendIE::BuilderFlag::FP16;
    case PrecisionPolicy::FP32:
      return AscendIE::BuilderFlag::FP32;
    case PrecisionPolicy::PREF_FP32:
      return AscendIE::BuilderFlag::MIX_FP32_WITH_FP16;
    case PrecisionPolicy::PREF_FP16:
      return AscendIE::BuilderFlag::MIX_FP16;
  }
  TORCH_CHECK_VALUE(false, "precision_policy ", static_cast<int>(policy), " is none of 0 to 3");
}

/// Converters name layers by their node: it is not named twice.
std::string error_at(const ConversionCtx& ctx, const std::string& where) {
  std::string error = ctx.net->GetErrorByIndex(0);
  const std::string name = " '" + where + "'";
  const size_t found = error.find(name);
  return where + ": " + (found == std::string::npos ? error : error.erase(found, name.size()));
}

void expect_no_error(const ConversionCtx& ctx, const std::string& where) {
  if (ctx.net->GetErrorsNum() > 0) TORCH_CHECK_VALUE(false, error_at(ctx, where));
}

// Words of the engine's errors that are about a layer which it cannot have for several sizes.
constexpr std::string_view kSizes = "sizes of the inputs";

/// Such a node is libtorch's.
void expect_sizes_fit(const ConversionCtx& ctx, const Node* node, const std::string& where) {
  if (ctx.net->GetErrorsNum() == 0) return;
  const std::string error = error_at(ctx, where);
  if (error.find(kSizes) != std::string::npos) throw Declined(node, error);
}

converters::args arguments_of(const ConversionCtx& ctx, const Node* node) {
  converters::args arguments;
  for (const torch::jit::Value* input : node->inputs()) {
    const Var* const var = ctx.FindVar(input);
    TORCH_CHECK_VALUE(var, util::nodeInfo(node), ": %", input->debugName(), " has no value");
    arguments.push_back(*var);
  }
  return arguments;
}

void convert(ConversionCtx& ctx, const Node* node, const converters::Converter& converter) {
  const std::string where = util::nodeInfo(node);
  converters::args arguments = arguments_of(ctx, node);
  const size_t associated = ctx.value_var_map.size();
  const bool converted = on_behalf_of(node, [&] { return converter(&ctx, node, arguments); });
  TORCH_CHECK_VALUE(converted, where, ": its converter returned false");
  expect_sizes_fit(ctx, node, where);
  expect_no_error(ctx, where);
  for (const torch::jit::Value* output : node->outputs()) {
    TORCH_CHECK_VALUE(ctx.FindVar(output), where, ": its converter associated nothing with the output %",
                      output->debugName(), " (ConversionCtx::AssociateValueAndVar)");
  }
  // Another node could not say who gave its output a value before it.
  TORCH_CHECK_VALUE(ctx.value_var_map.size() == associated + node->outputs().size(), where,
                    ": its converter associated a value that is no output of the node");
}

AscendIE::Tensor* add_input(AscendIE::Network& network, const std::string& name, const InputType& input) {
  TORCH_CHECK_VALUE(input.shape.size() <= AscendIE::Dims::MAX_DIMS, name, " has rank ", input.shape.size(),
                    ", allowed are at most ", AscendIE::Dims::MAX_DIMS);
  const AscendIE::DataType type = util::toDataType(input.type);
  if (input.samples.empty()) return network.AddInput(name.c_str(), type, util::toDims(input.shape));
  std::vector<AscendIE::Dims> samples;
  for (const auto& sample : input.samples) samples.push_back(util::toDims(sample));
  return network.AddInput(name.c_str(), type, input.profiles, samples);
}

std::string build(const ConversionCtx& ctx, PrecisionPolicy policy) {
  AscendIE::BuilderConfig config;
  config.SetFlag(flag_of(policy));
  const AscendIE::ModelData model = ctx.builder->BuildModel(ctx.net, config);
  expect_no_error(ctx, "building the model");
  return {reinterpret_cast<const char*>(model.data.get()), model.size};
}

}  // namespace

std::string convert(const Segment& segment, const std::vector<InputType>& inputs,
                    const torchscript::CompileOptions& options) {
  AscendIE::Builder* const builder = AscendIE::Builder::CreateInferBuilder(options.soc_version.c_str());
  const std::unique_ptr<AscendIE::Network> network(builder->CreateNetwork());
  ConversionCtx ctx{network.get(), builder, {}};
  for (size_t i = 0; i < segment.inputs.size(); ++i) {
    const std::string name = "input_" + std::to_string(i) + "_" + segment.inputs[i]->debugName();
    ctx.AssociateValueAndVar(segment.inputs[i], Var(add_input(*network, name, inputs[i])));
  }
  expect_no_error(ctx, "inputs");
  for (const Node* node : segment.nodes) {
    if (const converters::Converter* const converter = converters::FindConverter(node)) {
      convert(ctx, node, *converter);
    } else {
      evaluate(&ctx, node, arguments_of(ctx, node));
    }
  }
  for (const torch::jit::Value* output : segment.outputs) {
    const Var* const var = ctx.FindVar(output);
    TORCH_CHECK_VALUE(var, "the output %", output->debugName(), " has no value");
    network->SetAsOutput(var->getFreezeAscendTensor(&ctx));
  }
  return build(ctx, options.precision_policy);
}

}  // namespace torch_aie::core::conversion
