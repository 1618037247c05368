// native/ascendc/runtime/debug.cpp
// What kernels print.
#include "core/debug.h"

#include <cstdlib>
#include <mutex>

#include "ascendc/runtime/launch.h"
#include "ascendc/runtime/report.h"
#include "runtime/error.h"

namespace AscendC::machine {
namespace {

// The text of one value by its conversion ("%-5d"), whose length modifiers do not matter: the value knows its type.
std::string formatted(std::string conversion, const Printed& value) {
  const char letter = conversion.back();
  conversion.pop_back();
  while (!conversion.empty() && std::strchr("hlzjtL", conversion.back()) != nullptr) conversion.pop_back();
  char buffer[512];
  const auto print_as = [&](const char* type, auto argument) {
    std::snprintf(buffer, sizeof buffer, (conversion + type).c_str(), argument);
    return std::string(buffer);
  };
  const bool real = value.kind == Printed::Kind::kReal;
  switch (letter) {
    case 'd':
    case 'i':
      return print_as("lld", real ? static_cast<long long>(value.real) : static_cast<long long>(value.integer));
    case 'u':
      return print_as("llu", static_cast<unsigned long long>(value.natural));
    case 'x':
    case 'X':
    case 'o':
      return print_as(letter == 'x'   ? "llx"
                      : letter == 'X' ? "llX"
                                      : "llo",
                      static_cast<unsigned long long>(value.natural));
    case 'c':
      return print_as("c", static_cast<int>(value.integer));
    case 's':
      return value.kind == Printed::Kind::kText && value.text != nullptr ? print_as("s", value.text) : "(null)";
    case 'p':
      return print_as("p", value.pointer);
    default: {
      const double number = real                                   ? value.real
                            : value.kind == Printed::Kind::kSigned ? static_cast<double>(value.integer)
                                                                   : static_cast<double>(value.natural);
      const char type[] = {letter, '\0'};
      return print_as(type, number);
    }
  }
}

std::string formatted_text(const char* format, const Printed* values, size_t count) {
  std::string result;
  size_t next = 0;
  for (const char* cursor = format; *cursor != '\0'; ++cursor) {
    if (*cursor != '%') {
      result += *cursor;
      continue;
    }
    const size_t length = std::strcspn(cursor + 1, "diouxXfFeEgGaAcsp%") + 2;
    const std::string conversion(cursor, std::min(length, std::strlen(cursor)));
    cursor += conversion.size() - 1;
    if (conversion == "%%") {
      result += '%';
    } else if (next < count) {
      result += formatted(conversion, values[next++]);
    } else {
      result += conversion;  // no value is left
    }
  }
  return result;
}

void write_out(const std::string& text) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

std::string element_text(const Dumped& tensor, uint32_t index) {
  if (index >= tensor.count) return "-";
  const Printed value = tensor.element(tensor.data, index);
  return formatted(value.kind == Printed::Kind::kReal ? "%f" : "%d", value);
}

// The elements of one dimension and of those within it, row by row.
std::string nested(const Dumped& tensor, const ShapeInfo& shape, int dim, uint32_t& next) {
  std::string result = "[";
  for (uint32_t i = 0; i < shape.shape[dim]; ++i) {
    const bool innermost = dim + 1 == shape.shapeDim;
    if (i > 0) result += innermost ? "," : ",\n";
    result += innermost ? element_text(tensor, next++) : nested(tensor, shape, dim + 1, next);
  }
  return result + "]";
}

}  // namespace

void print(const char* format, const Printed* values, size_t count) {
  write_out(formatted_text(format, values, count));
}

void dump(const Dumped& tensor, const char* heading, const ShapeInfo* shape) {
  std::ostringstream out;
  out << "DumpTensor: " << heading << ", addr=0x" << std::hex << tensor.address << std::dec
      << ", data_type=" << tensor.type << ", position=" << tensor.position << ", dump_size=" << tensor.count << ", "
      << core_text() << '\n';
  if (shape != nullptr && shape->shapeDim > 0) {
    uint32_t next = 0;
    out << nested(tensor, *shape, 0, next);
  } else {
    out << '[';
    for (uint32_t i = 0; i < tensor.count; ++i) out << (i == 0 ? "" : ", ") << element_text(tensor, i);
    out << ']';
  }
  out << '\n';
  write_out(out.str());
}

void assertion_failed(const char* file, int line, const char* condition, const char* format, const Printed* values,
                      size_t count) {
  const std::string said = formatted_text(format, values, count);
  write_out(opwright::text("[ASSERT] ", file, ":", line, ": Assertion `", condition, "' ", said,
                           said.empty() || said.back() != '\n' ? "\n" : ""));
  if (current_core == nullptr) std::abort();  // host code
  current_launch().fail(
      describe({"OPW-X019", "an assertion of the kernel does not hold", opwright::text("assert(", condition, ")"), said,
                "", here(__builtin_frame_address(0)), ""}));
}

}  // namespace AscendC::machine
