// native/ascendc/runtime/debug.cpp
// The output of kernels.
#include "core/debug.h"

#include <cstdlib>
#include <mutex>

#include "ascendc/runtime/launch.h"
#include "ascendc/runtime/report.h"
#include "runtime/error.h"

namespace AscendC::machine {
namespace {

int64_t integer_of(const Printed& value) {
  return value.kind == Printed::Kind::kReal ? static_cast<int64_t>(value.real) : value.integer;
}

template <class Argument>
std::string print_as(const std::string& conversion, Argument argument) {
  const int length = std::snprintf(nullptr, 0, conversion.c_str(), argument);
  if (length < 0) return "";
  std::string result(static_cast<size_t>(length) + 1, '\0');
  std::snprintf(result.data(), result.size(), conversion.c_str(), argument);
  result.pop_back();
  return result;
}

// The text of one value. `start` is the conversion up to its length modifiers ("%-5"), which do not matter: the value
// knows its type.
std::string formatted(const std::string& start, char letter, const Printed& value) {
  switch (letter) {
    case 'd':
    case 'i':
      return print_as(start + "lld", static_cast<long long>(integer_of(value)));
    case 'u':
    case 'x':
    case 'X':
    case 'o':
      return print_as(start + "ll" + letter, static_cast<unsigned long long>(integer_of(value)));
    case 'c':
      return print_as(start + "c", static_cast<int>(integer_of(value)));
    case 's':
      return value.kind == Printed::Kind::kText && value.text != nullptr ? print_as(start + "s", value.text) : "(null)";
    case 'p':
      return print_as(start + "p", value.pointer);
    default: {
      const double number = value.kind == Printed::Kind::kReal     ? value.real
                            : value.kind == Printed::Kind::kSigned ? static_cast<double>(value.integer)
                                                                   : static_cast<double>(value.natural);
      return print_as(start + letter, number);
    }
  }
}

bool is_one_of(char character, const char* set) { return character != '\0' && std::strchr(set, character) != nullptr; }

std::string formatted_text(const char* format, const Printed* values, size_t count) {
  std::string result;
  size_t next = 0;
  for (const char* cursor = format; *cursor != '\0';) {
    if (*cursor != '%') {
      result += *cursor++;
      continue;
    }
    std::string start = "%";
    const char* end = cursor + 1;
    for (; is_one_of(*end, "-+ #0123456789.*hlzjtL"); ++end) {
      if (*end == '*') {  // a width or precision among the values
        start += std::to_string(next < count ? integer_of(values[next++]) : 0);
      } else if (!is_one_of(*end, "hlzjtL")) {
        start += *end;
      }
    }
    const char* const behind = *end == '\0' ? end : end + 1;
    if (*end == '%') {
      result += '%';
    } else if (next < count && is_one_of(*end, "diouxXfFeEgGaAcsp")) {
      result += formatted(start, *end, values[next++]);
    } else {
      result.append(cursor, behind);  // no conversion, or no value is left for it
    }
    cursor = behind;
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
  return formatted("%", value.kind == Printed::Kind::kReal ? 'f' : 'd', value);
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
