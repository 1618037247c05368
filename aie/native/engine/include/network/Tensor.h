// network/Tensor.h: a value of a network; the network owns it.
#ifndef ASCENDIE_NETWORK_TENSOR_H
#define ASCENDIE_NETWORK_TENSOR_H

#include <memory>

#include "common/Common.h"
#include "common/Dims.h"
#include "common/NoCopy.h"

namespace AscendIE {

struct TensorImpl;

class ASCENDIE_API Tensor : NoCopy {
 public:
  explicit Tensor(std::shared_ptr<TensorImpl> impl) noexcept;
  ~Tensor();

  void SetName(const char* name) noexcept;
  const char* GetName() const noexcept;
  Dims GetDimensions() const noexcept;
  DataLayout GetLayout() const noexcept;
  DataType GetType() const noexcept;
  /// Of an input: the type that is given. Of an output: the type that is returned. Of another tensor that has a
  /// different type: an error of BuildModel; add a cast instead.
  void SetType(DataType type) noexcept;
  bool IsInput() const noexcept;
  bool IsOutput() const noexcept;

 private:
  friend struct TensorImpl;
  std::shared_ptr<TensorImpl> impl_;
};

}  // namespace AscendIE
#endif
