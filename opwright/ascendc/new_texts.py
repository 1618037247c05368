"""The files of a new operator project; @word@ stands for what `new` fills in."""

from __future__ import annotations

__all__ = ["BUILD", "CMAKE", "HOST", "KERNEL", "README", "TILING"]

TILING = """\
// The data that tiling passes to the kernel of @op_type@.
#ifndef @guard@
#define @guard@

#include <cstdint>

struct @op_type@TilingData {
  uint64_t total;     // elements
  uint64_t perBlock;  // elements of each block but the last
  uint32_t tile;      // elements that one buffer holds
};

#endif
"""

HOST = """\
// The host side of @op_type@: definition, inference, tiling.
#include <algorithm>

#include "../op_kernel/@snake@_tiling.h"
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {

constexpr uint64_t kAlignment = 32;  // bytes of the smallest copy
constexpr uint64_t kBuffers = 2;

static ge::graphStatus Tiling(gert::TilingContext* context) {
  const auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
  uint64_t memory = 0;
  platform.GetCoreMemSize(platform_ascendc::CoreMemType::UB, memory);
  const int input = ge::GetSizeByDataType(context->GetInputDesc(0)->GetDataType());
  const int output = ge::GetSizeByDataType(context->GetOutputDesc(0)->GetDataType());
  if (input <= 0 || output <= 0) return ge::GRAPH_FAILED;

  auto* const data = context->GetTilingData<@op_type@TilingData>();
  if (data == nullptr) return ge::GRAPH_FAILED;
  const uint64_t perAlignment = kAlignment / std::min(input, output);
  data->total = context->GetInputShape(0)->GetStorageShape().GetShapeSize();
  data->tile = memory / kBuffers / (input + output) / perAlignment * perAlignment;
  // Each block begins at a multiple of the alignment.
  const uint64_t cores = platform.GetCoreNumAiv();
  const uint64_t share = (data->total + cores - 1) / cores;
  data->perBlock = std::max<uint64_t>(1, (share + perAlignment - 1) / perAlignment) * perAlignment;
  context->SetBlockDim(std::max<uint64_t>(1, (data->total + data->perBlock - 1) / data->perBlock));
  context->GetWorkspaceSizes(1)[0] = platform.GetLibApiWorkSpaceSize();
  return ge::GRAPH_SUCCESS;
}

}  // namespace optiling

namespace ge {

static graphStatus InferShape(gert::InferShapeContext* context) {
@shapes@
  return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
@dtypes@
  return GRAPH_SUCCESS;
}

}  // namespace ge

namespace ops {

class @op_type@ : public OpDef {
 public:
  explicit @op_type@(const char* name) : OpDef(name) {
@ports@
@attributes@    this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
    this->AICore().SetTiling(optiling::Tiling);
    this->AICore().AddConfig("@chip@");
  }
};

OP_ADD(@op_type@);

}  // namespace ops
"""

