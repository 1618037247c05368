// native/abi/hccl/hccl_types.h
// Types of CANN's collective communication interface.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "acl/opwright_language.h"

typedef enum OPWRIGHT_ENUM_INT {
  HCCL_SUCCESS = 0,
  HCCL_E_PARA = 1,
  HCCL_E_PTR = 2,
  HCCL_E_INTERNAL = 4,
  HCCL_E_NOT_SUPPORT = 5,
  HCCL_E_NOT_FOUND = 6,
  HCCL_E_UNAVAIL = 7,
  HCCL_E_SYSCALL = 8,
  HCCL_E_TIMEOUT = 9,
  HCCL_E_OPEN_FILE_FAILURE = 10,
  HCCL_E_REMOTE = 21
} HcclResult;
typedef int32_t HcommResult;

typedef enum OPWRIGHT_ENUM_INT {
  HCCL_REDUCE_SUM = 0,
  HCCL_REDUCE_PROD = 1,
  HCCL_REDUCE_MAX = 2,
  HCCL_REDUCE_MIN = 3
} HcclReduceOp;

typedef enum OPWRIGHT_ENUM_INT {
  HCCL_DATA_TYPE_INT8 = 0,
  HCCL_DATA_TYPE_INT16 = 1,
  HCCL_DATA_TYPE_INT32 = 2,
  HCCL_DATA_TYPE_FP16 = 3,
  HCCL_DATA_TYPE_FP32 = 4,
  HCCL_DATA_TYPE_INT64 = 5,
  HCCL_DATA_TYPE_UINT64 = 6,
  HCCL_DATA_TYPE_UINT8 = 7,
  HCCL_DATA_TYPE_UINT16 = 8,
  HCCL_DATA_TYPE_UINT32 = 9,
  HCCL_DATA_TYPE_FP64 = 10,
  HCCL_DATA_TYPE_BFP16 = 11,
  HCCL_DATA_TYPE_INT128 = 12,
  HCCL_DATA_TYPE_HIF8 = 14,
  HCCL_DATA_TYPE_FP8E4M3 = 15,
  HCCL_DATA_TYPE_FP8E5M2 = 16,
  HCCL_DATA_TYPE_FP8E8M0 = 17
} HcclDataType;

typedef enum OPWRIGHT_ENUM_INT { HCCL_DETERMINISTIC = 0, HCCL_ACCELERATOR = 1, HCCL_CONFIG_RESERVED = 2 } HcclConfig;

typedef union HcclConfigValue {
  int32_t value;
} HcclConfigValue;

typedef void* HcclComm;
typedef void* CommSymWindow;

#define HCCL_ROOT_INFO_BYTES 4108U
#define COMM_NAME_MAX_LENGTH 128U
#define HCCL_COMM_CONFIG_MAGIC_WORD 0xf0f0f0f0U
#define HCCL_COMM_CONFIG_NOT_SET 0xffffffffU

typedef struct HcclRootInfoDef {
  char internal[HCCL_ROOT_INFO_BYTES];
} HcclRootInfo;

// A caller that was built with older headers has fewer fields: `size` is the number of bytes that there are.
typedef struct HcclCommConfigDef {
  size_t size;
  uint32_t magicWord;
  uint32_t version;
  uint64_t reserved;
  uint32_t hcclBufferSize;
  uint32_t hcclDeterministic;
  char hcclCommName[COMM_NAME_MAX_LENGTH];
  char hcclUdi[128];
  uint32_t hcclOpExpansionMode;
  uint32_t hcclRdmaTrafficClass;
  uint32_t hcclRdmaServiceLevel;
  uint32_t hcclWorldRankID;
  uint64_t hcclJobID;
  uint8_t aclGraphZeroCopyEnable;
  int32_t hcclExecTimeOut;  // seconds; 0 for ever, -1 not set
  char hcclAlgo[1600];
  char hcclRetryEnable[50];
  char hcclRetryParams[128];
  char hcclBufferName[128];
  uint32_t hcclQos;
  uint64_t hcclSymWinMaxMemSizePerRank;
} HcclCommConfig;
#ifdef __cplusplus
static_assert(offsetof(HcclCommConfig, hcclCommName) == 32 && offsetof(HcclCommConfig, hcclExecTimeOut) == 316 &&
                  offsetof(HcclCommConfig, hcclQos) == 2228 && sizeof(HcclCommConfig) == 2240,
              "HcclCommConfig has CANN's layout");
#endif

// The count of HcclGetCommConfigCapability: the fields of HcclCommConfig that the library reads.
#define HCCL_COMM_CONFIG_RESERVED 12U

typedef enum OPWRIGHT_ENUM_INT { HCCL_SEND = 0, HCCL_RECV = 1 } HcclSendRecvType;

typedef struct HcclSendRecvItemDef {
  HcclSendRecvType sendRecvType;
  void* buf;
  uint64_t count;
  HcclDataType dataType;
  uint32_t remoteRank;
} HcclSendRecvItem;
#ifdef __cplusplus
static_assert(sizeof(HcclSendRecvItem) == 32, "HcclSendRecvItem has CANN's layout");
#endif
