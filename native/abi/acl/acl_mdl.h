// native/abi/acl/acl_mdl.h
// The name by which programs include the functions of captured models, which CANN declares in acl_rt.h.
#pragma once

#include "acl/acl_rt.h"
