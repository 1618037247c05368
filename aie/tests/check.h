// aie/tests/check.h: what the native tests share: checks that are run one at a time, by name.
#pragma once

#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "AscendIE.h"

using namespace AscendIE;

inline int failures = 0;

inline void expect(bool holds, const char* text, int line) {
  if (holds) return;
  std::printf("line %d: %s\n", line, text);
  ++failures;
}
#define EXPECT(...) expect((__VA_ARGS__), #__VA_ARGS__, __LINE__)

struct Example {
  Builder* builder = Builder::CreateInferBuilder("Ascend310P3");
  std::unique_ptr<Network> net{builder->CreateNetwork()};
  Tensor* x = net->AddInput("x", DataType::FLOAT, {2, 4, 6, 6});

  bool has_error(const char* part) const {
    for (size_t i = 0; i < net->GetErrorsNum(); ++i) {
      if (std::strstr(net->GetErrorByIndex(i), part)) return true;
    }
    return false;
  }
};

using Checks = std::map<std::string, void (*)()>;

/// For `main`: runs the check that the argument names.
inline int run_check(const Checks& checks, int argc, char** argv) {
  if (argc == 2) checks.at(argv[1])();
  return failures;
}
