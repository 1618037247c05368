#include "runtime/explore/results.h"

#include <cstdint>
#include <cstring>

#include "runtime/explore/explore.h"
#include "runtime/explore/log.h"

namespace opwright::explore {
namespace {

std::atomic<unsigned> threads{0};

std::string next_key() {
  thread_local const unsigned thread = threads.fetch_add(1);
  thread_local unsigned copies = 0;
  return text(thread, ".", copies++);
}

// FNV-1a over words of eight bytes, with the high half folded back so that each bit reaches all others.
uint64_t digest(const void* bytes, size_t size) {
  constexpr uint64_t kPrime = 0x100000001b3u;
  uint64_t value = 0xcbf29ce484222325u;
  const auto* at = static_cast<const char*>(bytes);
  for (; size >= sizeof(uint64_t); at += sizeof(uint64_t), size -= sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, at, sizeof word);
    value = (value ^ word) * kPrime;
    value ^= value >> 32;
  }
  for (; size > 0; ++at, --size) value = (value ^ static_cast<unsigned char>(*at)) * kPrime;
  return value;
}

}  // namespace

void Result::note(const void* bytes, size_t size) {
  event_log().write_copy(text(key_, ".", runs_.fetch_add(1)), direction_, size, digest(bytes, size), place_);
}

std::shared_ptr<Result> result_of_copy(bool from_device, bool to_device) {
  if (!enabled() || from_device == to_device || !event_log().open()) return nullptr;
  return std::make_shared<Result>(next_key(), from_device ? "to the host" : "to the device", launch_place());
}

}  // namespace opwright::explore
