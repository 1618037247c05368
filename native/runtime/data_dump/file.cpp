// native/runtime/data_dump/file.cpp
// Numbers of fields, types and formats are those of CANN's dump_data.proto (package toolkit.dumpdata).
#include "runtime/data_dump/file.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <new>
#include <sstream>

#include "acl/acl_base.h"
#include "runtime/descriptors/data_type.h"
#include "runtime/log.h"

namespace opwright::data_dump {
namespace {

constexpr char kVersion[] = "2.0";
constexpr size_t kLongestName = 255;  // of a file, in bytes
constexpr int kLastCommonFormat = 46;
constexpr int kNoLayout = 2;  // FORMAT_ND

struct DumpType {
  uint64_t code;
  const char* name;
};

const DumpType& type_of(aclDataType dtype) {
  static const std::map<int, DumpType> kTypes{
      {ACL_FLOAT, {1, "DT_FLOAT"}},
      {ACL_FLOAT16, {2, "DT_FLOAT16"}},
      {ACL_INT8, {3, "DT_INT8"}},
      {ACL_UINT8, {4, "DT_UINT8"}},
      {ACL_INT16, {5, "DT_INT16"}},
      {ACL_UINT16, {6, "DT_UINT16"}},
      {ACL_INT32, {7, "DT_INT32"}},
      {ACL_INT64, {8, "DT_INT64"}},
      {ACL_UINT32, {9, "DT_UINT32"}},
      {ACL_UINT64, {10, "DT_UINT64"}},
      {ACL_BOOL, {11, "DT_BOOL"}},
      {ACL_DOUBLE, {12, "DT_DOUBLE"}},
      {ACL_STRING, {13, "DT_STRING"}},
      {ACL_COMPLEX64, {16, "DT_COMPLEX64"}},
      {ACL_COMPLEX128, {17, "DT_COMPLEX128"}},
      {ACL_BF16, {27, "DT_BF16"}},
      {ACL_INT4, {28, "DT_INT4"}},
      {ACL_UINT1, {29, "DT_UINT1"}},
      {ACL_COMPLEX32, {32, "DT_COMPLEX32"}},
      {ACL_HIFLOAT8, {33, "DT_HIFLOAT8"}},
      {ACL_FLOAT8_E5M2, {34, "DT_FLOAT8_E5M2"}},
      {ACL_FLOAT8_E4M3FN, {35, "DT_FLOAT8_E4M3FN"}},
      {ACL_FLOAT8_E8M0, {36, "DT_FLOAT8_E8M0"}},
      {ACL_FLOAT6_E3M2, {37, "DT_FLOAT6_E3M2"}},
      {ACL_FLOAT6_E2M3, {38, "DT_FLOAT6_E2M3"}},
      {ACL_FLOAT4_E2M1, {39, "DT_FLOAT4_E2M1"}},
      {ACL_FLOAT4_E1M2, {40, "DT_FLOAT4_E1M2"}},
  };
  static const DumpType kUndefined{0, "DT_UNDEFINED"};
  const auto it = kTypes.find(dtype);
  return it == kTypes.end() ? kUndefined : it->second;
}

uint64_t format_of(aclFormat format) {
  const int code = static_cast<int>(format);
  return static_cast<uint64_t>(code < 0 || code > kLastCommonFormat ? kNoLayout : code);
}

const char* format_name(aclFormat format) {
  static const std::map<int, const char*> kNames{
      {ACL_FORMAT_NCHW, "NCHW"},
      {ACL_FORMAT_NHWC, "NHWC"},
      {ACL_FORMAT_NC1HWC0, "NC1HWC0"},
      {ACL_FORMAT_FRACTAL_Z, "FRACTAL_Z"},
      {ACL_FORMAT_HWCN, "HWCN"},
      {ACL_FORMAT_NDHWC, "NDHWC"},
      {ACL_FORMAT_FRACTAL_NZ, "FRACTAL_NZ"},
      {ACL_FORMAT_NCDHW, "NCDHW"},
      {ACL_FORMAT_NDC1HWC0, "NDC1HWC0"},
  };
  const auto it = kNames.find(format);
  return it == kNames.end() ? "ND" : it->second;
}

// Protobuf's wire format. Fields of value 0 and empty texts are left out, as in proto3.
class Message {
 public:
  void number(uint32_t field, uint64_t value) {
    if (value == 0) return;
    varint(uint64_t{field} << 3);
    varint(value);
  }
  void bytes(uint32_t field, const std::string& value) {
    varint(uint64_t{field} << 3 | 2);
    varint(value.size());
    bytes_ += value;
  }
  void text(uint32_t field, const std::string& value) {
    if (!value.empty()) bytes(field, value);
  }
  void varint(uint64_t value) {
    constexpr uint64_t kMore = 0x80;
    for (; value >= kMore; value >>= 7) bytes_ += static_cast<char>((value & 0x7F) | kMore);
    bytes_ += static_cast<char>(value);
  }
  const std::string& done() const noexcept { return bytes_; }

