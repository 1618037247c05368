// network/layers/ActivationLayer.h
#ifndef ASCENDIE_NETWORK_LAYERS_ACTIVATIONLAYER_H
#define ASCENDIE_NETWORK_LAYERS_ACTIVATIONLAYER_H

#include "network/layers/Layers.h"

#endif
