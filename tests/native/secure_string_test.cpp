// tests/native/secure_string_test.cpp
// libc_sec: bounds, and what is left in the destination after an error.
#include <cerrno>
#include <cstdint>

#include "scenario.h"
#include "securec/securec.h"

namespace {

struct Buffer {
  char text[8] = "before";
};

}  // namespace

SCENARIO(text_that_fits_is_written) {
  Buffer buffer;
  CHECK_EQ(snprintf_s(buffer.text, sizeof(buffer.text), 7, "%d-%s", 12, "ab"), 5);
  CHECK_EQ(std::string(buffer.text), "12-ab");
  CHECK_EQ(strcpy_s(buffer.text, sizeof(buffer.text), "1234567"), 0);
  CHECK_EQ(std::string(buffer.text), "1234567");
}

SCENARIO(text_beyond_the_count_is_cut) {
  Buffer buffer;
  CHECK_EQ(snprintf_s(buffer.text, sizeof(buffer.text), 3, "%s", "abcdef"), -1);
  CHECK_EQ(std::string(buffer.text), "abc");
}

SCENARIO(text_beyond_the_destination_is_dropped) {
  Buffer buffer;
  CHECK_EQ(snprintf_s(buffer.text, sizeof(buffer.text), SIZE_MAX, "%s", "12345678"), -1);
  CHECK_EQ(std::string(buffer.text), "");
  CHECK_EQ(strcpy_s(buffer.text, sizeof(buffer.text), "12345678"), ERANGE | 128);
  CHECK_EQ(std::string(buffer.text), "");
}

SCENARIO(wrong_parameters_are_errors) {
  Buffer buffer;
  CHECK_EQ(strcpy_s(nullptr, 8, "a"), EINVAL);
  CHECK_EQ(strcpy_s(buffer.text, 0, "a"), ERANGE);
  CHECK_EQ(std::string(buffer.text), "before");
  CHECK_EQ(strcpy_s(buffer.text, 8, nullptr), EINVAL | 128);
  CHECK_EQ(std::string(buffer.text), "");
  Buffer overlapping;
  CHECK_EQ(strcpy_s(overlapping.text, 8, overlapping.text + 1), 54 | 128);
  CHECK_EQ(snprintf_s(nullptr, 8, 7, "a"), -1);
}
