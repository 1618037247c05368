// tests/native/ancillary_test.cpp
// The small libraries beside libascendcl: options, system parameters, profiling, driver queries, and that everything
// refused says so by its name.
#include <sys/resource.h>

#include <csignal>
#include <filesystem>

#include "acl/acl_dump.h"
#include "acl/acl_op_compiler.h"
#include "acl/acl_prof.h"
#include "acl/acl_sys_param.h"
#include "acl/prof_api.h"
#include "collective/config.h"
#include "hal/hal.h"
#include "hccl/hccl.h"
#include "rts/rts.h"
#include "runtime/profiling/report.h"
#include "scenario.h"

SCENARIO(compile_options_read_back) {
  char value[8] = "";
  CHECK_EQ(aclGetCompileoptSize(ACL_OP_JIT_COMPILE), sizeof("disable"));
  OK(aclGetCompileopt(ACL_OP_JIT_COMPILE, value, sizeof(value)));
  CHECK_EQ(std::string(value), "disable");
  OK(aclSetCompileopt(ACL_OP_JIT_COMPILE, "enable"));
  CHECK_EQ(aclGetCompileoptSize(ACL_OP_JIT_COMPILE), sizeof("enable"));
  CHECK_EQ(aclGetCompileoptSize(ACL_OP_DEBUG_OPTION), size_t{1});
  REFUSED(aclGetCompileopt(ACL_OP_JIT_COMPILE, value, 3), ACL_ERROR_INVALID_PARAM, "'length' is 3", "7");
  REFUSED(aclSetCompileopt(ACL_OP_JIT_COMPILE, "maybe"), ACL_ERROR_INVALID_PARAM, "maybe", "enable", "disable");
  REFUSED(aclSetCompileopt(static_cast<aclCompileOpt>(31), "1"), ACL_ERROR_INTERNAL_ERROR, "31");
}

SCENARIO(system_parameters_belong_to_the_process_or_a_context) {
  int64_t value = -1;
  OK(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
  CHECK_EQ(value, 0);
  OK(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
  OK(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
  CHECK_EQ(value, 1);
  REFUSED(aclrtCtxSetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, 1), ACL_ERROR_RT_CONTEXT_NULL, "aclrtCtxSetSysParamOpt");
  OK(aclrtSetDevice(0));
  OK(aclrtCtxSetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, 5));
  OK(aclrtSetDevice(1));
  OK(aclrtCtxGetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, &value));
  CHECK_EQ(value, 0);
  OK(aclrtSetDevice(0));
  OK(aclrtCtxGetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, &value));
  CHECK_EQ(value, 5);
  REFUSED(aclrtSetSysParamOpt(static_cast<aclSysParamOpt>(3), 1), ACL_ERROR_RT_PARAM_INVALID, "parameter 3");
}

SCENARIO(a_legacy_operator_needs_python_and_says_so) {
  REFUSED(aclopCompileAndExecute("Mul", 0, nullptr, nullptr, 0, nullptr, nullptr, nullptr, ACL_ENGINE_SYS,
                                 ACL_COMPILE_SYS, nullptr, nullptr),
          ACL_ERROR_INTERNAL_ERROR, "aclopCompileAndExecute:", "'Mul'", "Python");
  REFUSED(aclopCompileAndExecuteV2("Add", 0, nullptr, nullptr, 0, nullptr, nullptr, nullptr, ACL_ENGINE_SYS,
                                   ACL_COMPILE_SYS, nullptr, nullptr),
          ACL_ERROR_INTERNAL_ERROR, "aclopCompileAndExecuteV2:", "'Add'", "Python");
}

SCENARIO(profiling_needs_a_folder_and_a_session) {
  REFUSED(aclprofInit("no/such/folder", 14), ACL_ERROR_INVALID_FILE, "profilerResultPath", "no/such/folder");
  uint32_t device = 0;
  aclprofConfig* const config = aclprofCreateConfig(&device, 1, 0, nullptr, 1);
  CHECK(config != nullptr);
  REFUSED(aclprofStart(config), ACL_ERROR_UNINITIALIZE, "aclprofInit was not called");
  REFUSED(aclprofFinalize(), ACL_ERROR_UNINITIALIZE, "aclprofInit was not called");
  OK(aclprofDestroyConfig(config));
  device = 99;
  CHECK(aclprofCreateConfig(&device, 1, 0, nullptr, 1) == nullptr);
}

