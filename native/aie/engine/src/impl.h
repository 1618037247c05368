// impl.h: what stands behind Network, its layers and tensors.
#pragma once

#include <ATen/core/TensorBody.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "common/Dims.h"
#include "network/Network.h"
#include "operation.h"

namespace AscendIE {

/// What is known of a tensor with one choice of the inputs' sizes.
struct Inferred {
  at::Tensor meta;   // shape and type
  at::Tensor value;  // of a small tensor that depends on shapes and constants only; otherwise undefined
};

Inferred inferred(const at::Tensor& result);

struct TensorImpl {
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
  std::string name;
  const Operation* operation = nullptr;  // null: a constant
  Attributes attributes;
  std::vector<Tensor*> inputs;
  std::deque<Tensor> outputs;  // their addresses last
  std::string error;

  static LayerImpl& of(const BaseLayer& layer) { return *layer.impl_; }
  void infer() noexcept;
};

struct NetworkImpl {
  std::deque<Tensor> tensors;  // inputs
  std::vector<std::unique_ptr<BaseLayer>> layers;
  std::vector<Tensor*> inputs;
  std::vector<Tensor*> outputs;
  std::vector<std::string> call_errors;

  static NetworkImpl& of(const Network& network) { return *network.impl_; }
  std::vector<const std::string*> errors() const;
  template <class Layer>
  Layer* add(const char* operation, std::vector<Tensor*> operands, Attributes attributes);
  Tensor* constant(const Dims& dims, const WeightsBuf& values);
};

}  // namespace AscendIE
