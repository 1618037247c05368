// graph/operator.h
// ge::Operator, by which CANN's graph compiler asks a definition whether it supports a node (SetCheckSupport) and in
// which format (SetOpSelectFormat). The twin's graphs ask neither, so that such functions compile and are never called;
// one that is called by other code learns that from an exception.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "graph/ascend_string.h"
#include "graph/tensor.h"
#include "graph/types.h"

namespace ge {
inline namespace ascendc_host {

class TensorDesc {
 public:
  Shape GetShape() const { return {}; }
  Shape GetOriginShape() const { return {}; }
  DataType GetDataType() const { return DT_UNDEFINED; }
  Format GetFormat() const { return FORMAT_ND; }
  Format GetOriginFormat() const { return FORMAT_ND; }

 private:
  friend class Operator;
  TensorDesc() = default;  // only an operator has one
};

class Operator {
 public:
  graphStatus GetName(AscendString&) const { refuse("GetName"); }
  graphStatus GetOpType(AscendString&) const { refuse("GetOpType"); }
  template <class IndexOrName>
  TensorDesc GetInputDesc(const IndexOrName&) const {
    refuse("GetInputDesc");
  }
  template <class IndexOrName>
  TensorDesc GetOutputDesc(const IndexOrName&) const {
    refuse("GetOutputDesc");
  }
  TensorDesc GetInputDescByName(const char*) const { refuse("GetInputDescByName"); }
  TensorDesc GetOutputDescByName(const char*) const { refuse("GetOutputDescByName"); }
  size_t GetInputsSize() const { refuse("GetInputsSize"); }
  size_t GetOutputsSize() const { refuse("GetOutputsSize"); }
  template <class Value>
  graphStatus GetAttr(const char*, Value&) const {
    refuse("GetAttr");
  }

 private:
  [[noreturn]] static void refuse(const char* function) {
    throw std::logic_error(std::string("ge::Operator::") + function +
                           " is not supported: the twin's graphs ask no definition whether it supports a node");
  }
};

}  // namespace ascendc_host
}  // namespace ge