SCENARIO(a_profile_that_cannot_be_written_ends_all_the_same) {
  OK(aclInit(nullptr));
  OK(aclrtSetDevice(0));
  std::string folder = std::filesystem::temp_directory_path() / "opwright-profile-XXXXXX";
  CHECK(mkdtemp(folder.data()) != nullptr);
  uint32_t device = 0;
  aclprofConfig* const config = aclprofCreateConfig(&device, 1, 0, nullptr, 1);
  OK(aclprofInit(folder.c_str(), folder.size()));
  OK(aclprofStart(config));
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  CHECK_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit nothing{0, limit.rlim_max};
  CHECK_EQ(setrlimit(RLIMIT_FSIZE, &nothing), 0);
  REFUSED(aclprofFinalize(), ACL_ERROR_INVALID_FILE, "cannot be written");
  CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  OK(aclprofInit(folder.c_str(), folder.size()));
  OK(aclprofFinalize());
  OK(aclprofDestroyConfig(config));
  std::filesystem::remove_all(folder);
}

SCENARIO(profiler_reports_have_a_clock_and_hashes) {
  CHECK_EQ(MsprofGetHashId("abc", 3), MsprofGetHashId("abcd", 3));
  CHECK(MsprofGetHashId("abc", 3) != MsprofGetHashId("acb", 3));
  CHECK(MsprofSysCycleTime() <= MsprofSysCycleTime());
  const ProfCommandHandle callback = [](uint32_t, void*, uint32_t) { return 0; };
  CHECK_EQ(MsprofRegisterCallback(7, callback), 0);
  CHECK(opwright::profiling::callback_of(7) == callback);
  CHECK(opwright::profiling::callback_of(8) == nullptr);
  CHECK_EQ(MsprofRegisterCallback(7, nullptr), -1);
}

SCENARIO(the_driver_answers_what_torch_npu_asks) {
  int count = 0;
  uint32_t expected = 0;
  OK(drvGetDevNum(&count));
  OK(aclrtGetDeviceCount(&expected));
  CHECK_EQ(static_cast<uint32_t>(count), expected);
  int32_t version = 0;
  OK(halGetAPIVersion(&version));
  CHECK(version > 0 && version < 0x071905);
  int64_t kilohertz = 0;
  OK(halGetDeviceInfo(0, MODULE_TYPE_SYSTEM, INFO_TYPE_HOST_OSC_FREQUE, &kilohertz));
  CHECK_EQ(kilohertz, 1000000);
  REFUSED(halGetDeviceInfo(0, 1, 1, &kilohertz), DRV_ERROR_NOT_SUPPORT, "module 1");
  REFUSED(halGetDeviceInfo(99, 0, 24, &kilohertz), DRV_ERROR_INVALID_DEVICE, "device 99");
}

SCENARIO(what_is_missing_says_so_by_name) {
  REFUSED(HcclCommExchangeMem(nullptr, nullptr, nullptr, 0), HCCL_E_NOT_SUPPORT, "HcclCommExchangeMem",
          "not available");
  REFUSED(rtKernelLaunch(nullptr, 1, nullptr, 0, nullptr, nullptr), ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "rtKernelLaunch",
          "device binary");
  REFUSED(aclopStartDumpArgs(2, "here"), ACL_ERROR_FEATURE_UNSUPPORTED, "dumpType is 2", "AI Core kernels");
}

SCENARIO(collective_settings_are_kept) {
  OK(HcclSetConfig(HCCL_DETERMINISTIC, HcclConfigValue{1}));
  CHECK_EQ(opwright::collective::config(HCCL_DETERMINISTIC), 1);
  CHECK_EQ(opwright::collective::config(HCCL_ACCELERATOR), 0);
  REFUSED(HcclSetConfig(static_cast<HcclConfig>(9), HcclConfigValue{1}), HCCL_E_PARA, "setting 9");
  CHECK_EQ(HcclGetCommConfigCapability(), 12u);
}
