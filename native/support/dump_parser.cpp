// native/support/dump_parser.cpp
// libascend_dump_parser: the head of a dump file as JSON, as MindStudio's tools (msprobe, msaccucmp) read it. Every
// field is written, enumerations are numbers, and numbers of 64 bits are texts, as protobuf's JSON has them.
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/call.h"
#include "runtime/trace.h"
#include "runtime/wire.h"

namespace opwright {
namespace {

constexpr int kFailed = -1;

enum class Kind { kNumber, kLong, kText, kMessage, kMessages, kLongs };

struct FieldType;
using Message = std::vector<FieldType>;

struct FieldType {
  uint32_t number;
  const char* name;
  Kind kind;
  const Message* message = nullptr;
};

const Message kShape{{1, "dim", Kind::kLongs}};
const Message kOriginal{{1, "name", Kind::kText},
                        {2, "output_index", Kind::kNumber},
                        {3, "data_type", Kind::kNumber},
                        {4, "format", Kind::kNumber}};
const Message kOutput{{1, "data_type", Kind::kNumber},
                      {2, "format", Kind::kNumber},
                      {3, "shape", Kind::kMessage, &kShape},
                      {4, "original_op", Kind::kMessage, &kOriginal},
                      {6, "size", Kind::kLong},
                      {7, "original_shape", Kind::kMessage, &kShape},
                      {8, "sub_format", Kind::kNumber},
                      {9, "address", Kind::kLong}};
const Message kInput{{1, "data_type", Kind::kNumber},
                     {2, "format", Kind::kNumber},
                     {3, "shape", Kind::kMessage, &kShape},
                     {5, "size", Kind::kLong},
                     {6, "original_shape", Kind::kMessage, &kShape},
                     {7, "sub_format", Kind::kNumber},
                     {8, "address", Kind::kLong}};
const Message kBuffer{{1, "buffer_type", Kind::kNumber}, {3, "size", Kind::kLong}};
const Message kHead{{1, "version", Kind::kText},
                    {2, "dump_time", Kind::kLong},
                    {3, "output", Kind::kMessages, &kOutput},
                    {4, "input", Kind::kMessages, &kInput},
                    {5, "buffer", Kind::kMessages, &kBuffer},
                    {6, "op_name", Kind::kText}};

std::string to_json(std::string_view bytes, const Message& message);

// The numbers of one field, packed or not.
std::string longs(const std::vector<Field>& fields) {
  std::string result;
  const auto add = [&](uint64_t value) { result += text(result.empty() ? "" : ",", '"', value, '"'); };
  for (const Field& field : fields) {
    if (!field.is_delimited) {
      add(field.value);
      continue;
    }
    WireReader packed(field.bytes);
    while (const std::optional<uint64_t> value = packed.next_number()) add(*value);
  }
  return "[" + result + "]";
}

std::string value_of(const FieldType& type, const std::vector<Field>& fields) {
  const Field last = fields.empty() ? Field{} : fields.back();
  std::string listed;
  switch (type.kind) {
    case Kind::kNumber:
      return std::to_string(last.value);
    case Kind::kLong:
      return text('"', last.value, '"');
    case Kind::kText:
      return trace::quote(std::string(last.bytes));
    case Kind::kMessage:
      return to_json(last.bytes, *type.message);
    case Kind::kMessages:
      for (const Field& field : fields) listed += (listed.empty() ? "" : ",") + to_json(field.bytes, *type.message);
      return "[" + listed + "]";
    case Kind::kLongs:
      return longs(fields);
  }
  fail(kFailed, "a field of a kind that there is not");
}

std::string to_json(std::string_view bytes, const Message& message) {
  std::map<uint32_t, std::vector<Field>> found;
  Field field;
  for (WireReader reader(bytes); reader.next(field);) found[field.number].push_back(field);
  std::string result;
  for (const FieldType& type : message) {
    result += text(result.empty() ? "" : ",", trace::quote(type.name), ':', value_of(type, found[type.number]));
  }
  return "{" + result + "}";
}

std::string_view head_of(const char* data, size_t length) {
  uint64_t head = 0;
  require(data != nullptr && length >= sizeof head, kFailed, "a dump file has at least ", sizeof head, " bytes");
  std::memcpy(&head, data, sizeof head);
  require(head <= length - sizeof head, kFailed, "the head of a dump file has ", head, " bytes, but the file ", length);
  return {data + sizeof head, head};
}

}  // namespace
}  // namespace opwright

extern "C" OPWRIGHT_API int32_t ParseDumpProtoToJson(const char* data, size_t dataLength, const char* path) {
  using namespace opwright;  // NOLINT: the definition of this library's interface
  const int status = call(
      "ParseDumpProtoToJson",
      [&] {
        require(path != nullptr, kFailed, "parameter 'path' is null");
        const std::string json = to_json(head_of(data, dataLength), kHead);
        std::ofstream file(path);
        file << json;
        file.close();
        require(file.good(), kFailed, "cannot write '", path, "'");
      },
      arg("dataLength", dataLength));
  return status == 0 ? 0 : kFailed;
}
