// AscendIE.h: the whole engine.
#ifndef ASCENDIE_ASCENDIE_H
#define ASCENDIE_ASCENDIE_H

#include "builder/Builder.h"
#include "builder/BuilderConfig.h"
#include "common/Common.h"
#include "common/Dims.h"
#include "common/NoCopy.h"
#include "network/Network.h"
#include "network/Tensor.h"
#include "runtime/Runtime.h"

#endif
