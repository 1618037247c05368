// native/abi/acl/acl_tdt.h
// Tensor data transfer: named queues of tensors between device and host.
#ifndef INC_EXTERNAL_ACL_ACL_TDT_H_
#define INC_EXTERNAL_ACL_ACL_TDT_H_

#include "acl/acl_base.h"
#include "acl/opwright_language.h"

typedef enum acltdtTensorType OPWRIGHT_ENUM_INT {
  ACL_TENSOR_DATA_UNDEFINED = -1,
  ACL_TENSOR_DATA_TENSOR = 0,
  ACL_TENSOR_DATA_END_OF_SEQUENCE = 1,
  ACL_TENSOR_DATA_ABNORMAL = 2,
  ACL_TENSOR_DATA_SLICE_TENSOR = 3,
  ACL_TENSOR_DATA_END_TENSOR = 4
} acltdtTensorType;

typedef struct acltdtDataItem acltdtDataItem;
typedef struct acltdtDataset acltdtDataset;
typedef struct acltdtChannelHandle acltdtChannelHandle;

#pragma GCC visibility push(default)
OPWRIGHT_BEGIN_C

// Items
acltdtDataItem* acltdtCreateDataItem(acltdtTensorType tdtType, const int64_t* dims, size_t dimNum, aclDataType dataType,
                                     void* data, size_t size);
aclError acltdtDestroyDataItem(acltdtDataItem* dataItem);
void* acltdtGetDataAddrFromItem(const acltdtDataItem* dataItem);
size_t acltdtGetDataSizeFromItem(const acltdtDataItem* dataItem);
aclDataType acltdtGetDataTypeFromItem(const acltdtDataItem* dataItem);
size_t acltdtGetDimNumFromItem(const acltdtDataItem* dataItem);
aclError acltdtGetDimsFromItem(const acltdtDataItem* dataItem, int64_t* dims, size_t dimNum);
acltdtTensorType acltdtGetTensorTypeFromItem(const acltdtDataItem* dataItem);

// Datasets
acltdtDataset* acltdtCreateDataset();
aclError acltdtDestroyDataset(acltdtDataset* dataset);
aclError acltdtAddDataItem(acltdtDataset* dataset, acltdtDataItem* dataItem);
acltdtDataItem* acltdtGetDataItem(const acltdtDataset* dataset, size_t index);
const char* acltdtGetDatasetName(const acltdtDataset* dataset);
size_t acltdtGetDatasetSize(const acltdtDataset* dataset);

// Channels
acltdtChannelHandle* acltdtCreateChannelWithCapacity(uint32_t deviceId, const char* name, size_t capacity);
aclError acltdtDestroyChannel(acltdtChannelHandle* handle);
aclError acltdtStopChannel(acltdtChannelHandle* handle);
aclError acltdtCleanChannel(acltdtChannelHandle* handle);
aclError acltdtQueryChannelSize(const acltdtChannelHandle* handle, size_t* size);
aclError acltdtReceiveTensor(const acltdtChannelHandle* handle, acltdtDataset* dataset, int32_t timeout);
aclError acltdtSendTensor(const acltdtChannelHandle* handle, const acltdtDataset* dataset, int32_t timeout);

OPWRIGHT_END_C
#pragma GCC visibility pop

#endif
