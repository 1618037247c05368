// native/ascendc/kernel/cube/api.h
// The instructions of the cube unit.
#pragma once

#include "cube/copy_out.h"
#include "cube/fill.h"
#include "cube/fixpipe.h"
#include "cube/load_data.h"
#include "cube/load_image.h"
#include "cube/mmad.h"
#include "cube/sparse.h"
