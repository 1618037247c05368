// native/abi/aclnn/aclnn_base.h
// The name under which the headers of aclnn functions, and programs that call them, include the objects of this layer.
#pragma once

#include "aclnn/acl_meta.h"
