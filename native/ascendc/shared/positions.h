// native/ascendc/shared/positions.h
// Enumerators that both sides have under the same names: positions of tensors, and the layouts of Matmul's matrices.
#pragma once

#define OPWRIGHT_POSITIONS \
  GM, A1, A2, B1, B2, C1, C2, CO1, CO2, VECIN, VECOUT, VECCALC, LCM = VECCALC, SPM, SHM = SPM, TSCM

#define OPWRIGHT_CUBE_FORMATS ND, NZ, ZN, ZZ, NN, VECTOR, SCALAR, ND_ALIGN, COLUMN_MAJOR
