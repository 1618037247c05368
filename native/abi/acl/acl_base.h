// native/abi/acl/acl_base.h
// Base types of CANN's C ABI under the name that most programs include.
#ifndef INC_EXTERNAL_ACL_ACL_BASE_H_
#define INC_EXTERNAL_ACL_ACL_BASE_H_

#include "acl/acl_base_rt.h"

#endif
