#pragma once

#include "ascendc/host_api/tiling/template_argument.h"

ASCENDC_TPL_ARGS_DECL(PowerOf, ASCENDC_TPL_DATATYPE_DECL(T, C_DT_FLOAT, C_DT_INT32),
                      ASCENDC_TPL_UINT_DECL(EXPONENT, ASCENDC_TPL_4_BW, ASCENDC_TPL_UI_MIX, 1, 1, 3, 8),
                      ASCENDC_TPL_BOOL_DECL(NEGATE, 0, 1), );

ASCENDC_TPL_SEL(ASCENDC_TPL_ARGS_SEL(ASCENDC_TPL_DATATYPE_SEL(T, C_DT_FLOAT, C_DT_INT32),
                                     ASCENDC_TPL_UINT_SEL(EXPONENT, ASCENDC_TPL_UI_LIST, 1, 2, 3),
                                     ASCENDC_TPL_BOOL_SEL(NEGATE, 0, 1)),
                ASCENDC_TPL_ARGS_SEL(ASCENDC_TPL_DATATYPE_SEL(T, C_DT_FLOAT),
                                     ASCENDC_TPL_UINT_SEL(EXPONENT, ASCENDC_TPL_UI_LIST, 8),
                                     ASCENDC_TPL_BOOL_SEL(NEGATE, 0)), );
