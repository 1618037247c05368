// passes/graph.h: who makes and who reads each value of a program; what passes share.
#pragma once

#include <map>
#include <vector>

#include "program.h"

namespace AscendIE {

/// An index of a program. It holds until steps are added, removed or moved; replaced operands are seen after `update`.
class Graph {
 public:
  explicit Graph(Program& program);
  void update();

  /// The step that makes the value; null for inputs and constants.
  Step* producer(uint32_t value) const { return producers_[value]; }
  const std::vector<Step*>& users(uint32_t value) const { return users_[value]; }
  /// True if the value has one reader, which is a step.
  bool used_once(uint32_t value) const { return users_[value].size() == 1 && !output(value); }
  bool output(uint32_t value) const { return outputs_[value]; }
  /// Undefined if the value is not a constant.
  at::Tensor constant(uint32_t value) const;
  /// The producer, if it is a step of that operation whose only result nobody else reads; otherwise null.
  Step* fusible(uint32_t value, std::string_view operation) const;

 private:
  Program& program_;
  std::vector<Step*> producers_;
  std::vector<std::vector<Step*>> users_;
  std::vector<bool> outputs_;
  std::map<uint32_t, at::Tensor> constants_;
};

/// A new value that is a constant.
uint32_t add_constant(Program& program, at::Tensor tensor);
/// A new value of that type.
uint32_t add_value(Program& program, ValueType type);
/// All readers of `from` (outputs too) read `to` instead.
void replace_value(Program& program, uint32_t from, uint32_t to);
/// Removes steps and constants that no output needs.
void remove_unused(Program& program);
/// The step computes what `other` does, into its own outputs: an earlier step, so that all operands are there.
void become(Step& step, const Step& other);
/// Whether the step is of the operation of that name.
bool is(const Step& step, std::string_view operation);
bool is_element_wise(const Step& step, ElementWiseOperation kind);
/// True if the step has an attribute of that name and value; an attribute that is absent has the value `absent`.
bool attribute_is(const Step& step, std::string_view name, int64_t value, int64_t absent = 0);

}  // namespace AscendIE
