// native/abi/hal/hal.h
// The three functions of the driver's library (libascend_hal) that torch_npu looks up.
#pragma once

#include <stdint.h>

// Codes of the driver.
enum : int32_t {
  DRV_ERROR_NONE = 0,
  DRV_ERROR_INVALID_DEVICE = 2,
  DRV_ERROR_INVALID_VALUE = 3,
  DRV_ERROR_NOT_SUPPORT = 0xFFFE
};

// Arguments of halGetDeviceInfo.
enum : int32_t { MODULE_TYPE_SYSTEM = 0, INFO_TYPE_HOST_OSC_FREQUE = 24 };

#pragma GCC visibility push(default)
extern "C" {

int drvGetDevNum(int* num);
int32_t halGetAPIVersion(int32_t* version);
int32_t halGetDeviceInfo(uint32_t device, int32_t module, int32_t info, int64_t* value);

}  // extern "C"
#pragma GCC visibility pop
