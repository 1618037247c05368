// torch_npu/csrc/core/npu/NPUException.h: the wheel's header of this name, for those of its others that include it.
//
// Its ErrCode may be there already, and its text of an error needs a function that libtorch_npu.so does not
// export.
#pragma once

#ifdef OP_PLUGIN_BUILD_ERR_CODE
#define ErrCode TorchNpuErrCode
#include_next <torch_npu/csrc/core/npu/NPUException.h>
#undef ErrCode
#else
#define OP_PLUGIN_BUILD_ERR_CODE
#include_next <torch_npu/csrc/core/npu/NPUException.h>
#endif

#include <op_plugin/utils/op_api_common.h>

#undef OPS_ERROR
#undef PTA_ERROR
#define OPS_ERROR(error) ::op_plugin_build::error_text("OPS", 1, error)
#define PTA_ERROR(error) ::op_plugin_build::error_text("PTA", 0, error)
