// native/abi/acl/acl_base_mdl.h
// Base types under the name by which CANN's acl_base.h includes those of models.
#include "acl/acl_base_rt.h"
