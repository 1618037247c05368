// network/layers/BaseLayer.h: what all layers can do. A setter infers the layer's outputs anew.
#ifndef ASCENDIE_NETWORK_LAYERS_BASELAYER_H
#define ASCENDIE_NETWORK_LAYERS_BASELAYER_H

#include <cstdint>
#include <memory>
#include <vector>

#include "common/Common.h"
#include "common/Dims.h"
#include "common/NoCopy.h"
#include "network/Tensor.h"

namespace AscendIE {

struct LayerImpl;

class ASCENDIE_API BaseLayer : NoCopy {
 public:
  explicit BaseLayer(std::shared_ptr<LayerImpl> impl) noexcept;
  virtual ~BaseLayer();

  void SetName(const char* name) noexcept;
  const char* GetName() const noexcept;
  void SetInput(uint32_t index, Tensor* tensor) noexcept;
  Tensor* GetInput(uint32_t index) const noexcept;
  /// Never null for a layer of a network: the outputs of a layer with an error have no type, and the network has the
  /// error.
  Tensor* GetOutput(uint32_t index) const noexcept;
  uint32_t GetInputCount() const noexcept;
  uint32_t GetOutputCount() const noexcept;

 protected:
  void Set(const char* attribute, int64_t value) noexcept;
  void SetReal(const char* attribute, double value) noexcept;
  void SetList(const char* attribute, const Dims& value) noexcept;

 private:
  friend struct LayerImpl;
  std::shared_ptr<LayerImpl> impl_;
};

}  // namespace AscendIE
#endif
