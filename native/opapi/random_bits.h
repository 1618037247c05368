// native/opapi/random_bits.h
// Random numbers by their place, of which none depends on another.
#pragma once

#include <cstdint>

namespace opwright::opapi {

// Number `index` of the stream that `key` names (splitmix64). Numbers of neighbouring places are unrelated.
inline uint64_t random_bits(uint64_t key, uint64_t index) {
  uint64_t state = key + 0x9E3779B97F4A7C15u * (index + 1);
  state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9u;
  state = (state ^ (state >> 27)) * 0x94D049BB133111EBu;
  return state ^ (state >> 31);
}

}  // namespace opwright::opapi
