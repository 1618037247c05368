// network/layers/ConvolutionLayer.h
#ifndef ASCENDIE_NETWORK_LAYERS_CONVOLUTIONLAYER_H
#define ASCENDIE_NETWORK_LAYERS_CONVOLUTIONLAYER_H

#include "network/layers/Layers.h"

#endif
