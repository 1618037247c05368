// native/abi/hccl/hccl_types.h
// Types of CANN's collective communication interface. The enums have a fixed underlying type because C callers may pass
// any number.
#pragma once

#include <stdint.h>

#include "acl/acl_base.h"

typedef enum : int32_t {
  HCCL_SUCCESS = 0,
  HCCL_E_PARA = 1,
  HCCL_E_PTR = 2,
  HCCL_E_INTERNAL = 4,
  HCCL_E_NOT_SUPPORT = 5
} HcclResult;
typedef int32_t HcommResult;

typedef enum : int32_t {
  HCCL_REDUCE_SUM = 0,
  HCCL_REDUCE_PROD = 1,
  HCCL_REDUCE_MAX = 2,
  HCCL_REDUCE_MIN = 3
} HcclReduceOp;

typedef enum : int32_t {
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

typedef enum : int32_t { HCCL_DETERMINISTIC = 0, HCCL_ACCELERATOR = 1, HCCL_CONFIG_RESERVED = 2 } HcclConfig;

union HcclConfigValue {
  int32_t value;
};

typedef void* HcclComm;
typedef void* CommSymWindow;
typedef struct HcclRootInfoDef HcclRootInfo;
typedef struct HcclCommConfigDef HcclCommConfig;
typedef struct HcclSendRecvItemDef HcclSendRecvItem;
