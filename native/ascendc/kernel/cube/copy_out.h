// native/ascendc/kernel/cube/copy_out.h
// DataCopy from L0C to global memory or L1: what Fixpipe does, with a part of its parameters in registers.
#pragma once

#include "cube/fixpipe.h"

namespace AscendC {

// The word of all channels.
OPWRIGHT_INLINE void SetFixpipePreQuantFlag(uint64_t config) { machine::core().registers.quantise = config; }

// The words of each channel.
template <typename T>
OPWRIGHT_INLINE void SetFixPipeConfig(const LocalTensor<T>&, const LocalTensor<T>& quantPre, bool isUnitFlag = false) {
  static_cast<void>(isUnitFlag);  // results are complete when an instruction ends
  machine::core().registers.quantise_tensor = quantPre.data();
}
template <typename T, bool setRelu = false>
OPWRIGHT_INLINE void SetFixPipeConfig(const LocalTensor<T>& preData, bool isUnitFlag = false) {
  static_assert(!setRelu,
                "SetFixPipeConfig: setRelu = false is what Atlas A2 supports; see docs/ascend_c_instructions.md");
  if (machine::memory_of(preData.position()) == machine::Memory::kFixpipe) {
    machine::core().registers.quantise_tensor = preData.data();
  } else if (!isUnitFlag) {
    machine::refuse("SetFixPipeConfig", "preData is at TPosition::", machine::name_of(preData.position()),
                    "; allowed: C2PIPE2GM");
  }
}

// The matrices of a copy that makes rows.
OPWRIGHT_INLINE void SetFixpipeNz2ndFlag(uint16_t ndNum, uint16_t srcNdStride, uint16_t dstNdStride) {
  machine::Registers& registers = machine::core().registers;
  registers.nd_matrices = ndNum;
  registers.nd_src_stride = srcNdStride;
  registers.nd_dst_stride = dstNdStride;
}

namespace machine {

template <class D, class S>
OPWRIGHT_INLINE void copy_out(const DataCopyCO12DstParams& params, D* dst, bool global, const LocalTensor<S>& src) {
  constexpr const char* kApi = "DataCopy";
  if (params.clipReluPre != 0 || params.eltWiseOp != 0 || params.reluPre > 1) {
    refuse(kApi, "clipReluPre, eltWiseOp and reluPre are ", int{params.clipReluPre}, ", ", int{params.eltWiseOp}, ", ",
           int{params.reluPre}, "; allowed on Atlas A2: 0, 0, 0 or 1");
  }
  if (!global && params.nz2ndEn) refuse(kApi, "nz2ndEn to L1; allowed: to global memory");
  const Registers& registers = core().registers;
  FixpipeParamsV220 same(params.nSize, params.mSize, params.srcStride, params.dstStride, params.reluPre != 0,
                         params.quantPre, registers.quantise, registers.nd_matrices, registers.nd_src_stride,
                         registers.nd_dst_stride, params.unitFlag);
  same.isChannelSplit = params.channelSplit;
  const uint64_t* words = nullptr;
  if (per_channel(params.quantPre) && registers.quantise_tensor != nullptr) {
    words = static_cast<const uint64_t*>(registers.quantise_tensor);
    check_local(kApi, "the tensor of SetFixPipeConfig", words, params.nSize * sizeof(uint64_t));
  }
  const CO2Layout layout = params.nz2ndEn ? CO2Layout::ROW_MAJOR : CO2Layout::NZ;
  const auto move = outward<D, PrimT<S>>(kApi, layout, same, words, "tensor of SetFixPipeConfig");
  move_out(kApi, move, params.nz2ndEn, dst, global, src);
}

}  // namespace machine

template <typename T, typename U>
OPWRIGHT_INLINE void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<U>& src,
                              const DataCopyCO12DstParams& intriParams) {
  machine::copy_out(intriParams, dst.data(), true, src);
}
template <typename T, typename U>
OPWRIGHT_INLINE void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src,
                              const DataCopyCO12DstParams& intriParams) {
  machine::demand("DataCopy", "dst", dst, machine::Memory::kL1, "A1, B1, C1");
  machine::copy_out(intriParams, dst.data(), false, src);
}

}  // namespace AscendC
