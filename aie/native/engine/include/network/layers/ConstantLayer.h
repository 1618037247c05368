// network/layers/ConstantLayer.h
#ifndef ASCENDIE_NETWORK_LAYERS_CONSTANTLAYER_H
#define ASCENDIE_NETWORK_LAYERS_CONSTANTLAYER_H

#include "network/layers/Layers.h"

#endif
