// native/runtime/data_dump/config.cpp
// The keys are those of CANN's documentation of aclmdlSetDump.
#include "runtime/data_dump/config.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>

#include "acl/acl_base.h"

namespace opwright::data_dump {
namespace {

constexpr int kWrong = ACL_ERROR_INVALID_DUMP_CONFIG;

// A key with a text for a value: what it may be, the default first.
struct Choice {
  const char* key;
  std::vector<std::string> allowed;
};

const Choice kMode{"dump_mode", {"output", "input", "all"}};
const Choice kData{"dump_data", {"tensor", "stats"}};
const Choice kSingleOperators{"dump_op_switch", {"off", "on"}};
const Choice kOverflow{"dump_debug", {"off", "on"}};
// An aclnn function is one kernel here.
const Choice kLevel{"dump_level", {"all", "op", "kernel"}};
// Nothing is fused or quantized while compiling: the nodes that it keeps are there in any case.
const Choice kQuantized{"quant_dumpable", {"0", "1"}};

// Keys of CANN that the twin refuses.
struct Unavailable {
  const char* key;
  const char* reason;
};

constexpr std::array<Unavailable, 3> kUnavailable{{
    {"dump_scene", "there are no AI Core exceptions here whose operators could be dumped"},
    {"dump_stats", "all statistics are written"},
    {"dump_kernel_data", "what kernels print goes to the standard output"},
}};

std::string joined(const std::vector<std::string>& words) {
  std::string result;
  for (const std::string& word : words) result += (result.empty() ? "" : ", ") + word;
  return result;
}

const std::string& text_of(const json::Value& value, const std::string& key) {
  const std::string* const text = value.text();
  require(text != nullptr, kWrong, "'", key, "' has to be a text in quotation marks");
  return *text;
}

std::string choose(const json::Value& dump, const Choice& choice) {
  const json::Value* const value = dump.find(choice.key);
  if (value == nullptr) return choice.allowed.front();
  const std::string& chosen = text_of(*value, choice.key);
  for (const std::string& each : choice.allowed) {
    if (each == chosen) return chosen;
  }
  fail(kWrong, "'", choice.key, "' is '", chosen, "'; allowed: ", joined(choice.allowed));
}

bool is_step(const std::string& part) {
  const size_t dash = part.find('-');
  const std::string first = part.substr(0, dash);
  const std::string last = dash == std::string::npos ? first : part.substr(dash + 1);
  const auto is_number = [](const std::string& text) {
    return !text.empty() && text.size() < 19 && text.find_first_not_of("0123456789") == std::string::npos;
  };
  return is_number(first) && is_number(last) && std::stoll(first) <= std::stoll(last);
}

std::string steps_of(const json::Value& dump) {
  const json::Value* const value = dump.find("dump_step");
  if (value == nullptr) return {};
  std::string steps = text_of(*value, "dump_step");
  for (size_t begin = 0; begin < steps.size();) {
    const size_t end = std::min(steps.find('|', begin), steps.size());
    const std::string part = steps.substr(begin, end - begin);
    require(is_step(part), kWrong, "'dump_step' is '", steps, "'; allowed: numbers and forward ranges, as in 0|2-5");
    begin = end + 1;
  }
  return steps;
}

// Sets `refusal` for a key that the twin does not have; it is left out of the result.
Model model_of(const json::Value& entry, std::string& refusal) {
  require(entry.object() != nullptr, kWrong, "an entry of 'dump_list' has to be an object");
  Model model;
  for (const auto& [key, value] : *entry.object()) {
    if (key == "model_name") {
      model.name = text_of(value, key);
    } else if (key == "layer") {
      require(value.list() != nullptr, kWrong, "'layer' has to be a list of names");
      for (const json::Value& name : *value.list()) model.layers.push_back(text_of(name, "layer"));
    } else {
      refusal = text("'", key, "' of 'dump_list' is not available; there are model_name and layer");
    }
  }
  return model;
}

std::vector<Model> models_of(const json::Value& dump, std::string& refusal) {
  std::vector<Model> models;
  const json::Value* const listed = dump.find("dump_list");
  if (listed == nullptr) return models;
  require(listed->list() != nullptr, kWrong, "'dump_list' has to be a list");
  for (const json::Value& entry : *listed->list()) models.push_back(model_of(entry, refusal));
  return models;
}

// Why these keys ask for a dump that the twin cannot make; empty if it can.
std::string refusal_of_keys(const json::Value& dump) {
  static const std::vector<std::string> kKnown{"dump_path",      "dump_list",      "dump_step",
                                               "dump_mode",      "dump_data",      "dump_level",
                                               "dump_op_switch", "quant_dumpable", "dump_debug"};
  std::string refusal;
  for (const auto& [key, value] : *dump.object()) {
    const auto missing = std::find_if(kUnavailable.begin(), kUnavailable.end(),
                                      [&, &name = key](const Unavailable& each) { return name == each.key; });
    if (missing != kUnavailable.end()) {
      const bool is_off = value.text() != nullptr && *value.text() == "off";
      if (!is_off) refusal = text("'", key, "' is not available: ", missing->reason);
      continue;
    }
    const bool is_known = std::find(kKnown.begin(), kKnown.end(), key) != kKnown.end();
    require(is_known, kWrong, "the entry '", key, "' is not known; there are ", joined(kKnown));
  }
  return refusal;
}

// As in CANN: for graphs alone, and with the inputs and outputs of each operator.
void choose_overflowed(Config& config) {
  require(config.models.empty() && !config.single_operators, kWrong,
          "'dump_debug' is on, beside 'dump_list' or 'dump_op_switch'; allowed: one of them");
  config.target.overflowed = true;
  config.target.inputs = config.target.outputs = true;
  config.models = {Model{}};
}

}  // namespace

std::string folder_for_now(const std::string& folder, int code) {
  std::error_code ignored;
  const std::filesystem::path path = std::filesystem::absolute(folder, ignored);
  require(std::filesystem::is_directory(path, ignored) && access(path.c_str(), W_OK | X_OK) == 0, code, "the folder '",
          folder, "' for dumps does not exist or cannot be written to");
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 16> name{};
  std::strftime(name.data(), name.size(), "%Y%m%d%H%M%S", &local);
  return path.lexically_normal() / name.data();
}

Config read_config(const json::Value& dump) {
  require(dump.object() != nullptr, kWrong, "'dump' has to be an object");
  Config config;
  config.refusal = refusal_of_keys(dump);
  const std::string mode = choose(dump, kMode);
  config.target.inputs = mode != "output";
  config.target.outputs = mode != "input";
  config.target.statistics = choose(dump, kData) == "stats";
  choose(dump, kLevel);
  choose(dump, kQuantized);
  config.steps = steps_of(dump);
  config.single_operators = choose(dump, kSingleOperators) == "on";
  config.models = models_of(dump, config.refusal);
  if (!config.refusal.empty()) {
    // Without a list and a switch nothing says whose dump it is, so whichever comes first is refused.
    if (config.models.empty() && !config.single_operators) {
      config.models = {Model{}};
      config.single_operators = true;
    }
    return config;
  }
  if (choose(dump, kOverflow) == "on") choose_overflowed(config);
  require(config.single_operators || !config.models.empty(), kWrong,
          "nothing is to be dumped: 'dump_list' names no graphs, and 'dump_op_switch' is not on");
  const json::Value* const folder = dump.find("dump_path");
  require(folder != nullptr, kWrong, "'dump_path' is missing");
  config.target.folder = folder_for_now(text_of(*folder, "dump_path"), kWrong);
  return config;
}

}  // namespace opwright::data_dump
