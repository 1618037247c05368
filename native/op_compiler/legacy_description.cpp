// native/op_compiler/legacy_description.cpp
#include "op_compiler/legacy_description.h"

#include <charconv>
#include <cmath>

#include "runtime/descriptors/op_attr.h"
#include "runtime/descriptors/tensor_desc.h"
#include "runtime/trace.h"

namespace opwright::legacy {
namespace {

// Appends to a text that is built for every call, so without streams.
class Writer {
 public:
  void raw(const char* text) { text_ += text; }
  void raw(const std::string& text) { text_ += text; }

  void value(int64_t number) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    text_.append(digits, end);
  }
  void value(bool flag) { text_ += flag ? "true" : "false"; }
  void value(aclDataType type) { value(static_cast<int64_t>(type)); }
  void value(const std::string& text) { text_ += trace::quote(text); }
  // Python's json knows these three words.
  void value(float number) {
    if (std::isnan(number)) return raw("NaN");
    if (std::isinf(number)) return raw(number > 0 ? "Infinity" : "-Infinity");
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, static_cast<double>(number)).ptr;
    const std::string written(digits, end);
    text_ += written;
    if (written.find_first_of(".e") == std::string::npos) text_ += ".0";  // it stays a floating-point number
  }
  template <class T>
  void value(const std::vector<T>& elements) {
    text_ += '[';
    bool first = true;
    for (const auto& element : elements) {
      if (!first) text_ += ',';
      first = false;
      value(static_cast<T>(element));
    }
    text_ += ']';
  }

  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void write(Writer& out, const aclTensorDesc* desc) {
  if (desc == nullptr || is_absent(*desc)) return out.raw("null");
  out.raw("{\"name\":");
  out.value(desc->name);
  out.raw(",\"dtype\":");
  out.value(desc->data_type);
  out.raw(",\"shape\":");
  out.value(desc->dims);
  out.raw(",\"format\":");
  out.value(static_cast<int64_t>(desc->format));
  if (desc->storage_format && *desc->storage_format != desc->format) {
    out.raw(",\"storage_format\":");
    out.value(static_cast<int64_t>(*desc->storage_format));
    out.raw(",\"storage_shape\":");
    out.value(desc->storage_dims.value_or(desc->dims));
  }
  out.raw("}");
}

void write(Writer& out, const char* side, Descriptors descriptors) {
  out.raw(side);
  for (int i = 0; i < descriptors.count; ++i) {
    if (i != 0) out.raw(",");
    write(out, descriptors.items[i]);
  }
  out.raw("]");
}

}  // namespace

bool is_absent(const aclTensorDesc& desc) noexcept { return desc.data_type == ACL_DT_UNDEFINED; }

std::string describe(const char* type, Descriptors inputs, Descriptors outputs, const aclopAttr* attributes) {
  Writer out;
  out.raw("{\"type\":");
  out.value(std::string(type));
  write(out, ",\"inputs\":[", inputs);
  write(out, ",\"outputs\":[", outputs);
  out.raw(",\"attributes\":{");
  if (attributes != nullptr) {
    bool first = true;
    for (const auto& [name, value] : attributes->values) {
      if (!first) out.raw(",");
      first = false;
      out.value(name);
      out.raw(":");
      std::visit([&](const auto& held) { out.value(held); }, value);
    }
  }
  out.raw("}}");
  return out.take();
}

}  // namespace opwright::legacy