KERNEL = """\
// The kernel of @op_type@. Until Compute says otherwise, it copies @input@ to @output@.
#include <type_traits>

#include "@snake@_tiling.h"
#include "kernel_operator.h"

using namespace AscendC;

template <class In, class Out>
class @op_type@Kernel {
 public:
  __aicore__ inline void Init(GM_ADDR input, GM_ADDR output, const @op_type@TilingData& tiling) {
    const uint64_t begin = tiling.perBlock * GetBlockIdx();
    const uint64_t rest = begin < tiling.total ? tiling.total - begin : 0;
    count_ = rest < tiling.perBlock ? rest : tiling.perBlock;
    tile_ = tiling.tile;
    input_.SetGlobalBuffer(reinterpret_cast<__gm__ In*>(input) + begin, count_);
    output_.SetGlobalBuffer(reinterpret_cast<__gm__ Out*>(output) + begin, count_);
    pipe_.InitBuffer(inputs_, kBuffers, tile_ * sizeof(In));
    pipe_.InitBuffer(outputs_, kBuffers, tile_ * sizeof(Out));
  }

  __aicore__ inline void Process() {
    for (uint64_t done = 0; done < count_; done += tile_) {
      const uint32_t count = count_ - done < tile_ ? count_ - done : tile_;
      CopyIn(done, count);
      Compute(count);
      CopyOut(done, count);
    }
  }

 private:
  static constexpr uint32_t kBuffers = 2;

  __aicore__ inline void CopyIn(uint64_t offset, uint32_t count) {
    LocalTensor<In> tile = inputs_.template AllocTensor<In>();
    const uint32_t bytes = count * sizeof(In);
    DataCopyPad(tile, input_[offset], DataCopyExtParams{1, bytes, 0, 0, 0},
                DataCopyPadExtParams<In>{false, 0, 0, 0});
    inputs_.EnQue(tile);
  }

  __aicore__ inline void Compute(uint32_t count) {
    LocalTensor<In> input = inputs_.template DeQue<In>();
    LocalTensor<Out> output = outputs_.template AllocTensor<Out>();
    // Replace this with the operator's computation, for example Exp(output, input, count).
@compute@
    outputs_.EnQue(output);
    inputs_.FreeTensor(input);
  }

  __aicore__ inline void CopyOut(uint64_t offset, uint32_t count) {
    LocalTensor<Out> tile = outputs_.template DeQue<Out>();
    const uint32_t bytes = count * sizeof(Out);
    DataCopyPad(output_[offset], tile, DataCopyExtParams{1, bytes, 0, 0, 0});
    outputs_.FreeTensor(tile);
  }

  TPipe pipe_;
  TQue<TPosition::VECIN, kBuffers> inputs_;
  TQue<TPosition::VECOUT, kBuffers> outputs_;
  GlobalTensor<In> input_;
  GlobalTensor<Out> output_;
  uint64_t count_;
  uint32_t tile_;
};

extern "C" __global__ __aicore__ void @snake@(@parameters@) {
  REGISTER_TILING_DEFAULT(@op_type@TilingData);
  GET_TILING_DATA(tilingData, tiling);
@unused@  @op_type@Kernel<@dtype@> kernel;
  kernel.Init(@input@, @output@, tilingData);
  kernel.Process();
}
"""

CMAKE = """\
# The operators whose definitions are in op_host and whose kernels are in op_kernel.
cmake_minimum_required(VERSION 3.19)
project(@snake@ LANGUAGES CXX)
find_package(ASC REQUIRED)

if(NOT ASCEND_COMPUTE_UNIT)  # CMakePresets.json has it
  set(ASCEND_COMPUTE_UNIT @chip@)
endif()
if(NOT vendor_name)
  set(vendor_name customize)
endif()
npu_op_package(${vendor_name} TYPE RUN CONFIG INSTALL_PATH ${CMAKE_BINARY_DIR})

file(GLOB HOST CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/op_host/*.cpp)
npu_op_code_gen(SRC ${HOST} PACKAGE ${vendor_name} OUT_DIR ${ASCEND_AUTOGEN_PATH})
npu_op_library(cust_optiling TILING ${HOST})
file(GLOB FUNCTIONS ${ASCEND_AUTOGEN_PATH}/aclnn_*.cpp)
set_source_files_properties(${FUNCTIONS} PROPERTIES GENERATED TRUE)
npu_op_library(cust_opapi ACLNN ${FUNCTIONS})
file(GLOB PROTOTYPES ${ASCEND_AUTOGEN_PATH}/op_proto.cc)
set_source_files_properties(${PROTOTYPES} PROPERTIES GENERATED TRUE)
npu_op_library(cust_op_proto GRAPH ${HOST} ${PROTOTYPES})
npu_op_kernel_library(ascendc_kernels SRC_BASE ${CMAKE_CURRENT_SOURCE_DIR}/op_kernel
                      TILING_LIBRARY cust_optiling)
npu_op_package_add(${vendor_name} LIBRARY cust_optiling cust_opapi cust_op_proto ascendc_kernels)
"""

BUILD = """\
#!/bin/bash
# Builds the package: build_out/custom_opp_*.run installs it. Source set_env.sh first.
set -e
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"
cmake -S . -B build_out --preset=default
cmake --build build_out --target binary package
"""

README = """\
# @op_type@

An operator in Ascend C: `op_host/@snake@.cpp` has its definition, inference and tiling,
`op_kernel/@snake@.cpp` the code of the device.

    opwright ascendc build .            # or ./build.sh, which makes build_out/custom_opp_*.run
    ASCEND_CUSTOM_OPP_PATH=$PWD/build_out/packages/vendors/customize opwright run -- python test.py

The kernel copies its first input until `Compute` says what the operator computes. With
`opwright run --kernel-checks`, each access of the kernel is checked.
"""
