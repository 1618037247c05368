// network/layers/MatrixMultiplyLayer.h
#ifndef ASCENDIE_NETWORK_LAYERS_MATRIXMULTIPLYLAYER_H
#define ASCENDIE_NETWORK_LAYERS_MATRIXMULTIPLYLAYER_H

#include "network/layers/Layers.h"

#endif
