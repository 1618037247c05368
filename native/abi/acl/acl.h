// native/abi/acl/acl.h
// What programs include for CANN's runtime.
#pragma once

#include "acl/acl_base.h"
#include "acl/acl_desc.h"
#include "acl/acl_mdl.h"
#include "acl/acl_op.h"
#include "acl/acl_rt.h"
