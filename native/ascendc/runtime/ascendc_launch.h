/* native/ascendc/runtime/ascendc_launch.h
 * The C interface of libascendc_runtime: kernels are launched with it. */
#pragma once

#include <stdint.h>

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A launch. Everything it points to is copied, except the code. */
typedef struct {
  uint32_t size;                         /* sizeof(opwright_ascendc_launch_t) */
  uint64_t interface;                    /* OPWRIGHT_ASCENDC_INTERFACE of the kernel's headers; 0: not known */
  const char* name;                      /* of the kernel function, without namespaces and template arguments */
  void (*entry)(void* const* arguments); /* calls the kernel with *(T*)arguments[i] */
  uint32_t blocks;
  int32_t kind; /* a KernelKind of core/machine.h; -1: as the kernel declares it */
  uint64_t tiling_key;
  uint32_t count;               /* of arguments */
  const void* const* arguments; /* where the value of each lies */
  const uint32_t* sizes;        /* bytes of each value; 8 bytes that are a device address are translated */
  uint32_t range_count;         /* memory whose extent the caller knows: tensors */
  const void* const* range_begins;
  const uint64_t* range_bytes;
} opwright_ascendc_launch_t;

/* Enqueues the launch on a stream, NULL for the default one. Errors of the kernel are errors of the stream. */
__attribute__((visibility("default"))) aclError opwright_ascendc_launch(const opwright_ascendc_launch_t* launch,
                                                                        aclrtStream stream);
/* Runs the launch in the calling thread. Host memory may be given as well. */
__attribute__((visibility("default"))) aclError opwright_ascendc_run(const opwright_ascendc_launch_t* launch);
/* Checks of later launches on or off, whatever OPWRIGHT_KERNEL_CHECKS says. */
__attribute__((visibility("default"))) void opwright_ascendc_checks(int enabled);
/* Whether launches are checked. 0 also where the variable has no valid value: the launch says so. */
__attribute__((visibility("default"))) int opwright_ascendc_checked(void);
/* The text of the last error of this thread. */
__attribute__((visibility("default"))) const char* opwright_ascendc_error(void);

#ifdef __cplusplus
}
#endif
