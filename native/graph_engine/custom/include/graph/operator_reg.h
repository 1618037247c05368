// graph/operator_reg.h
// Prototypes of operator types. While its library is loaded, the graph engine knows the type:
//
//   REG_OP(Rescale).INPUT(x, TensorType::ALL()).OUTPUT(y, TensorType::ALL()).ATTR(factor, Float, 1.0)
//       .OP_END_FACTORY_REG(Rescale);
//
// Here a prototype is its text, which the engine reads. No class of that name is made: the twin's graphs come from
// frameworks, not from C++.
#pragma once

#include <string>

namespace opwright::graph_engine {

class __attribute__((visibility("default"))) DeclaredPrototype {
 public:
  explicit DeclaredPrototype(const char* type);
  ~DeclaredPrototype();
  DeclaredPrototype(const DeclaredPrototype&) = delete;
  DeclaredPrototype& operator=(const DeclaredPrototype&) = delete;

  DeclaredPrototype& add(const char* part);

 private:
  std::string type_;
  std::string text_;
};

}  // namespace opwright::graph_engine

#define REG_OP(type)                                                                   \
  static ::opwright::graph_engine::DeclaredPrototype opwright_prototype_##type(#type); \
  [[maybe_unused]] static const auto& opwright_declared_##type = opwright_prototype_##type.add("REG_OP(" #type ")")
#define INPUT(...) add(".INPUT(" #__VA_ARGS__ ")")
#define OPTIONAL_INPUT(...) add(".OPTIONAL_INPUT(" #__VA_ARGS__ ")")
#define DYNAMIC_INPUT(...) add(".DYNAMIC_INPUT(" #__VA_ARGS__ ")")
#define OUTPUT(...) add(".OUTPUT(" #__VA_ARGS__ ")")
#define DYNAMIC_OUTPUT(...) add(".DYNAMIC_OUTPUT(" #__VA_ARGS__ ")")
#define ATTR(...) add(".ATTR(" #__VA_ARGS__ ")")
#define REQUIRED_ATTR(...) add(".REQUIRED_ATTR(" #__VA_ARGS__ ")")
#define DATATYPE(...) add(".DATATYPE(" #__VA_ARGS__ ")")
#define GRAPH(...) add(".GRAPH(" #__VA_ARGS__ ")")
#define DYNAMIC_GRAPH(...) add(".DYNAMIC_GRAPH(" #__VA_ARGS__ ")")
#define OP_END_FACTORY_REG(type) add(".OP_END_FACTORY_REG(" #type ")")
