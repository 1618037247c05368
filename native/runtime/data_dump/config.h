// native/runtime/data_dump/config.h
// Settings of data dumps: the entry "dump" of aclInit's file, or of aclmdlSetDump's.
#pragma once

#include <string>
#include <vector>

#include "runtime/json.h"

namespace opwright::data_dump {

struct Target {
  std::string folder;  // of one configuration: its dump_path and the time at which it began
  bool inputs = false;
  bool outputs = true;
  bool statistics = false;  // a table of them in place of the tensors
  bool overflowed = false;  // only operators that give an infinity or a NaN
};

// Graphs of a name, or all if it is empty; of them these nodes, or all.
struct Model {
  std::string name;
  std::vector<std::string> layers;
};

struct Config {
  Target target;
  std::string steps;  // "0|2-5"; empty: all
  std::vector<Model> models;
  bool single_operators = false;
  // The key for which the twin cannot make this dump, and why; empty if it can. Otherwise `models` and
  // `single_operators` say what is refused, and nothing else counts.
  std::string refusal;
};

// `folder`, which has to exist and be writable, and in it a name for the present time. Throws Error(code).
std::string folder_for_now(const std::string& folder, int code);

// Reads the value of "dump". Throws ACL_ERROR_INVALID_DUMP_CONFIG for settings that are wrong in CANN, too.
Config read_config(const json::Value& dump);

}  // namespace opwright::data_dump
