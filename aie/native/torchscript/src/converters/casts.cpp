// converters/casts.cpp: other types. Engines run on one device: a move to another one of its kind is none.
#include <c10/util/Exception.h>

#include "converters/shared.h"

namespace torch_aie::core::conversion::converters {

namespace {

using torch::jit::Node;

void expect_own_device(const Var& device) {
  if (device.isNone()) return;
  const c10::Device given = device.getIValue().toDevice();
  TORCH_CHECK_VALUE(given.is_cpu() || given.is_privateuseone(), "device: got ", given, ", allowed are cpu and npu");
}

bool cast(ConversionCtx* ctx, const Node* node, AscendIE::Tensor* x, AscendIE::DataType type) {
  if (x->GetType() == type) return finish(ctx, node, x);
  return finish(ctx, node, ctx->net->AddCast(x, type));
}

/// Numbers of the arguments that have the type and the device; 0 for none.
Converter to(size_t dtype, size_t device = 0) {
  return [dtype, device](ConversionCtx* ctx, const Node* node, args& arguments) {
    if (device != 0) expect_own_device(arguments.at(device));
    AscendIE::Tensor* const x = tensor(ctx, arguments);
    if (dtype == 0 || arguments.at(dtype).isNone()) return finish(ctx, node, x);
    return cast(ctx, node, x, util::toDataType(arguments[dtype].unwrapToScalarType()));
  };
}

bool to_other(ConversionCtx* ctx, const Node* node, args& arguments) {
  return cast(ctx, node, tensor(ctx, arguments), tensor(ctx, arguments, 1)->GetType());
}

const auto g_casts =
    RegisterNodeConverters()
        .pattern(
            "aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, "
            "bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
            to(2, 1))
        .pattern(
            "aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
            "MemoryFormat? memory_format=None) -> Tensor(a)",
            to(1))
        .pattern(
            "aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, "
            "MemoryFormat? memory_format=None) -> Tensor(a)",
            to(1, 3))
        .pattern(
            "aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, "
            "MemoryFormat? memory_format=None) -> Tensor(a)",
            to_other)
        .pattern(
            "aten::to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, bool non_blocking=False, "
            "bool copy=False) -> Tensor(b|a)",
            to(2, 1))
        .pattern(
            "aten::to.prim_dtype(Tensor(a) self, int? dtype=None, bool non_blocking=False, "
            "bool copy=False) -> Tensor(b|a)",
            to(1))
        .pattern("aten::to.prim_other(Tensor(a) self, bool non_blocking=False, bool copy=False) -> Tensor(b|a)", to(0))
        .pattern("aten::type_as(Tensor self, Tensor other) -> Tensor", to_other);

}  // namespace

}  // namespace torch_aie::core::conversion::converters
