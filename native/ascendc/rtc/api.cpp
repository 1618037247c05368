// native/ascendc/rtc/api.cpp
// The functions of libacl_rtc.
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "acl/acl_rt_compile.h"
#include "ascendc/rtc/program.h"
#include "runtime/call.h"
#include "runtime/handle.h"

using namespace opwright;
using namespace opwright::rtc;

namespace {

Handles<Program>& programs() {
  static auto* const instance = new Handles<Program>("program", ACL_ERROR_RTC_INVALID_PROG);
  return *instance;
}

// A text or another pointer of the caller's.
template <class T>
T& given(T* pointer, const char* name) {
  return out(pointer, name, ACL_ERROR_RTC_INVALID_INPUT);
}

std::map<std::string, std::string> headers_of(int count, const char** headers, const char** names) {
  require(count >= 0, ACL_ERROR_RTC_INVALID_INPUT, "parameter 'numHeaders' is ", count);
  std::map<std::string, std::string> result;
  for (int i = 0; i < count; ++i) {
    given(headers, "headers");
    given(names, "includeNames");
    result[&given(names[i], "includeNames[i]")] = &given(headers[i], "headers[i]");
  }
  return result;
}

std::vector<std::string> options_of(int count, const char** options) {
  require(count >= 0, ACL_ERROR_RTC_INVALID_INPUT, "parameter 'numOptions' is ", count);
  std::vector<std::string> result;
  for (int i = 0; i < count; ++i) {
    given(options, "options");
    result.emplace_back(&given(options[i], "options[i]"));
    require(!result.back().empty(), ACL_ERROR_RTC_INVALID_OPTION, "option ", i, " is empty");
  }
  return result;
}

}  // namespace

aclError aclrtcCreateProg(aclrtcProg* prog, const char* src, const char* name, int numHeaders, const char** headers,
                          const char** includeNames) {
  return call("aclrtcCreateProg", [&] {
    aclrtcProg& result = given(prog, "prog");
    result = programs().add(std::make_shared<Program>(&given(src, "src"), &given(name, "name"),
                                                      headers_of(numHeaders, headers, includeNames)));
  });
}

aclError aclrtcAddNameExpr(aclrtcProg prog, const char* const nameExpression) {
  return call("aclrtcAddNameExpr",
              [&] { programs().find(prog)->add_expression(&given(nameExpression, "nameExpression")); });
}

aclError aclrtcCompileProg(aclrtcProg prog, int numOptions, const char** options) {
  return call("aclrtcCompileProg", [&] { programs().find(prog)->compile(options_of(numOptions, options)); });
}

aclError aclrtcGetBinDataSize(aclrtcProg prog, size_t* binDataSizeRet) {
  return call("aclrtcGetBinDataSize", [&] {
    const auto program = programs().find(prog);
    given(binDataSizeRet, "binDataSizeRet") = program->binary().size();
  });
}

aclError aclrtcGetBinData(aclrtcProg prog, char* binData) {
  return call("aclrtcGetBinData", [&] {
    const auto program = programs().find(prog);
    std::memcpy(&given(binData, "binData"), program->binary().data(), program->binary().size());
  });
}

aclError aclrtcGetLoweredName(aclrtcProg prog, const char* nameExpression, const char** loweredName) {
  return call("aclrtcGetLoweredName", [&] {
    const auto program = programs().find(prog);
    const char*& result = given(loweredName, "loweredName");
    result = program->lowered_name(&given(nameExpression, "nameExpression"));
  });
}

aclError aclrtcGetCompileLogSize(aclrtcProg prog, size_t* logSizeRet) {
  return call("aclrtcGetCompileLogSize", [&] {
    const auto program = programs().find(prog);
    given(logSizeRet, "logSizeRet") = program->log().size() + 1;
  });
}

aclError aclrtcGetCompileLog(aclrtcProg prog, char* log) {
  return call("aclrtcGetCompileLog", [&] {
    const auto program = programs().find(prog);
    std::memcpy(&given(log, "log"), program->log().c_str(), program->log().size() + 1);
  });
}

aclError aclrtcDestroyProg(aclrtcProg* prog) {
  return call("aclrtcDestroyProg", [&] {
    aclrtcProg& handle = given(prog, "prog");
    programs().remove(handle);
    handle = nullptr;
  });
}