 private:
  std::string bytes_;
};

std::string encode_shape(const std::vector<int64_t>& sizes) {
  Message packed;
  for (const int64_t size : sizes) packed.varint(static_cast<uint64_t>(size));
  Message shape;
  shape.text(1, packed.done());
  return shape.done();
}

// The fields of OpInput and OpOutput, which number theirs differently.
struct Fields {
  uint32_t size;
  uint32_t original_shape;
  uint32_t address;
};

constexpr Fields kInputFields{5, 6, 8};
constexpr Fields kOutputFields{6, 7, 9};

std::string encode_tensor(const Tensor& tensor, const Fields& fields) {
  Message message;
  message.number(1, type_of(tensor.dtype).code);
  message.number(2, format_of(tensor.format));
  message.bytes(3, encode_shape(tensor.sizes));
  message.number(fields.size, tensor.bytes);
  message.bytes(fields.original_shape, encode_shape(tensor.original_sizes));
  message.number(fields.address, tensor.address);
  return message.done();
}

std::string encode_head(const Record& record) {
  Message head;
  head.text(1, kVersion);
  head.number(2, record.time);
  for (const Tensor& tensor : record.outputs) head.bytes(3, encode_tensor(tensor, kOutputFields));
  for (const Tensor& tensor : record.inputs) head.bytes(4, encode_tensor(tensor, kInputFields));
  head.text(6, record.name);
  return head.done();
}

void append_data(std::string& file, const std::vector<Tensor>& tensors) {
  for (const Tensor& tensor : tensors) {
    if (tensor.bytes != 0) file.append(static_cast<const char*>(tensor.data), tensor.bytes);
  }
}

float from_bits(uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// An 8-bit float of IEEE's form: its largest exponent means infinity and NaN.
float from_e5m2(uint8_t byte) { return half_to_float(static_cast<uint16_t>(byte << 8)); }

// Without infinity; NaN is the largest pattern.
float from_e4m3(uint8_t byte) {
  constexpr int kBias = 7;
  const int exponent = byte >> 3 & 0xF;
  const int fraction = byte & 0x7;
  const bool is_nan = (byte & 0x7F) == 0x7F;
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(fraction), 1 - kBias - 3)
                                   : std::ldexp(static_cast<float>(8 + fraction), exponent - kBias - 3);
  if (is_nan) return std::numeric_limits<float>::quiet_NaN();
  return (byte & 0x80) != 0 ? -size : size;
}

// Of the finite elements; the others are counted.
template <class T>
struct Summary {
  T most = std::numeric_limits<T>::lowest();
  T least = std::numeric_limits<T>::max();
  double sum = 0;
  size_t finite = 0;
  size_t nan = 0;
  size_t negative_infinite = 0;
  size_t positive_infinite = 0;

  void add(T value) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(value)) return static_cast<void>(++nan);
      if (std::isinf(value)) return static_cast<void>(++(value < 0 ? negative_infinite : positive_infinite));
    }
    most = std::max(most, value);
    least = std::min(least, value);
    sum += static_cast<double>(value);
    ++finite;
  }

  std::string cells(size_t count) const {
    std::ostringstream out;
    out.precision(std::numeric_limits<T>::max_digits10 == 0 ? 6 : std::numeric_limits<T>::max_digits10);
    if (finite == 0) {
      out << ",,";
    } else {
      out << +most << ',' << +least << ',' << sum / static_cast<double>(finite);
    }
    out << ',' << count << ',' << nan << ',' << negative_infinite << ',' << positive_infinite;
    return out.str();
  }
};

template <class Stored, class T>
std::string summarize(const Tensor& tensor, const std::function<T(Stored)>& convert) {
  const size_t count = tensor.bytes / sizeof(Stored);
  Summary<T> summary;
  for (size_t i = 0; i < count; ++i) {
    Stored element;
    std::memcpy(&element, static_cast<const char*>(tensor.data) + i * sizeof element, sizeof element);
    summary.add(convert(element));
  }
  return summary.cells(count);
}

template <class T>
std::string summarize(const Tensor& tensor) {
  return summarize<T, T>(tensor, [](T value) { return value; });
}

