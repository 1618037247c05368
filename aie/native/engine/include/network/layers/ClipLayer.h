// network/layers/ClipLayer.h
#ifndef ASCENDIE_NETWORK_LAYERS_CLIPLAYER_H
#define ASCENDIE_NETWORK_LAYERS_CLIPLAYER_H

#include "network/layers/Layers.h"

#endif
