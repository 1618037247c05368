// native/abi/acl/acl_base_rt.h
// Base types of CANN's C ABI as the twin implements it: handles, data types, formats, error codes.
// Values are facts of the ABI, from the headers of CANN in torch_npu's wheel; tests/native/test_abi.py compares them,
// and the layout of every struct, with those headers.
//
// The guards are CANN's. Some releases of torch_npu include their copies of CANN's headers by a path of their own, and
// whichever stands first in a program has to keep the other one out.
#ifndef INC_EXTERNAL_ACL_ACL_BASE_RT_H_
#define INC_EXTERNAL_ACL_ACL_BASE_RT_H_
#define INC_EXTERNAL_ACL_ACL_BASE_MODEL_H_
#define INC_EXTERNAL_GE_GE_ERROR_CODES_H_
#define __INC_EXTERNEL_RT_ERROR_CODES_H__

#include <stddef.h>
#include <stdint.h>

#include "acl/acl_error_codes.h"
#include "acl/opwright_language.h"

typedef int aclError;
typedef int aclnnStatus;
typedef uint16_t aclFloat16;

typedef void* aclrtStream;
typedef void* aclrtEvent;
typedef void* aclrtContext;
typedef void* aclrtTaskGrp;
typedef void* aclrtDrvMemHandle;
typedef void* aclrtBinHandle;
typedef void* aclrtFuncHandle;
typedef void* aclrtArgsHandle;
typedef void* aclrtParamHandle;
typedef void* aclmdlRI;
typedef void* aclmdlRICondHandle;

// Handles that no function here takes or makes; CANN's other headers name them.
typedef void* aclmdlRITask;
typedef void* aclrtAllocator;
typedef void* aclrtAllocatorAddr;
typedef void* aclrtAllocatorBlock;
typedef void* aclrtAllocatorDesc;
typedef void* aclrtCntNotify;
typedef void* aclrtLabel;
typedef void* aclrtLabelList;
typedef void* aclrtMbuf;
typedef void* aclrtNotify;

#define ACL_FUNC_VISIBILITY
#define ACL_DEPRECATED __attribute__((deprecated))
#define ACL_DEPRECATED_MESSAGE(message) __attribute__((deprecated(message)))
#define ACL_TENSOR_SHAPE_RANGE_NUM 2
#define ACL_TENSOR_VALUE_RANGE_NUM 2
#define ACL_UNKNOWN_RANK 0xFFFFFFFFFFFFFFFE

typedef struct aclDataBuffer aclDataBuffer;
typedef struct aclTensorDesc aclTensorDesc;
typedef struct aclopAttr aclopAttr;

typedef enum {
  ACL_DT_UNDEFINED = -1,
  ACL_FLOAT = 0,
  ACL_FLOAT16 = 1,
  ACL_INT8 = 2,
  ACL_INT32 = 3,
  ACL_UINT8 = 4,
  ACL_INT16 = 6,
  ACL_UINT16 = 7,
  ACL_UINT32 = 8,
  ACL_INT64 = 9,
  ACL_UINT64 = 10,
  ACL_DOUBLE = 11,
  ACL_BOOL = 12,
  ACL_STRING = 13,
  ACL_COMPLEX64 = 16,
  ACL_COMPLEX128 = 17,
  ACL_BF16 = 27,
  ACL_INT4 = 29,
  ACL_UINT1 = 30,
  ACL_COMPLEX32 = 33,
  ACL_HIFLOAT8 = 34,
  ACL_FLOAT8_E5M2 = 35,
  ACL_FLOAT8_E4M3FN = 36,
  ACL_FLOAT8_E8M0 = 37,
  ACL_FLOAT6_E3M2 = 38,
  ACL_FLOAT6_E2M3 = 39,
  ACL_FLOAT4_E2M1 = 40,
  ACL_FLOAT4_E1M2 = 41
} aclDataType;

typedef enum {
  ACL_FORMAT_UNDEFINED = -1,
  ACL_FORMAT_NCHW = 0,
  ACL_FORMAT_NHWC = 1,
  ACL_FORMAT_ND = 2,
  ACL_FORMAT_NC1HWC0 = 3,
  ACL_FORMAT_FRACTAL_Z = 4,
  ACL_FORMAT_NC1HWC0_C04 = 12,
  ACL_FORMAT_HWCN = 16,
  ACL_FORMAT_NDHWC = 27,
  ACL_FORMAT_FRACTAL_NZ = 29,
  ACL_FORMAT_NCDHW = 30,
  ACL_FORMAT_NDC1HWC0 = 32,
  ACL_FRACTAL_Z_3D = 33,
  ACL_FORMAT_NC = 35,
  ACL_FORMAT_NCL = 47
} aclFormat;

typedef enum { ACL_DEBUG = 0, ACL_INFO = 1, ACL_WARNING = 2, ACL_ERROR = 3 } aclLogLevel;

typedef enum { ACL_MEMTYPE_DEVICE = 0, ACL_MEMTYPE_HOST = 1, ACL_MEMTYPE_HOST_COMPILE_INDEPENDENT = 2 } aclMemType;

