#include "roll_state.h"

extern "C" __global__ __aicore__ void roll_state(GM_ADDR x, GM_ADDR state, GM_ADDR y, GM_ADDR workspace,
                                                 GM_ADDR tiling)
{
    Roll<half> op;
    op.Init(x, state, y);
    op.Process();
}
