// native/abi/acl/acl.h
// What programs include for CANN's runtime.
#pragma once

#include "acl/acl_base.h"
#include "acl/acl_desc.h"
#include "acl/acl_mdl.h"
#include "acl/acl_op.h"
#include "acl/acl_rt.h"

// What torch_npu's headers use beside: another name of success, and for how many faults of memory it has room.
static const int ACL_ERROR_NONE = ACL_SUCCESS;
#define MAX_MEM_UCE_INFO_ARRAY_SIZE 128
