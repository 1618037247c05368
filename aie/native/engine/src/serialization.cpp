// serialization.cpp: models as bytes: magic, version, checksum and length of what follows, then the program.
#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "program.h"

namespace AscendIE {

namespace {

constexpr char kMagic[8] = {'A', 'S', 'C', 'E', 'N', 'D', 'I', 'E'};
constexpr uint32_t kVersion = 2;

struct Header {
  char magic[sizeof(kMagic)];
  uint32_t version;
  uint32_t reserved;
  uint64_t checksum;
  uint64_t length;
};

/// FNV-1a.
uint64_t checksum_of(std::string_view bytes) {
  uint64_t sum = 0xcbf29ce484222325;
  for (const unsigned char byte : bytes) sum = (sum ^ byte) * 0x100000001b3;
  return sum;
}

class Writer {
 public:
  template <class T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void operator()(const T& value) {
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void operator()(const std::string& value) {
    (*this)(static_cast<uint64_t>(value.size()));
    text += value;
  }
  template <class T>
  void operator()(const std::vector<T>& values) {
    (*this)(static_cast<uint64_t>(values.size()));
    for (const T& value : values) (*this)(value);
  }
  void operator()(const Attribute& value) {
    (*this)(static_cast<uint8_t>(value.index()));
    std::visit(*this, value);
  }
  void operator()(const Attributes& values) {
    (*this)(static_cast<uint64_t>(values.size()));
    for (const auto& [name, value] : values) {
      (*this)(name);
      (*this)(value);
    }
  }
  void operator()(const ValueType& type) { all(type.type, type.shape); }
  void operator()(const ShapeRange& range) { all(range.min, range.max); }
  void operator()(const Binding& binding) {
    all(binding.value, binding.name, binding.type, binding.shape, binding.profiles);
  }
  void operator()(const Step& step) {
    all(std::string(step.operation->name), step.name, step.attributes, step.inputs, step.outputs);
  }
  void operator()(const std::pair<uint32_t, at::Tensor>& constant) {
    const at::Tensor tensor = constant.second.contiguous();
    all(constant.first, tensor.scalar_type(), tensor.sizes().vec());
    text.append(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
  }
  template <class... T>
  void all(const T&... values) {
    ((*this)(values), ...);
  }

  std::string text;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  template <class T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void operator()(T& value) {
    std::memcpy(&value, take(sizeof value), sizeof value);
  }
  void operator()(std::string& value) {
    const uint64_t size = count();
    value.assign(take(size), size);
  }
  void operator()(at::ScalarType& type) {
    const auto number = get<int8_t>();
    type = static_cast<at::ScalarType>(number);
    const bool known = number >= 0 && number < static_cast<int8_t>(at::ScalarType::Undefined);
    TORCH_CHECK_VALUE(known && !c10::isQIntType(type) && !c10::isBitsType(type), "model: type ",
                      static_cast<int>(number), " is none that a tensor can have");
  }
  /// Grows by what was read: elements are larger in memory than in the text.
  template <class T>
  void operator()(std::vector<T>& values) {
    for (uint64_t left = count(); left > 0; --left) values.push_back(get<T>());
  }
  void operator()(Attribute& value) {
    switch (get<uint8_t>()) {
      case 0:
        value = get<int64_t>();
        return;
      case 1:
        value = get<double>();
        return;
      case 2:
        value = get<std::vector<int64_t>>();
        return;
      case 3:
        value = get<std::string>();
        return;
      default:
        TORCH_CHECK_VALUE(false, "model: attribute of an unknown kind");
    }
  }
  void operator()(Attributes& values) {
    for (uint64_t left = count(); left > 0; --left) {
      const auto name = get<std::string>();
      values[name] = get<Attribute>();
    }
  }
  void operator()(ValueType& type) { all(type.type, type.shape); }
  void operator()(ShapeRange& range) { all(range.min, range.max); }
  void operator()(Binding& binding) { all(binding.value, binding.name, binding.type, binding.shape, binding.profiles); }
  void operator()(Step& step) {
    const auto operation = get<std::string>();
    step.operation = find_operation(operation);
    TORCH_CHECK_VALUE(step.operation, "model: this engine has no layer '", operation, "'");
    all(step.name, step.attributes, step.inputs, step.outputs);
  }
  void operator()(std::pair<uint32_t, at::Tensor>& constant) {
    constant.first = get<uint32_t>();
    const auto type = get<at::ScalarType>();
    const auto shape = get<std::vector<int64_t>>();
    const uint64_t size = bytes_of(shape, type);
    const char* const from = take(size);
    constant.second = at::empty(shape, type);
    if (size) std::memcpy(constant.second.mutable_data_ptr(), from, size);
  }
  template <class... T>
  void all(T&... values) {
    ((*this)(values), ...);
  }
  template <class T>
  T get() {
    T value{};
    (*this)(value);
    return value;
  }

  bool at_end() const { return text_.empty(); }

 private:
  /// At most as many as are left, but for shapes that have a 0.
  uint64_t bytes_of(const std::vector<int64_t>& shape, at::ScalarType type) const {
    uint64_t bytes = c10::elementSize(type);
    for (const int64_t size : shape) {
      const bool fits = size >= 0 && !__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes);
      TORCH_CHECK_VALUE(fits, "model: a constant has shape ", at::IntArrayRef(shape));
    }
    return bytes;
  }
  const char* take(size_t size) {
    TORCH_CHECK_VALUE(size <= text_.size(), "model: it ends too early");
    const char* const here = text_.data();
    text_.remove_prefix(size);
    return here;
  }
  /// Each element has at least one byte, which bounds what a damaged count can allocate.
  uint64_t count() {
    const auto result = get<uint64_t>();
    TORCH_CHECK_VALUE(result <= text_.size(), "model: it ends too early");
    return result;
  }

  std::string_view text_;
};

/// Preparations make constants opaque: in a layout of this machine's kernels.
at::Tensor plain(const Program& program, const std::pair<uint32_t, at::Tensor>& constant) {
  if (!constant.second.is_mkldnn()) return constant.second;
  const at::Tensor dense = constant.second.to_dense();
  const auto& swapped = program.swapped;
  return std::find(swapped.begin(), swapped.end(), constant.first) == swapped.end() ? dense : dense.transpose(0, 1);
}

}  // namespace

std::string serialize(const Program& program) {
  Writer writer;
  writer.all(program.flag, program.values, program.types, program.inputs, program.outputs);
  writer(static_cast<uint64_t>(program.constants.size()));
  for (const auto& constant : program.constants) writer(std::pair(constant.first, plain(program, constant)));
  writer(program.steps);
  Header header{{}, kVersion, 0, checksum_of(writer.text), writer.text.size()};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + writer.text;
}

Program deserialize(std::string_view text) {
  Header header{};
  const std::string_view magic(kMagic, sizeof kMagic);
  TORCH_CHECK_VALUE(text.size() > 0 && magic.starts_with(text.substr(0, magic.size())),
                    "model: the bytes are no model (", text.size(), ")");
  TORCH_CHECK_VALUE(text.size() >= sizeof header, "model: it is too short: ", text.size(), " bytes, its header has ",
                    sizeof header);
  std::memcpy(&header, text.data(), sizeof header);
  text.remove_prefix(sizeof header);
  TORCH_CHECK_VALUE(header.version == kVersion, "model: it has version ", header.version, ", this engine reads ",
                    kVersion, ": compile the module again");
  TORCH_CHECK_VALUE(header.length == text.size(), "model: it is too ", header.length > text.size() ? "short" : "long",
                    ": ", text.size(), " bytes follow its header, which promises ", header.length);
  TORCH_CHECK_VALUE(header.checksum == checksum_of(text), "model: it is damaged (checksum)");
  Reader reader(text);
  Program program;
  reader.all(program.flag, program.values, program.types, program.inputs, program.outputs, program.constants,
             program.steps);
  TORCH_CHECK_VALUE(reader.at_end(), "model: bytes are left behind its end");
  return program;
}

}  // namespace AscendIE
