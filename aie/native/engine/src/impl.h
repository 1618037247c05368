// impl.h: what stands behind Network, its layers and tensors.
#pragma once

#include <ATen/core/TensorBody.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/Dims.h"
#include "network/Network.h"
#include "operation.h"

namespace AscendIE {

struct NetworkImpl;

/// For messages: control characters as escapes; `in_quotes` has quotes around.
std::string escaped(std::string_view name);
std::string in_quotes(std::string_view name);
/// Empty for a shape that is not too long.
std::string too_long(const Dims& dims);

/// Facts about a tensor with one choice of the inputs' sizes.
struct Inferred {
  at::Tensor meta;   // shape and type
  at::Tensor value;  // of a small tensor that depends on shapes and constants only; otherwise undefined
};

Inferred inferred(const at::Tensor& result);

struct TensorImpl {
  const NetworkImpl* network = nullptr;  // its owner
  std::string name;
  at::Tensor meta;  // shape (with the first choice of sizes) and type; undefined while its layer has an error
  std::vector<Inferred> choices;       // one if the sizes of the inputs do not matter
  std::vector<DimsRange> profiles;     // of an input: what it may look like
  at::Tensor constant;                 // the value, if it is known when the network is built
  DataType asked = DataType::UNKNOWN;  // by SetType
  bool input = false;
  bool output = false;

  static TensorImpl& of(const Tensor& tensor) { return *tensor.impl_; }
  const Inferred& at(size_t choice) const { return choices.at(choices.size() == 1 ? 0 : choice); }
  /// -1 for a dimension that depends on the sizes of the inputs.
  std::vector<int64_t> shape() const;
  void set(std::vector<Inferred> inferred);
};

struct LayerImpl {
  const NetworkImpl* network = nullptr;  // its owner
  std::string kind;
  std::string name;
  bool named = false;                    // by SetName
  const Operation* operation = nullptr;  // null: a constant
  Attributes attributes;
  std::vector<Tensor*> inputs;
  std::deque<Tensor> outputs;                               // their addresses last
  std::map<std::string, std::string, std::less<>> refused;  // errors of setters, by what they set
  std::string cause;                                        // of the error, without the layer
  std::string error;

  static LayerImpl& of(const BaseLayer& layer) { return *layer.impl_; }
  void infer() noexcept;
  void add_output();
  void fail(std::string why);
  /// The error of what sets `part`; it goes when the part is set again: `why` is empty.
  void refuse(std::string_view part, const std::string& why);
};

struct NetworkImpl {
  std::deque<Tensor> tensors;  // inputs
  std::vector<std::unique_ptr<BaseLayer>> layers;
  std::vector<Tensor*> inputs;
  std::vector<Tensor*> outputs;
  std::vector<std::string> call_errors;
  std::string build_error;  // of the last BuildModel

  static NetworkImpl& of(const Network& network) { return *network.impl_; }
  std::vector<const std::string*> errors() const;
  template <class Layer>
  Layer* add(const char* operation, std::vector<Tensor*> operands, Attributes attributes);
  Tensor* constant(const Dims& dims, const WeightsBuf& values);
};

}  // namespace AscendIE
