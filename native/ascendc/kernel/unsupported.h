// native/ascendc/kernel/unsupported.h
// Documented functions that do not exist here: a call of one is a compile error that names it and the page that lists
// what there is. Functions of the same name that exist are always preferred, so that a line too many does no harm.
#pragma once

#include "core/position.h"
#include "cube/params.h"

#ifndef OPWRIGHT_NO_UNSUPPORTED  // tools/ascend_c_pages.py lists what there is

#define OPWRIGHT_ERROR_OF(name, why) \
  __attribute__((error("AscendC::" #name " " why "; docs/ascend_c_api.md lists what is supported")))
// An ellipsis takes any arguments and is the last choice of all. Template arguments may be types or values.
#define OPWRIGHT_WITHOUT(name, why)            \
  OPWRIGHT_ERROR_OF(name, why) void name(...); \
  template <class...>                          \
  OPWRIGHT_ERROR_OF(name, why)                 \
  void name(...);                              \
  template <auto...>                           \
  OPWRIGHT_ERROR_OF(name, why)                 \
  void name(...);

namespace AscendC {

// ---- of other products

template <class Dst, class Src>
OPWRIGHT_ERROR_OF(LoadData, "with LoadData2DParamsV2 does not exist on Atlas A2")
void LoadData(const Dst& dst, const Src& src, const LoadData2DParamsV2& params);
OPWRIGHT_WITHOUT(AbsSub, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(Ands, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(AntiQuantize, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(AtomicAdd, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(AtomicCas, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(AtomicExch, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(AtomicMax, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(AtomicMin, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(BitwiseAnd, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(BitwiseNot, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(BitwiseOr, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(BitwiseXor, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(BroadCastVecToMM, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(Clamp, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(ClearSpr, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(Conv2D, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(DataCopyL1ToUB, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(DeInterleave, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(Dequantize, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(Divs, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(ExpSub, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(Fma, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(Gemm, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(GetConv2dTiling, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(GetSpr, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(GetSsbufBaseAddr, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(Hypot, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(Interleave, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(IsFinite, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(IsInf, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(IsNan, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(LoadDataUnzip, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(LoadDataWithStride, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(LoadUnzipIndex, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(LogicalAnd, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(LogicalAnds, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(LogicalNot, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(LogicalOr, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(LogicalOrs, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(LogicalXor, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(MmadMx, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(MrgSort4, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(Mull, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(MulsCast, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(NdDmaDci, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(Neg, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(Ors, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(PhiloxRandom, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(Prelu, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(ProposalConcat, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(ProposalExtract, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(Quantize, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(ResetCtrlSpr, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(ResetLoopModePara, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(Rint, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(RpSort16, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(Scatter, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(SetFixPipeAddr, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(SetFixPipeClipRelu, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(SetLoadDataRepeatWithStride, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(SetLoopModePara, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(SinCos, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(Subs, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(Truncate, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(VectorPadding, "does not exist on Atlas A2")
OPWRIGHT_WITHOUT(Where, "does not exist on Atlas A2")

// ---- of Atlas A2

OPWRIGHT_WITHOUT(Async, "is not supported on the CPU")
OPWRIGHT_WITHOUT(CheckLocalMemoryIA, "is not supported on the CPU")
OPWRIGHT_WITHOUT(CreateCubeResGroup, "is not supported on the CPU")
OPWRIGHT_WITHOUT(GetHcclContext, "is not supported on the CPU")
OPWRIGHT_WITHOUT(LoadImageToLocal, "is not supported on the CPU")
OPWRIGHT_WITHOUT(MakeTensorTrait, "is not supported on the CPU")
OPWRIGHT_WITHOUT(ReduceXorSum, "is not supported on the CPU")
OPWRIGHT_WITHOUT(SetAippFunctions, "is not supported on the CPU")
OPWRIGHT_WITHOUT(SetHcclContext, "is not supported on the CPU")

// Classes: what is made of one is refused.
namespace detail {
template <class...>
inline constexpr bool kNever = false;
}
#define OPWRIGHT_CLASS_WITHOUT(name)              \
  static_assert(::AscendC::detail::kNever<First>, \
                "AscendC::" #name " is not supported on the CPU; docs/ascend_c_api.md lists what is supported")
template <class First, TPosition position = TPosition::GM, class... Rest>
struct TensorTrait {
  OPWRIGHT_CLASS_WITHOUT(TensorTrait);
};

}  // namespace AscendC

#undef OPWRIGHT_CLASS_WITHOUT
#undef OPWRIGHT_WITHOUT
#undef OPWRIGHT_ERROR_OF
#endif
