// operations/activations.cpp: activation functions.
#include <ATen/TensorOperators.h>
#include <ATen/ops/celu.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/glu.h>
#include <ATen/ops/hardsigmoid.h>
#include <ATen/ops/hardswish.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/mish.h>
#include <ATen/ops/prelu.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/selu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/threshold.h>
#include <c10/util/Exception.h>

#include "operations/tables.h"

namespace AscendIE {

namespace {

using at::Tensor;

using CallFunction = Tensor (*)(const Call&);
CallFunction activation_functions[] = {
    [](const Call& c) { return at::relu(c[0]); },
    [](const Call& c) { return at::sigmoid(c[0]); },
    [](const Call& c) { return at::leaky_relu(c[0], c.real("alpha", 0.01)); },
    [](const Call& c) {
      const bool as_pytorch = !c.has("alpha") && !c.has("beta");
      return as_pytorch ? at::hardsigmoid(c[0])
                        : at::clamp(c[0] * c.real("alpha", 1.0 / 6) + c.real("beta", 0.5), 0, 1);
    },
    [](const Call& c) { return at::tanh(c[0]); },
    [](const Call& c) { return at::silu(c[0]); },
    [](const Call& c) { return at::gelu(c[0], c.integer("tanh") ? "tanh" : "none"); },
    [](const Call& c) { return at::elu(c[0], c.real("alpha", 1), c.real("scale", 1), c.real("input_scale", 1)); },
    [](const Call& c) { return at::selu(c[0]); },
    [](const Call& c) { return at::softplus(c[0], c.real("beta", 1), c.real("threshold", 20)); },
    [](const Call& c) { return at::mish(c[0]); },
    [](const Call& c) { return at::hardtanh(c[0], 0, 6); },
};

const Operation kActivationsOperations[] = {
    {"Activation", 1,
     [](const Call& c) -> Tensors { return {selected<ActivationKind>(c, "activation", activation_functions)(c)}; }},
    {"Celu", 1, [](const Call& c) -> Tensors { return {at::celu(c[0], c.scalar("alpha").value_or(1))}; }},
    {"Glu", 1, [](const Call& c) -> Tensors { return {at::glu(c[0], c.integer("dim", -1))}; }},
    {"HardSwish", 1, [](const Call& c) -> Tensors { return {at::hardswish(c[0])}; }},
    {"LogSigmoid", 1, [](const Call& c) -> Tensors { return {at::log_sigmoid(c[0])}; }, Precision::kFull},
    {"PRelu", 2, [](const Call& c) -> Tensors { return {at::prelu(c[0], c[1])}; }},
    {"Threshold", 1,
     [](const Call& c) -> Tensors { return {at::threshold(c[0], *c.scalar("threshold"), *c.scalar("value"))}; }},
};

}  // namespace

Table activations() { return kActivationsOperations; }

}  // namespace AscendIE
