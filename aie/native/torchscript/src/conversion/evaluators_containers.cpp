// conversion/evaluators_containers.cpp: lists and tuples, whatever they hold.
#include <c10/util/Exception.h>

#include <algorithm>
#include <limits>

#include "conversion/evaluator_tables.h"

namespace torch_aie::core::conversion {

namespace {

Vars list_of(const Var& var) {
  if (var.isList()) return var.getList();
  const c10::IValue& value = var.getIValue();
  Vars items;
  if (value.isTuple()) {
    for (const c10::IValue& item : value.toTupleRef().elements()) items.emplace_back(item);
    return items;
  }
  TORCH_CHECK_TYPE(value.isList(), "the argument is a ", value.tagKind(), ", expected a list or a tuple");
  for (const c10::IValue& item : value.toListRef()) items.emplace_back(item);
  return items;
}

Vars pack(const Evaluation& e) { return {Var(e.args)}; }
Vars unpack(const Evaluation& e) { return list_of(e[0]); }
Vars same(const Evaluation& e) { return {e[0]}; }

Vars element(const Evaluation& e) {
  const Vars items = list_of(e[0]);
  const auto count = static_cast<int64_t>(items.size());
  const int64_t index = e[1].unwrapToInt();
  TORCH_CHECK_INDEX(index >= -count && index < count, "index ", index, " of ", count, " elements");
  return {items[index < 0 ? index + count : index]};
}

Vars slice(const Evaluation& e) {
  const Vars items = list_of(e[0]);
  const auto count = static_cast<int64_t>(items.size());
  const int64_t step = e[3].unwrapToInt();
  TORCH_CHECK_VALUE(step > 0, "the step of a slice is ", step, ", allowed are 1 and more");
  const auto within = [&](int64_t place) { return std::clamp<int64_t>(place < 0 ? place + count : place, 0, count); };
  const int64_t end = within(e[2].unwrapToInt(count));
  Vars part;
  for (int64_t i = within(e[1].unwrapToInt(0)); i < end; i += step) part.push_back(items[i]);
  return {Var(std::move(part))};
}

Vars joined(const Evaluation& e) {
  Vars items = list_of(e[0]);
  const Vars more = list_of(e[1]);
  items.insert(items.end(), more.begin(), more.end());
  return {Var(std::move(items))};
}

Vars list_length(const Evaluation& e) { return {Var(c10::IValue(static_cast<int64_t>(list_of(e[0]).size())))}; }

/// None is the only object that the identity is asked for; a tensor of the network is not None.
Vars is_same(const Evaluation& e, bool wanted) {
  TORCH_CHECK_TYPE(e[0].isNone() || e[1].isNone(), "identity is known with None only");
  return {Var(c10::IValue((e[0].isNone() && e[1].isNone()) == wanted))};
}

constexpr EvaluatorRow kContainersEvaluators[] = {
    {"aten::__getitem__.t", element},
    {"aten::__is__", [](const Evaluation& e) { return is_same(e, true); }},
    {"aten::__isnot__", [](const Evaluation& e) { return is_same(e, false); }},
    {"aten::_unwrap_optional", same},
    {"aten::add.t", joined},
    {"aten::len.t", list_length},
    {"aten::list.t", same},
    {"aten::slice.t", slice},
    {"prim::ListConstruct", pack},
    {"prim::ListUnpack", unpack},
    {"prim::TupleConstruct", pack},
    {"prim::TupleIndex", element},
    {"prim::TupleUnpack", unpack},
    {"prim::unchecked_cast", same},
};

}  // namespace

EvaluatorTable containers() { return kContainersEvaluators; }

}  // namespace torch_aie::core::conversion
