// native/abi/acl/acl_sys_param.h
// Reading a context's system parameter. torch_npu only sets them; C programs read them back.
#pragma once

#include "acl/acl_base.h"
#include "acl/opwright_language.h"

#pragma GCC visibility push(default)
OPWRIGHT_BEGIN_C

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value);

OPWRIGHT_END_C
#pragma GCC visibility pop