// Values without an order, or without a type of C++, have no statistics.
std::string cells_of(const Tensor& tensor) {
  switch (tensor.dtype) {
    case ACL_FLOAT:
      return summarize<float>(tensor);
    case ACL_DOUBLE:
      return summarize<double>(tensor);
    case ACL_FLOAT16:
      return summarize<uint16_t, float>(tensor, half_to_float);
    case ACL_BF16:
      return summarize<uint16_t, float>(tensor, [](uint16_t half) { return from_bits(uint32_t{half} << 16); });
    case ACL_FLOAT8_E5M2:
      return summarize<uint8_t, float>(tensor, from_e5m2);
    case ACL_FLOAT8_E4M3FN:
      return summarize<uint8_t, float>(tensor, from_e4m3);
    case ACL_INT8:
      return summarize<int8_t>(tensor);
    case ACL_UINT8:
    case ACL_BOOL:
      return summarize<uint8_t>(tensor);
    case ACL_INT16:
      return summarize<int16_t>(tensor);
    case ACL_UINT16:
      return summarize<uint16_t>(tensor);
    case ACL_INT32:
      return summarize<int32_t>(tensor);
    case ACL_UINT32:
      return summarize<uint32_t>(tensor);
    case ACL_INT64:
      return summarize<int64_t>(tensor);
    case ACL_UINT64:
      return summarize<uint64_t>(tensor);
    default:
      return ",,,,,,";
  }
}

void add_rows(std::string& table, const char* kind, const std::vector<Tensor>& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    std::string shape;
    for (const int64_t size : tensor.sizes) shape += text(shape.empty() ? "" : "x", size);
    table += text(kind, ',', i, ',', tensor.bytes, ',', type_of(tensor.dtype).name, ',', format_name(tensor.format),
                  ',', shape, ',', cells_of(tensor), '\n');
  }
}

// A text as CSV has it: in quotation marks if it would end its cell without them.
std::string cell(const std::string& content) {
  if (content.find_first_of(",\"\r\n") == std::string::npos) return content;
  std::string quoted = "\"";
  for (const char each : content) quoted.append(each == '"' ? 2 : 1, each);
  return quoted + '"';
}

// Where the name is too long for a file system: a number, and beside it the table of these numbers, as CANN has it.
std::filesystem::path place_of(const Record& record, const std::string& name) {
  const std::filesystem::path folder = record.folder;
  if (name.size() <= kLongestName) return folder / name;
  const std::string number = std::to_string(std::hash<std::string>{}(name));
  const std::filesystem::path table = folder / "mapping.csv";
  std::ofstream rows(table, std::ios::app);
  rows << number << ',' << cell(name) << '\n';
  rows.close();
  require(rows.good(), ACL_ERROR_WRITE_FILE, "cannot write '", table.string(), "'");
  return folder / number;
}

void write_bytes(const std::filesystem::path& path, const std::string& content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  require(file.good(), ACL_ERROR_WRITE_FILE, "cannot write '", path.string(), "'");
  std::filesystem::permissions(path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

}  // namespace

std::string in_file_names(std::string name) {
  std::replace_if(name.begin(), name.end(), [](char each) { return std::strchr("./\\ ", each) != nullptr; }, '_');
  return name;
}

uint64_t next_time() noexcept {
  static std::atomic<uint64_t> last{0};
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  const auto now = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(since).count());
  uint64_t before = last.load();
  while (!last.compare_exchange_weak(before, std::max(now, before + 1))) {
  }
  return std::max(now, before + 1);
}

std::string file_name(const Record& record) {
  return text(in_file_names(record.type), '.', in_file_names(record.name), '.', record.task, '.', record.stream, '.',
              record.time);
}

std::string encode(const Record& record) {
  const std::string head = encode_head(record);
  const uint64_t length = head.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof length);
  file += head;
  append_data(file, record.inputs);
  append_data(file, record.outputs);
  return file;
}

std::string statistics(const Record& record) {
  std::string table =
      "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,"
      "Negative Inf Count,Positive Inf Count\n";
  add_rows(table, "Input", record.inputs);
  add_rows(table, "Output", record.outputs);
  return table;
}

void write(const Record& record, bool as_statistics) noexcept {
  try {
    std::filesystem::create_directories(record.folder);
    write_bytes(place_of(record, file_name(record) + (as_statistics ? ".csv" : "")),
                as_statistics ? statistics(record) : encode(record));
  } catch (const std::exception& error) {
    report_failure(error);
  }
}

void report_failure(const std::exception& error) noexcept {
  try {
    log::write_lost_failure(ACL_ERROR_WRITE_FILE, text("data dump: ", error.what()));
  } catch (const std::bad_alloc&) {
    log::write_lost_failure(ACL_ERROR_WRITE_FILE, {});
  }
}

}  // namespace opwright::data_dump