typedef enum {
  ACL_OPT_DETERMINISTIC = 0,
  ACL_OPT_ENABLE_DEBUG_KERNEL = 1,
  ACL_OPT_STRONG_CONSISTENCY = 2
} aclSysParamOpt;

typedef enum {
  ACL_CANN_ATTR_UNDEFINED = -1,
  ACL_CANN_ATTR_INF_NAN = 0,
  ACL_CANN_ATTR_BF16 = 1,
  ACL_CANN_ATTR_JIT_COMPILE = 2
} aclCannAttr;

typedef enum {
  ACL_DEVICE_INFO_UNDEFINED = -1,
  ACL_DEVICE_INFO_AI_CORE_NUM = 0,
  ACL_DEVICE_INFO_VECTOR_CORE_NUM = 1,
  ACL_DEVICE_INFO_L2_SIZE = 2
} aclDeviceInfo;

// Error codes that the twin returns. Constants rather than an enum, as in CANN, because every function returns
// aclError.
enum OPWRIGHT_ENUM_INT {
  ACL_SUCCESS = 0,
  ACL_ERROR_INVALID_PARAM = 100000,
  ACL_ERROR_UNINITIALIZE = 100001,
  ACL_ERROR_REPEAT_INITIALIZE = 100002,
  ACL_ERROR_INVALID_FILE = 100003,
  ACL_ERROR_WRITE_FILE = 100004,
  ACL_ERROR_PARSE_FILE = 100006,
  ACL_ERROR_INVALID_DUMP_CONFIG = 100009,
  ACL_ERROR_OP_NOT_FOUND = 100024,
  ACL_ERROR_THREAD_NOT_SUBSCRIBE = 100035,
  ACL_ERROR_REPEAT_FINALIZE = 100037,
  ACL_ERROR_DUMP_ALREADY_RUN = 100044,
  ACL_ERROR_DUMP_NOT_RUN = 100045,
  ACL_ERROR_FEATURE_UNSUPPORTED = 200006,
  ACL_ERROR_PROF_MODULES_UNSUPPORTED = 200007,
  ACL_ERROR_INTERNAL_ERROR = 500000,
  ACL_ERROR_RT_PARAM_INVALID = 107000,
  ACL_ERROR_RT_INVALID_DEVICEID = 107001,
  ACL_ERROR_RT_CONTEXT_NULL = 107002,
  ACL_ERROR_RT_STREAM_CONTEXT = 107003,
  ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID = 107006,
  ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL = 107007,
  ACL_ERROR_RT_INVALID_HANDLE = 107017,
  ACL_ERROR_RT_CAPTURE_DEPENDENCY = 107024,
  ACL_ERROR_RT_STREAM_UNJOINED = 107025,
  ACL_ERROR_RT_MODEL_CAPTURED = 107026,
  ACL_ERROR_RT_STREAM_CAPTURED = 107027,
  ACL_ERROR_RT_EVENT_CAPTURED = 107028,
  ACL_ERROR_RT_STREAM_NOT_CAPTURED = 107029,
  ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT = 107030,
  ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT = 107031,
  ACL_ERROR_STREAM_CAPTURE_CONFLICT = 107032,
  ACL_ERROR_STREAM_TASK_GROUP_STATUS = 107033,
  ACL_ERROR_STREAM_TASK_GROUP_INTR = 107034,
  ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED = 107036,
  ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD = 107038,
  ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC = 107041,
  ACL_ERROR_RT_SUB_ACLGRAPH_IS_CAPTURING = 107046,
  ACL_ERROR_RT_FEATURE_NOT_SUPPORT = 207000,
  ACL_ERROR_RT_MEMORY_ALLOCATION = 207001,
  ACL_ERROR_RT_QUEUE_EMPTY = 207013,
  ACL_ERROR_RT_QUEUE_FULL = 207014,
  ACL_ERROR_RT_AICORE_EXCEPTION = 507015,
  ACL_ERROR_RT_REPORT_TIMEOUT = 507012,
  ACL_ERROR_RT_KERNEL_LOOKUP = 507027,
  ACL_ERROR_RT_STREAM_SYNC_TIMEOUT = 507046,
  ACL_ERROR_RT_EVENT_SYNC_TIMEOUT = 507047,
  ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED = 507903,
  // aclnn layer
  ACLNN_SUCCESS = 0,
  ACLNN_ERR_PARAM_NULLPTR = 161001,
  ACLNN_ERR_PARAM_INVALID = 161002,
  ACLNN_ERR_RUNTIME_ERROR = 361001,
  ACLNN_ERR_INNER = 561000,
  ACLNN_ERR_INNER_KERNEL_NOT_FOUND = 561003
};

#pragma GCC visibility push(default)
OPWRIGHT_BEGIN_C

float aclFloat16ToFloat(aclFloat16 value);
aclFloat16 aclFloatToFloat16(float value);

OPWRIGHT_END_C
#pragma GCC visibility pop

#endif
