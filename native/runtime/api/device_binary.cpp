// native/runtime/api/device_binary.cpp
// Loading and launching device binaries by aclrt functions. libacl_rtc compiles them for this CPU; machine code for an
// NPU is refused. Binaries that come through rt functions are in native/runtime/rts.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "acl/acl_rt.h"
#include "runtime/call.h"
#include "runtime/device.h"
#include "runtime/device_binary/arguments.h"
#include "runtime/device_binary/binary.h"

using namespace opwright;

namespace {

void check_option(const aclrtBinaryLoadOption& option) {
  switch (option.type) {
    case ACL_RT_BINARY_LOAD_OPT_LAZY_LOAD:
      return;  // when the code is copied to the device; nothing is copied here
    case ACL_RT_BINARY_LOAD_OPT_MAGIC:
      // The kernels say themselves for which cores they are.
      require(option.value.magic == ACL_RT_BINARY_MAGIC_ELF_AICORE ||
                  option.value.magic == ACL_RT_BINARY_MAGIC_ELF_VECTOR_CORE ||
                  option.value.magic == ACL_RT_BINARY_MAGIC_ELF_CUBE_CORE,
              ACL_ERROR_RT_PARAM_INVALID, "ACL_RT_BINARY_LOAD_OPT_MAGIC: ", option.value.magic,
              " is none of ACL_RT_BINARY_MAGIC_ELF_*");
      return;
    case ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE:
      fail(ACL_ERROR_FEATURE_UNSUPPORTED, "ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE: AI CPU kernels are not supported");
    default:
      fail(ACL_ERROR_RT_PARAM_INVALID, "load option ", static_cast<int>(option.type), " does not exist");
  }
}

void load(const void* data, size_t length, const aclrtBinaryLoadOptions* options, aclrtBinHandle* handle) {
  aclrtBinHandle& result = out(handle, "binHandle");
  require(data != nullptr && length > 0, ACL_ERROR_RT_PARAM_INVALID, "the device binary is empty");
  if (options != nullptr) {
    require(options->numOpt == 0 || options->options != nullptr, ACL_ERROR_RT_PARAM_INVALID,
            "parameter 'options->options' is null");
    std::for_each(options->options, options->options + options->numOpt, check_option);
  }
  result = device_binaries().add(std::make_shared<DeviceBinary>(data, length));
}

// Some attributes say how cores are scheduled or watched, which has no meaning here.
void check_config(const aclrtLaunchKernelCfg* config) {
  if (config == nullptr) return;
  require(config->numAttrs == 0 || config->attrs != nullptr, ACL_ERROR_RT_PARAM_INVALID,
          "parameter 'cfg->attrs' is null");
  for (size_t i = 0; i < config->numAttrs; ++i) {
    const aclrtLaunchKernelAttr& attribute = config->attrs[i];
    const auto refuse_unless = [](bool harmless, const char* name, const char* why) {
      require(harmless, ACL_ERROR_FEATURE_UNSUPPORTED, name, ": ", why);
    };
    switch (attribute.id) {
      case ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE:
      case ACL_RT_LAUNCH_KERNEL_ATTR_BLOCK_TASK_PREFETCH:
      case ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT:
      case ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US:
        break;
      case ACL_RT_LAUNCH_KERNEL_ATTR_DYN_UBUF_SIZE:
        refuse_unless(attribute.value.dynUBufSize == 0, "ACL_RT_LAUNCH_KERNEL_ATTR_DYN_UBUF_SIZE",
                      "SIMT kernels are not supported");
        break;
      case ACL_RT_LAUNCH_KERNEL_ATTR_BLOCKDIM_OFFSET:
        refuse_unless(attribute.value.blockDimOffset == 0, "ACL_RT_LAUNCH_KERNEL_ATTR_BLOCKDIM_OFFSET",
                      "blocks are counted from 0");
        break;
      case ACL_RT_LAUNCH_KERNEL_ATTR_DATA_DUMP:
        refuse_unless(attribute.value.isDataDump == 0, "ACL_RT_LAUNCH_KERNEL_ATTR_DATA_DUMP",
                      "operands of kernels are not dumped");
        break;
      case ACL_RT_LAUNCH_KERNEL_ATTR_ENGINE_TYPE:
        fail(ACL_ERROR_FEATURE_UNSUPPORTED,
             "ACL_RT_LAUNCH_KERNEL_ATTR_ENGINE_TYPE: the kernel says for which cores it is");
      default:
        fail(ACL_ERROR_RT_PARAM_INVALID, "launch attribute ", static_cast<int>(attribute.id), " does not exist");
    }
  }
}

void* append(aclrtArgsHandle handle, const void* value, size_t bytes) {
  require(value != nullptr, ACL_ERROR_RT_PARAM_INVALID, "parameter 'param' is null");
  return kernel_arguments().find(handle)->append(value, bytes);
}

}  // namespace

