// native/abi/acl/acl_desc.h
// The rest of the descriptor functions: those that torch_npu does not need but C programs and the graph engine do.
#pragma once

#include "acl/acl_base.h"
#include "acl/opwright_language.h"

#pragma GCC visibility push(default)
OPWRIGHT_BEGIN_C

// Data types
size_t aclDataTypeSize(aclDataType dataType);

// Data buffers
aclError aclUpdateDataBuffer(aclDataBuffer* dataBuffer, void* data, size_t size);
void* aclGetDataBufferAddr(const aclDataBuffer* dataBuffer);
uint32_t aclGetDataBufferSize(const aclDataBuffer* dataBuffer);
size_t aclGetDataBufferSizeV2(const aclDataBuffer* dataBuffer);

// Tensor descriptors
int64_t aclGetTensorDescDim(const aclTensorDesc* desc, size_t index);
size_t aclGetTensorDescElementCount(const aclTensorDesc* desc);
const char* aclGetTensorDescName(aclTensorDesc* desc);
size_t aclGetTensorDescSize(const aclTensorDesc* desc);
aclError aclSetTensorConst(aclTensorDesc* desc, void* dataBuffer, size_t length);
aclError aclSetTensorOriginFormat(aclTensorDesc* desc, aclFormat format);
aclError aclSetTensorOriginShape(aclTensorDesc* desc, int numDims, const int64_t* dims);
aclError aclSetTensorStorageFormat(aclTensorDesc* desc, aclFormat format);
aclError aclSetTensorStorageShape(aclTensorDesc* desc, int numDims, const int64_t* dims);

// Attributes
aclError aclopSetAttrListDataType(aclopAttr* attr, const char* attrName, int numValues, const aclDataType values[]);
aclError aclopSetAttrListString(aclopAttr* attr, const char* attrName, int numValues, const char** values);

OPWRIGHT_END_C
#pragma GCC visibility pop
