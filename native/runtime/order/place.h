// native/runtime/order/place.h
// A place in a Python program that was noted where Python's lock could not be taken.
#pragma once

#include <string>
#include <vector>

namespace opwright::order {

struct Frame {
  std::string file;
  int line;
  std::string function;
};

class Place {
 public:
  Place() = default;
  virtual ~Place() = default;
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  // Innermost first. Takes Python's lock.
  virtual std::vector<Frame> frames() = 0;
};

}  // namespace opwright::order