aclError aclrtBinaryLoadFromData(const void* data, size_t length, const aclrtBinaryLoadOptions* options,
                                 aclrtBinHandle* binHandle) {
  return call("aclrtBinaryLoadFromData", [&] { load(data, length, options, binHandle); }, arg("length", length));
}

aclError aclrtBinaryLoadFromFile(const char* binPath, aclrtBinaryLoadOptions* options, aclrtBinHandle* binHandle) {
  return call("aclrtBinaryLoadFromFile", [&] {
    require(binPath != nullptr, ACL_ERROR_RT_PARAM_INVALID, "parameter 'binPath' is null");
    std::ifstream file(binPath, std::ios::binary);
    require(file.good(), ACL_ERROR_RT_PARAM_INVALID, "cannot read ", binPath);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    load(content.data(), content.size(), options, binHandle);
  });
}

aclError aclrtBinaryUnLoad(aclrtBinHandle binHandle) {
  return call("aclrtBinaryUnLoad", [&] {
    const auto binary = device_binaries().remove(binHandle);
    // Its kernels may be waiting on any stream.
    if (has_current_device()) wait_for_users_on(current_device().id());
    binary->unload();
  });
}

aclError aclrtBinaryGetFunction(const aclrtBinHandle binHandle, const char* kernelName, aclrtFuncHandle* funcHandle) {
  return call("aclrtBinaryGetFunction", [&] {
    aclrtFuncHandle& result = out(funcHandle, "funcHandle");
    require(kernelName != nullptr, ACL_ERROR_RT_PARAM_INVALID, "parameter 'kernelName' is null");
    result = device_binaries().find(binHandle)->function(kernelName);
  });
}

aclError aclrtGetFunctionName(aclrtFuncHandle funcHandle, uint32_t maxLen, char* name) {
  return call("aclrtGetFunctionName", [&] {
    char& first = out(name, "name");
    const auto function = device_functions().find(funcHandle);
    require(function->symbol.size() < maxLen, ACL_ERROR_RT_PARAM_INVALID, "the name of kernel ", function->symbol,
            " has ", function->symbol.size(), " characters and a zero, and there is room for ", maxLen);
    std::memcpy(&first, function->symbol.c_str(), function->symbol.size() + 1);
  });
}

aclError aclrtLaunchKernelWithArgsArray(void* func, uint32_t numBlocks, aclrtStream stream, aclrtLaunchKernelCfg* cfg,
                                        void** args) {
  return call(
      "aclrtLaunchKernelWithArgsArray",
      [&] {
        check_config(cfg);
        const auto function = device_functions().find(func);
        require(args != nullptr || function->function->count == 0, ACL_ERROR_RT_PARAM_INVALID,
                "parameter 'args' is null, and kernel ", function->symbol, " has ", function->function->count,
                " parameters");
        function->launch(numBlocks, stream, args);
      },
      arg("numBlocks", numBlocks), arg("stream", stream));
}

