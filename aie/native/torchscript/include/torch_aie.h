// torch_aie.h: compiles TorchScript modules into modules that run on engines.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/Common.h"

namespace torch_aie {

using DataType = AscendIE::DataType;
enum class TensorFormat : int32_t { UNKNOWN = -1, NCHW = 0, NHWC = 1, ND = 2, NC1HWC0 = 3 };
enum class PrecisionPolicy : int32_t { FP16 = 0, FP32 = 1, PREF_FP32 = 2, PREF_FP16 = 3 };

/// The declaration of a graph's input: one shape, or a range of shapes.
struct Input {
  explicit Input(bool isShapeRange = false) : isShapeRange_(isShapeRange) {}
  Input(std::vector<int64_t> shape_, TensorFormat format_ = TensorFormat::ND)  // NOLINT: lists of shapes
      : Input(std::move(shape_), DataType::UNKNOWN, format_) {}
  Input(std::vector<int64_t> shape_, DataType dtype_, TensorFormat format_ = TensorFormat::ND)
      : minShape(shape_), maxShape(shape_), shape(std::move(shape_)), dtype(dtype_), format(format_) {}
  Input(std::vector<int64_t> min, std::vector<int64_t> max, TensorFormat format_ = TensorFormat::ND)
      : Input(std::move(min), std::move(max), DataType::UNKNOWN, format_) {}
  Input(std::vector<int64_t> min, std::vector<int64_t> max, DataType dtype_, TensorFormat format_ = TensorFormat::ND)
      : minShape(std::move(min)), maxShape(std::move(max)), dtype(dtype_), format(format_), isShapeRange_(true) {}

  bool IsShapeRange() const { return isShapeRange_; }

  std::vector<int64_t> minShape;
  std::vector<int64_t> maxShape;
  std::vector<int64_t> shape;
  DataType dtype = DataType::UNKNOWN;
  TensorFormat format = TensorFormat::ND;

 private:
  bool isShapeRange_ = false;
};

using InputProfile = std::vector<Input>;

/// One profile: static shapes or ranges; more of them are gears.
struct GraphInputs {
  std::vector<InputProfile> inputs;
};

/// Throws c10::Error for an id outside 0 to 1024.
ASCENDIE_API void set_device(int id);
ASCENDIE_API void finalize();

namespace torchscript {

struct CompileOptions {
  GraphInputs graph_inputs;
  PrecisionPolicy precision_policy = PrecisionPolicy::FP16;
  std::string soc_version = "Ascend310P3";
  uint64_t min_block_size = 1;
  int64_t optimization_level = 0;
  std::vector<uint64_t> default_buffer_size_vec{500};
  bool require_full_compilation = false;
  bool truncate_long_and_double = true;
  bool allow_tensor_replace_int = false;
  std::vector<std::string> torch_executed_ops;
  std::vector<std::string> torch_executed_modules;
};

/// The options under both of the names that programs use: documents write them in camel case.
struct CompileSpec : CompileOptions {
  CompileSpec() = default;
  explicit CompileSpec(std::vector<Input> inputs) { graph_inputs.inputs = {std::move(inputs)}; }
  explicit CompileSpec(std::vector<InputProfile> gears) { graph_inputs.inputs = std::move(gears); }
  // The references belong to their own object.
  CompileSpec(const CompileSpec& other) : CompileOptions(other) {}
  CompileSpec& operator=(const CompileSpec& other) {
    CompileOptions::operator=(other);
    return *this;
  }
  ~CompileSpec() = default;

  GraphInputs& graphInputs = graph_inputs;
  PrecisionPolicy& precisionPolicy = precision_policy;
  std::string& socVersion = soc_version;
  uint64_t& minBlockSize = min_block_size;
  int64_t& optimizationLevel = optimization_level;
  std::vector<uint64_t>& defaultBufferSizeVec = default_buffer_size_vec;
  bool& requireFullCompilation = require_full_compilation;
  bool& truncateLongAndDouble = truncate_long_and_double;
  bool& allowTensorReplaceInt = allow_tensor_replace_int;
  std::vector<std::string>& torchExecutedOps = torch_executed_ops;
  std::vector<std::string>& torchExecutedModules = torch_executed_modules;
};

/// A new module whose `forward` runs engines, and libtorch where a converter is missing. Throws c10::Error.
ASCENDIE_API torch::jit::Module compile(const torch::jit::Module& module, const CompileSpec& spec);
/// The model of a method that compiles as a whole, serialized. Throws c10::Error.
ASCENDIE_API std::string export_engine(const torch::jit::Module& module, const std::string& method_name,
                                       const CompileSpec& spec);

}  // namespace torchscript
}  // namespace torch_aie
