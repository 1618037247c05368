// network/layers/ShapeLayer.h
#ifndef ASCENDIE_NETWORK_LAYERS_SHAPELAYER_H
#define ASCENDIE_NETWORK_LAYERS_SHAPELAYER_H

#include "network/layers/Layers.h"

#endif
