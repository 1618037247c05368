// native/live/checks.cpp
#include "live/checks.h"

#include <ATen/core/Tensor.h>

#include <algorithm>

namespace opwright::live {
namespace {

bool is_given(const c10::IValue& value) {
  return !value.isNone() && (!value.isTensor() || value.unsafeToTensorImpl() != nullptr);
}

bool compare(int64_t left, Comparison comparison, int64_t right) {
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
        return dtypes(check, {evaluate(plan_, check.dtype, arguments_)});
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
  const std::string& name(const Check& check) const { return plan_.arguments[check.argument]; }

  void dtypes(const Check& check, at::ArrayRef<at::ScalarType> allowed) const {
    const auto one = [&](const at::Tensor& tensor) {
      TORCH_CHECK_TYPE(
          !tensor.defined() || std::find(allowed.begin(), allowed.end(), tensor.scalar_type()) != allowed.end(),
          plan_.name, ": argument '", name(check), "' has dtype ", tensor.scalar_type(), "; allowed: ", allowed);
    };
    const c10::IValue& value = arguments_[check.argument];
    if (value.isTensor()) return one(value.toTensor());
    for (const c10::IValue& item : value.toListRef()) {
      if (is_given(item)) one(item.toTensor());
    }
  }
  void rank(const Check& check) const {
    const int64_t got = arguments_[check.argument].toTensor().dim();
    TORCH_CHECK_VALUE(check.at_least ? got >= check.number : got == check.number, plan_.name, ": argument '",
                      name(check), "' has ", got, " axes; it needs ", check.at_least ? "at least " : "", check.number,
                      ", as in '", check.text, "'");
  }
  void size(const Check& check) const {
    const int64_t got = arguments_[check.argument].toTensor().size(check.number);
    const int64_t expected = evaluate(plan_, check.right, arguments_);
    TORCH_CHECK_VALUE(got == expected, plan_.name, ": axis ", check.number, " of argument '", name(check),
                      "' has size ", got, "; '", check.text, "' asks for ", expected);
  }
  void span(const Check& check) const {
    const Sizes got = evaluate(plan_, check.spans[0], arguments_);
    const Sizes expected = evaluate(plan_, check.spans[1], arguments_);
    TORCH_CHECK_VALUE(got == expected, plan_.name, ": argument '", name(check), "' has axes ", c10::IntArrayRef(got),
                      "; '", check.text, "' asks for ", c10::IntArrayRef(expected));
  }
  void value(const Check& check) const {
    const int64_t left = evaluate(plan_, check.left, arguments_);
    const int64_t right = evaluate(plan_, check.right, arguments_);
    TORCH_CHECK_VALUE(compare(left, check.comparison, right), plan_.name, ": '", check.text, "' does not hold: ", left,
                      " and ", right);
  }
  void member(const Check& check) const {
    const c10::IValue& got = arguments_[check.argument];
    const auto is_it = [&](const Member& member) { return equal(got, member); };
    if (std::any_of(check.members.begin(), check.members.end(), is_it)) return;
    std::vector<std::string> allowed;
    for (const Member& member : check.members) allowed.push_back(member.text);
    TORCH_CHECK_VALUE(false, plan_.name, ": argument '", name(check), "' is ", text(got), "; '", check.text,
                      "' allows ", c10::Join(", ", allowed));
  }
  static bool equal(const c10::IValue& got, const Member& member) {
    if (got.isString()) return member.value.isString() && got.toStringRef() == member.value.toStringRef();
    if (!member.value.isScalar() || !(got.isScalar() || got.isSymInt())) return false;
    return (got.isSymInt() ? c10::Scalar(as_int(got)) : got.toScalar()).toDouble() ==
           member.value.toScalar().toDouble();
  }
  static std::string text(const c10::IValue& got) {
    return got.isString() ? got.toStringRef() : c10::str(got.isSymInt() ? c10::IValue(as_int(got)) : got);
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
