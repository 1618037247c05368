// lowering/modules.cpp: reads what inlining left at each node.
#include "lowering/modules.h"

#include <sstream>

namespace torch_aie::core::lowering {

namespace {

using torch::jit::Node;

bool starts_with(const std::string& text, const char* start) { return text.rfind(start, 0) == 0; }

std::string trimmed(const std::string& line) {
  const size_t first = line.find_first_not_of(" \t");
  const size_t last = line.find_last_not_of(" \t\r\n");
  return first == std::string::npos ? "" : line.substr(first, last - first + 1);
}

/// The line of its source in which the range starts.
std::string line_of(const torch::jit::SourceRange& range) {
  if (!range.source()) return "";
  const auto& source = range.source();
  return trimmed(source->get_line(source->lineno_for_offset(range.start())).str());
}

}  // namespace

std::string class_name(const std::string& qualified) {
  std::istringstream parts(qualified);
  std::string name;
  for (std::string part; std::getline(parts, part, '.');) {
    if (part == "__torch__" || part == "__main__" || starts_with(part, "___torch_mangle_")) continue;
    name += (name.empty() ? "" : ".") + part;
  }
  return name;
}

std::vector<std::string> classes_of(const Node* node) {
  std::vector<std::string> classes;
  const auto stack = node->callstack();
  if (!stack) return classes;
  for (const auto& [function, range, instance] : (*stack)->vec()) {
    if (!instance || !instance->class_type() || !instance->class_type()->name()) continue;
    classes.push_back(class_name(instance->class_type()->name()->qualifiedName()));
  }
  return classes;
}

std::string source_of(const Node* node) {
  std::string text;
  const std::string line = line_of(node->sourceRange());
  if (!line.empty()) text += ": " + line;
  const auto stack = node->callstack();
  if (!stack) return text;
  const auto caller = (*stack)->vec().front();
  const auto place = std::get<1>(caller).file_line_col();
  if (place) text += " (called at " + std::get<0>(*place) + ":" + std::to_string(std::get<1>(*place)) + ")";
  return text;
}

}  // namespace torch_aie::core::lowering