aclError aclrtLaunchKernelWithHostArgs(aclrtFuncHandle funcHandle, uint32_t numBlocks, aclrtStream stream,
                                       aclrtLaunchKernelCfg* cfg, void* hostArgs, size_t argsSize,
                                       aclrtPlaceHolderInfo*, size_t placeHolderNum) {
  return call(
      "aclrtLaunchKernelWithHostArgs",
      [&] {
        check_config(cfg);
        require(placeHolderNum == 0, ACL_ERROR_FEATURE_UNSUPPORTED,
                "placeholders, whose data the runtime copies to the device, are not supported; copy it with "
                "aclrtMemcpy and give its address");
        const auto function = device_functions().find(funcHandle);
        require(hostArgs != nullptr || argsSize == 0, ACL_ERROR_RT_PARAM_INVALID, "parameter 'hostArgs' is null");
        function->launch(numBlocks, stream, function->split(hostArgs, argsSize).data());
      },
      arg("numBlocks", numBlocks), arg("stream", stream));
}

aclError aclrtKernelArgsInit(aclrtFuncHandle funcHandle, aclrtArgsHandle* argsHandle) {
  return call("aclrtKernelArgsInit", [&] {
    aclrtArgsHandle& result = out(argsHandle, "argsHandle");
    result = kernel_arguments().add(std::make_shared<KernelArguments>(device_functions().find(funcHandle)));
  });
}

aclError aclrtKernelArgsAppend(aclrtArgsHandle argsHandle, void* param, size_t paramSize,
                               aclrtParamHandle* paramHandle) {
  return call("aclrtKernelArgsAppend", [&] {
    aclrtParamHandle& result = out(paramHandle, "paramHandle");
    result = append(argsHandle, param, paramSize);
  });
}

aclError aclrtKernelArgsParaUpdate(aclrtArgsHandle argsHandle, aclrtParamHandle paramHandle, void* param,
                                   size_t paramSize) {
  return call("aclrtKernelArgsParaUpdate", [&] {
    require(param != nullptr, ACL_ERROR_RT_PARAM_INVALID, "parameter 'param' is null");
    kernel_arguments().find(argsHandle)->update(paramHandle, param, paramSize);
  });
}

aclError aclrtKernelArgsFinalize(aclrtArgsHandle argsHandle) {
  return call("aclrtKernelArgsFinalize", [&] { kernel_arguments().find(argsHandle)->finalize(); });
}

aclError aclrtLaunchKernelWithConfig(aclrtFuncHandle funcHandle, uint32_t numBlocks, aclrtStream stream,
                                     aclrtLaunchKernelCfg* cfg, aclrtArgsHandle argsHandle, void* reserve) {
  return call(
      "aclrtLaunchKernelWithConfig",
      [&] {
        require(reserve == nullptr, ACL_ERROR_RT_PARAM_INVALID, "parameter 'reserve' is not null");
        check_config(cfg);
        const auto function = device_functions().find(funcHandle);
        const auto arguments = kernel_arguments().find(argsHandle);
        function->launch(numBlocks, stream, arguments->for_launch_of(*function).data());
      },
      arg("numBlocks", numBlocks), arg("stream", stream));
}

OPWRIGHT_REFUSE(aclError, aclrtBinaryGetFunctionByEntry, (aclrtBinHandle, uint64_t, aclrtFuncHandle*),
                "kernels have names here and no entries; use aclrtBinaryGetFunction")
OPWRIGHT_REFUSE(
    aclError, aclrtKernelArgsAppendPlaceHolder, (aclrtArgsHandle, aclrtParamHandle*),
    "placeholders, whose data the runtime copies to the device, are not supported; copy it with aclrtMemcpy "
    "and append its address")
OPWRIGHT_REFUSE(aclError, aclrtLaunchKernel, (aclrtFuncHandle, uint32_t, const void*, size_t, aclrtStream),
                "arguments in device memory are not supported; use aclrtLaunchKernelWithHostArgs")
OPWRIGHT_REFUSE(aclError, aclrtLaunchKernelV2,
                (aclrtFuncHandle, uint32_t, const void*, size_t, aclrtLaunchKernelCfg*, aclrtStream),
                "arguments in device memory are not supported; use aclrtLaunchKernelWithHostArgs")
OPWRIGHT_REFUSE(aclError, aclrtGetFunctionAddr, (aclrtFuncHandle, void**, void**),
                "a kernel has no address on a device here; its aclrtFuncHandle launches it")
OPWRIGHT_REFUSE(aclError, aclrtGetHardwareSyncAddr, (void**),
                "cores of a CPU synchronize without an address of the hardware")
