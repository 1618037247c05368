// tests/native/c_call_test.cpp
// Calls of C functions whose parameters are known only at run time, against the compiler's own calls.
#include "live/call/c_call.h"

#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "scenario.h"

using opwright::live::CCall;

namespace {

// The arguments that a callee got, in the order of its parameters.
std::string got;

template <class... Values>
int note(const Values&... values) {
  std::ostringstream out;
  out.precision(17);
  ((out << +values << ' '), ...);
  got = out.str();
  return -7;
}

// Every parameter takes the next number, so that a value in the wrong place shows.
struct Numbers {
  int next = 0;
  template <class T>
  T take() {
    ++next;
    if constexpr (std::is_same_v<T, bool>) {
      return next % 3 == 0;
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(next) + static_cast<T>(0.1);
    } else {
      return static_cast<T>(next % 2 == 0 ? next : -next);
    }
  }
};

template <class T>
void pass(CCall& call, T value) {
  if constexpr (std::is_floating_point_v<T>) {
    CHECK(call.add(value));
  } else {
    CHECK(call.add(static_cast<uint64_t>(value)));
  }
}

// Calls a function of this signature both ways.
template <class... Parameters>
struct Signature {
  static __attribute__((noinline)) int callee(Parameters... values) { return note(values...); }

  static void check() {
    Numbers direct, dynamic;
    auto* volatile function = &callee;  // the compiler must make a real call
    const auto call_directly = [&](auto... values) { return function(values...); };
    std::tuple<Parameters...> values{direct.take<Parameters>()...};
    CHECK_EQ(std::apply(call_directly, values), -7);
    const std::string expected = got;
    CCall call;
    (pass(call, dynamic.take<Parameters>()), ...);
    got.clear();
    CHECK_EQ(call(reinterpret_cast<void*>(&callee)), -7);
    CHECK_EQ(got, expected);
  }
};

template <class Same, class>
using Repeat = Same;

template <class T, size_t... I>
void check_many(std::index_sequence<I...>) {
  Signature<Repeat<T, std::index_sequence<I>>...>::check();
}

}  // namespace

SCENARIO(no_parameters) {
  static const auto callee = +[]() { return 42; };
  CHECK_EQ(CCall()(reinterpret_cast<void*>(callee)), 42);
}

SCENARIO(one_class_in_registers) {
  Signature<int64_t, int64_t, int64_t>::check();
  Signature<double, double>::check();
  Signature<float, float, float>::check();
}

SCENARIO(narrow_integers_and_bools) {
  Signature<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, bool, bool>::check();
  Signature<bool, bool, bool, bool, bool, bool, bool, bool, bool, bool, bool, int8_t, int16_t, bool>::check();
}

SCENARIO(more_integers_than_registers) {
  check_many<int64_t>(std::make_index_sequence<6>());
  check_many<int64_t>(std::make_index_sequence<7>());
  check_many<int64_t>(std::make_index_sequence<9>());
  check_many<int32_t>(std::make_index_sequence<25>());
}

SCENARIO(more_reals_than_registers) {
  check_many<double>(std::make_index_sequence<8>());
  check_many<double>(std::make_index_sequence<9>());
  check_many<double>(std::make_index_sequence<19>());
  check_many<float>(std::make_index_sequence<19>());
}

SCENARIO(everything_mixed_beyond_the_registers) {
  Signature<int64_t, double, bool, float, int32_t, double, int8_t, float, int64_t, double, bool, double, uint16_t,
            float, int64_t, double, float, double, int64_t, double, bool, float, double, int32_t, int64_t, float,
            uint8_t, double, int64_t, int64_t, bool, int16_t, double, int64_t, float, int64_t, uint64_t, int64_t, bool,
            double, int64_t, int64_t, int32_t, double, bool>::check();
  Signature<double, double, double, double, double, double, double, double, float, int64_t, float, bool, double,
            int64_t, int64_t, int64_t, int64_t, int64_t, float, int64_t, int64_t, int64_t, double>::check();
}

SCENARIO(limits_of_each_type) {
  static uint64_t words[4];
  static double reals[2];
  static const auto callee = +[](uint64_t a, int64_t b, double c, float d, int8_t e, const void* f) {
    words[0] = a;
    words[1] = static_cast<uint64_t>(b);
    words[2] = static_cast<uint64_t>(e);
    words[3] = reinterpret_cast<uint64_t>(f);
    reals[0] = c;
    reals[1] = static_cast<double>(d);
    return 0;
  };
  CCall call;
  CHECK(call.add(std::numeric_limits<uint64_t>::max()));
  CHECK(call.add(static_cast<uint64_t>(std::numeric_limits<int64_t>::min())));
  CHECK(call.add(std::numeric_limits<double>::denorm_min()));
  CHECK(call.add(std::numeric_limits<float>::max()));
  CHECK(call.add(static_cast<uint64_t>(int64_t{-128})));
  CHECK(call.add(static_cast<const void*>(&words)));
  CHECK_EQ(call(reinterpret_cast<void*>(callee)), 0);
  CHECK_EQ(words[0], std::numeric_limits<uint64_t>::max());
  CHECK_EQ(static_cast<int64_t>(words[1]), std::numeric_limits<int64_t>::min());
  CHECK_EQ(static_cast<int64_t>(words[2]), -128);
  CHECK_EQ(words[3], reinterpret_cast<uint64_t>(&words));
  CHECK_EQ(reals[0], std::numeric_limits<double>::denorm_min());
  CHECK_EQ(reals[1], static_cast<double>(std::numeric_limits<float>::max()));
}

SCENARIO(all_slots_and_one_more) {
  CCall call;
  size_t taken = 0;
  while (call.add(uint64_t{taken})) ++taken;
  CHECK_EQ(taken, opwright::live::kIntegerRegisters + CCall::kStackSlots);
  CHECK(call.add(1.5));  // registers of the other class are free
  check_many<int64_t>(std::make_index_sequence<opwright::live::kIntegerRegisters + CCall::kStackSlots>());
}
