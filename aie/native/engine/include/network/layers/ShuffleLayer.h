// network/layers/ShuffleLayer.h
#ifndef ASCENDIE_NETWORK_LAYERS_SHUFFLELAYER_H
#define ASCENDIE_NETWORK_LAYERS_SHUFFLELAYER_H

#include "network/layers/Layers.h"

#endif
