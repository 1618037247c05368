// network/layers/ElementWiseLayer.h
#ifndef ASCENDIE_NETWORK_LAYERS_ELEMENTWISELAYER_H
#define ASCENDIE_NETWORK_LAYERS_ELEMENTWISELAYER_H

#include "network/layers/Layers.h"

#endif
