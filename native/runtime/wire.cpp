// native/runtime/wire.cpp
// Reads protobuf's wire format.
#include "runtime/wire.h"

namespace opwright {
namespace {

enum WireType : uint64_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

constexpr int kMalformed = ACL_ERROR_INVALID_PARAM;

}  // namespace

bool WireReader::next(Field& field) {
  if (rest_.empty()) return false;
  const uint64_t key = varint();
  field = Field{static_cast<uint32_t>(key >> 3), 0, {}};
  switch (key & 7) {
    case kVarint:
      field.value = varint();
      break;
    case kFixed64:
      field.value = fixed(8);
      break;
    case kFixed32:
      field.value = fixed(4);
      break;
    case kLengthDelimited:
      field.bytes = take(varint());
      field.is_delimited = true;
      break;
    default:
      fail(kMalformed, "not a protobuf message: field ", key >> 3, " has wire type ", key & 7);
  }
  require(field.number != 0, kMalformed, "not a protobuf message: a field has number 0");
  return true;
}

std::optional<uint64_t> WireReader::next_number() {
  if (rest_.empty()) return std::nullopt;
  return varint();
}

uint64_t WireReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(take(1).front());
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  fail(kMalformed, "not a protobuf message: a number has more than 64 bits");
}

// Little-endian.
uint64_t WireReader::fixed(size_t size) {
  uint64_t value = 0;
  int shift = 0;
  for (const char byte : take(size)) {
    value |= static_cast<uint64_t>(static_cast<unsigned char>(byte)) << shift;
    shift += 8;
  }
  return value;
}

std::string_view WireReader::take(uint64_t size) {
  require(size <= rest_.size(), kMalformed, "not a protobuf message: it ends ", size - rest_.size(), " bytes early");
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

}  // namespace opwright
