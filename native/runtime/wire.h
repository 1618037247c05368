// native/runtime/wire.h
// Reads protobuf's wire format: a message is a sequence of numbered fields. No schema, no copies.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/error.h"

namespace opwright {

struct Field {
  uint32_t number;
  uint64_t value;          // varint and fixed-size fields
  std::string_view bytes;  // length-delimited fields: strings, messages, packed lists
  bool is_delimited = false;
};

class OPWRIGHT_API WireReader {
 public:
  explicit WireReader(std::string_view message) : rest_(message) {}

  // The next field; false at the end. Throws Error for bytes that are not a message.
  bool next(Field& field);
  // The next number of a packed list; nullopt at the end. Throws Error for bytes that are not a number.
  std::optional<uint64_t> next_number();

 private:
  uint64_t varint();
  uint64_t fixed(size_t size);
  std::string_view take(uint64_t size);

  std::string_view rest_;
};

}  // namespace opwright
