// tests/native/scenario.h
// Native scenarios. pytest is the framework: tests/native/test_scenarios.py lists the scenarios of each program, runs
// each in a process of its own under every sanitizer build, and reads the exit code and what was printed.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "acl/acl_rt.h"

namespace opwright::test {

struct Scenario {
  const char* name;
  void (*body)();
};

inline std::vector<Scenario>& scenarios() {
  static std::vector<Scenario> all;
  return all;
}

struct Registration {
  Registration(const char* name, void (*body)()) { scenarios().push_back({name, body}); }
};

[[noreturn]] inline void fail_at(const char* file, int line, const std::string& what) {
  std::printf("%s:%d: %s\n", file, line, what.c_str());
  std::fflush(stdout);
  std::_Exit(1);  // no destructors: the scenario is in an unknown state
}

template <class T>
std::string shown(const T& value) {
  std::ostringstream out;
  if constexpr (std::is_enum_v<T>) {
    out << static_cast<long long>(value);
  } else {
    out << value;
  }
  return out.str();
}

// Runs an ACL call that must succeed.
inline void succeed(const char* file, int line, const char* text, int status) {
  if (status != ACL_SUCCESS)
    fail_at(file, line, std::string(text) + " answered " + shown(status) + ": " + aclGetRecentErrMsg());
}

// Runs an ACL call that must fail with `code` and a message that contains every word of `words`.
inline void refuse(const char* file, int line, const char* text, int status, int code,
                   const std::vector<std::string>& words) {
  const std::string message = aclGetRecentErrMsg();
  if (status != code) {
    fail_at(file, line,
            std::string(text) + " answered " + shown(status) + " instead of " + shown(code) + ": " + message);
  }
  for (const std::string& word : words) {
    if (message.find(word) == std::string::npos) {
      fail_at(file, line, std::string(text) + ": the message lacks '" + word + "': " + message);
    }
  }
}

}  // namespace opwright::test

#define SCENARIO(NAME)                                                          \
  static void NAME();                                                           \
  static const ::opwright::test::Registration NAME##_registration(#NAME, NAME); \
  static void NAME()

#define CHECK(CONDITION)                                                                      \
  do {                                                                                        \
    if (!(CONDITION)) ::opwright::test::fail_at(__FILE__, __LINE__, "not true: " #CONDITION); \
  } while (false)

#define CHECK_EQ(GOT, EXPECTED)                                                                              \
  do {                                                                                                       \
    const auto& got_ = (GOT);                                                                                \
    const auto& expected_ = (EXPECTED);                                                                      \
    if (!(got_ == expected_)) {                                                                              \
      ::opwright::test::fail_at(__FILE__, __LINE__,                                                          \
                                std::string(#GOT) + " is " + ::opwright::test::shown(got_) + ", expected " + \
                                    ::opwright::test::shown(expected_));                                     \
    }                                                                                                        \
  } while (false)

#define OK(CALL) ::opwright::test::succeed(__FILE__, __LINE__, #CALL, (CALL))
#define REFUSED(CALL, CODE, ...) ::opwright::test::refuse(__FILE__, __LINE__, #CALL, (CALL), (CODE), {__VA_ARGS__})

namespace opwright::test {

inline void start() {
  OK(aclInit(nullptr));
  OK(aclrtSetDevice(0));
}

}  // namespace opwright::test
