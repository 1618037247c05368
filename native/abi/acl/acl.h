// native/abi/acl/acl.h
// The header of CANN's runtime that programs include.
#ifndef INC_EXTERNAL_ACL_ACL_H_
#define INC_EXTERNAL_ACL_ACL_H_

#include "acl/acl_base.h"
#include "acl/acl_desc.h"
#include "acl/acl_mdl.h"
#include "acl/acl_op.h"
#include "acl/acl_rt.h"

// Two names that torch_npu's headers use: another one of success, and the number of memory faults that it has room for.
static const int ACL_ERROR_NONE = ACL_SUCCESS;
#define MAX_MEM_UCE_INFO_ARRAY_SIZE 128

#endif
