// native/live/rules/checks.cpp
#include "live/rules/checks.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <string>
#include <type_traits>

namespace opwright::live {
namespace {

bool is_given(const c10::IValue& value) { return !value.isNone() && (!value.isTensor() || value.toTensor().defined()); }

template <class T>
bool compare(const T& left, Comparison comparison, const T& right) {
  switch (comparison) {
    case Comparison::kLess:
      return left < right;
    case Comparison::kLessEqual:
      return left <= right;
    case Comparison::kGreater:
      return left > right;
    case Comparison::kGreaterEqual:
      return left >= right;
    case Comparison::kEqual:
      return left == right;
    case Comparison::kNotEqual:
      break;
  }
  return left != right;
}

// The values are written by streams, as the emitted C++ writes them.
template <class... Values>
std::string sentence(const Plan& plan, const Check& check, const Values&... values) {
  std::string result = plan.name + ": " + check.texts[0];
  size_t next = 1;
  ((result += c10::str(values) + check.texts[next++]), ...);
  return result;
}

class Checker {
 public:
  Checker(const Plan& plan, Arguments arguments) : plan_(plan), arguments_(arguments) {}

  void run(const Check& check) const {
    const auto given = [this](size_t position) { return is_given(arguments_[position]); };
    if (!std::all_of(check.used.begin(), check.used.end(), given)) return;
    switch (check.kind) {
      case Check::Kind::kDtype:
        return dtypes(check, check.dtypes);
      case Check::Kind::kDtypeRule:
        if (is_known(check.dtype, arguments_)) dtypes(check, {evaluate(plan_, check.dtype, arguments_)});
        return;
      case Check::Kind::kRank:
        return rank(check);
      case Check::Kind::kSize:
        return size(check);
      case Check::Kind::kSpan:
        return span(check);
      case Check::Kind::kValue:
        return value(check);
      case Check::Kind::kMember:
        return member(check);
    }
  }

 private:
  void dtypes(const Check& check, at::ArrayRef<at::ScalarType> allowed) const {
    const auto one = [&](const at::Tensor& tensor) {
      const at::ScalarType got = tensor.scalar_type();
      TORCH_CHECK_TYPE(std::find(allowed.begin(), allowed.end(), got) != allowed.end(),
                       sentence(plan_, check, got, c10::Join(", ", allowed)));
    };
    const c10::IValue& value = arguments_[check.argument];
    if (value.isTensor()) return one(value.toTensor());
    for (const c10::IValue& item : value.toListRef()) {
      if (is_given(item)) one(item.toTensor());
    }
  }
  void rank(const Check& check) const {
    const int64_t got = arguments_[check.argument].toTensor().dim();
    TORCH_CHECK_VALUE(check.at_least ? got >= check.number : got == check.number, sentence(plan_, check, got));
  }
  void size(const Check& check) const {
    const int64_t got = arguments_[check.argument].toTensor().size(check.number);
    const int64_t expected = evaluate(plan_, check.right, arguments_);
    TORCH_CHECK_VALUE(got == expected, sentence(plan_, check, got, expected));
  }
  void span(const Check& check) const {
    const Sizes got = evaluate(plan_, check.spans[0], arguments_);
    const Sizes expected = evaluate(plan_, check.spans[1], arguments_);
    TORCH_CHECK_VALUE(got == expected, sentence(plan_, check, c10::IntArrayRef(got), c10::IntArrayRef(expected)));
  }
  void value(const Check& check) const {
    const Number left = evaluate_number(plan_, check.left, arguments_);
    const Number right = evaluate_number(plan_, check.right, arguments_);
    std::visit(
        [&](auto one, auto other) {
          using Common = std::common_type_t<decltype(one), decltype(other)>;
          TORCH_CHECK_VALUE(compare<Common>(static_cast<Common>(one), check.comparison, static_cast<Common>(other)),
                            sentence(plan_, check, one, other));
        },
        left, right);
  }
  void member(const Check& check) const {
    const c10::IValue& got = arguments_[check.argument];
    if (got.isString()) {
      is_member(check, got.toStringRef(),
                [](const c10::IValue& each) -> const std::string& { return each.toStringRef(); });
    } else if (got.isDouble()) {
      is_member(check, got.toDouble(), [](const c10::IValue& each) { return each.toDouble(); });
    } else {
      is_member(check, as_int(got), [](const c10::IValue& each) { return each.toInt(); });
    }
  }
  template <class T, class Read>
  void is_member(const Check& check, const T& got, const Read& read) const {
    const auto is_it = [&](const c10::IValue& each) { return read(each) == got; };
    TORCH_CHECK_VALUE(std::any_of(check.members.begin(), check.members.end(), is_it), sentence(plan_, check, got));
  }

  const Plan& plan_;
  const Arguments arguments_;
};

}  // namespace

void check(const Plan& plan, Arguments arguments) {
  const Checker checker(plan, arguments);
  for (const Check& each : plan.checks) checker.run(each);
}

}  // namespace opwright::live
