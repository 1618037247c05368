// tests/native/main.cpp
// `program --list` prints the scenarios; `program NAME` runs one.
#include "scenario.h"

int main(int argc, char** argv) {
  using namespace opwright::test;
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s --list | SCENARIO\n", argv[0]);
    return 2;
  }
  if (std::strcmp(argv[1], "--list") == 0) {
    for (const Scenario& scenario : scenarios()) std::puts(scenario.name);
    return 0;
  }
  for (const Scenario& scenario : scenarios()) {
    if (std::strcmp(scenario.name, argv[1]) != 0) continue;
    scenario.body();
    return 0;
  }
  std::fprintf(stderr, "no scenario is called %s\n", argv[1]);
  return 2;
}
