// network/layers/ReduceLayer.h
#ifndef ASCENDIE_NETWORK_LAYERS_REDUCELAYER_H
#define ASCENDIE_NETWORK_LAYERS_REDUCELAYER_H

#include "network/layers/Layers.h"

#endif
