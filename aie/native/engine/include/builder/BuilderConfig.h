// builder/BuilderConfig.h: how a model is built.
#ifndef ASCENDIE_BUILDER_BUILDERCONFIG_H
#define ASCENDIE_BUILDER_BUILDERCONFIG_H

#include "common/Common.h"

namespace AscendIE {

class BuilderConfig {
 public:
  void SetFlag(BuilderFlag flag) noexcept { flag_ = flag; }
  BuilderFlag GetFlag() const noexcept { return flag_; }

 private:
  BuilderFlag flag_ = BuilderFlag::FP32;
};

}  // namespace AscendIE
#endif
