/* native/runtime/device_binary/interface.h
 * The object opwright_device_binary, which a compiled device binary exports for aclrtBinaryLoadFromData: one object,
 * opwright_device_binary. The compiler driver writes it (opwright/ascendc/runtime_compilation.py); a binary is a shared
 * library for this CPU. */
#pragma once

#include <stdint.h>

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A kernel. */
typedef struct {
  const char* expression; /* as the source or aclrtcAddNameExpr names it: Kernel::add<float> */
  const char* name;       /* the same without namespaces and template arguments */
  const void* address;    /* of the function, whose symbol is the name on the device */
  void (*entry)(void* const* arguments);
  const uint32_t* sizes; /* bytes of each parameter */
  const uint32_t* alignments;
  uint32_t count; /* of parameters */
  int32_t kind;   /* a KernelKind of native/ascendc/kernel/core/machine.h */
} opwright_device_function_t;

typedef struct {
  uint32_t size; /* sizeof(opwright_device_binary_t) */
  uint32_t count;
  const opwright_device_function_t* functions;
  /* Enqueues a kernel with the values that `arguments` points to; CANN's code. */
  aclError (*launch)(const opwright_device_function_t* function, uint32_t blocks, aclrtStream stream,
                     const void* const* arguments);
  /* Called before the binary is unloaded: what the runtime noted for addresses in it holds no longer. */
  void (*forget)(void);
} opwright_device_binary_t;

#define OPWRIGHT_DEVICE_BINARY_SYMBOL "opwright_device_binary"

#ifdef __cplusplus
}
#endif
