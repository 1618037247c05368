// network/layers/PoolingLayer.h
#ifndef ASCENDIE_NETWORK_LAYERS_POOLINGLAYER_H
#define ASCENDIE_NETWORK_LAYERS_POOLINGLAYER_H

#include "network/layers/Layers.h"

#endif
