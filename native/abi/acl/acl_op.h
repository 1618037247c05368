// native/abi/acl/acl_op.h
// Descriptors and attributes of the legacy single-operator (aclop) path.
#ifndef INC_EXTERNAL_ACL_ACL_OP_H_
#define INC_EXTERNAL_ACL_ACL_OP_H_

#include "acl/acl_base.h"
#include "acl/opwright_language.h"

typedef enum aclEngineType { ACL_ENGINE_SYS, ACL_ENGINE_AICORE, ACL_ENGINE_VECTOR } aclopEngineType;

#pragma GCC visibility push(default)
OPWRIGHT_BEGIN_C

// Descriptors, data buffers and attributes
aclDataBuffer* aclCreateDataBuffer(void* data, size_t size);
aclTensorDesc* aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t* dims, aclFormat format);
aclError aclDestroyDataBuffer(const aclDataBuffer* dataBuffer);
void aclDestroyTensorDesc(const aclTensorDesc* desc);
aclError aclGetTensorDescDimV2(const aclTensorDesc* desc, size_t index, int64_t* dimSize);
aclFormat aclGetTensorDescFormat(const aclTensorDesc* desc);
size_t aclGetTensorDescNumDims(const aclTensorDesc* desc);
aclDataType aclGetTensorDescType(const aclTensorDesc* desc);
aclopAttr* aclopCreateAttr(void);
void aclopDestroyAttr(const aclopAttr* attr);
aclError aclopSetAttrBool(aclopAttr* attr, const char* attrName, uint8_t attrValue);
aclError aclopSetAttrDataType(aclopAttr* attr, const char* attrName, aclDataType attrValue);
aclError aclopSetAttrFloat(aclopAttr* attr, const char* attrName, float attrValue);
aclError aclopSetAttrInt(aclopAttr* attr, const char* attrName, int64_t attrValue);
aclError aclopSetAttrListBool(aclopAttr* attr, const char* attrName, int numValues, const uint8_t* values);
aclError aclopSetAttrListFloat(aclopAttr* attr, const char* attrName, int numValues, const float* values);
aclError aclopSetAttrListInt(aclopAttr* attr, const char* attrName, int numValues, const int64_t* values);
aclError aclopSetAttrListListInt(aclopAttr* attr, const char* attrName, int numLists, const int* numValues,
                                 const int64_t* const values[]);
aclError aclopSetAttrString(aclopAttr* attr, const char* attrName, const char* attrValue);
void aclSetTensorDescName(aclTensorDesc* desc, const char* name);
aclError aclSetTensorFormat(aclTensorDesc* desc, aclFormat format);
aclError aclSetTensorPlaceMent(aclTensorDesc* desc, aclMemType memType);
aclError aclSetTensorShape(aclTensorDesc* desc, int numDims, const int64_t* dims);

OPWRIGHT_END_C
#pragma GCC visibility pop

#endif
