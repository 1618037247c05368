// native/abi/acl/acl_sys_param.h
// Reading a context's system parameter. torch_npu only sets them; C programs read them back.
#pragma once

#include "acl/acl_base.h"

#pragma GCC visibility push(default)
extern "C" {

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value);

}  // extern "C"
#pragma GCC visibility pop
