#pragma once
#include "kernel_operator.h"

template <typename T> class Roll {
public:
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR state, GM_ADDR y);
    __aicore__ inline void Process();

private:
    AscendC::GlobalTensor<T> xGm, stateGm, yGm;
};

template <typename T> __aicore__ inline void Roll<T>::Init(GM_ADDR x, GM_ADDR state, GM_ADDR y)
{
    xGm.SetGlobalBuffer(reinterpret_cast<__gm__ T *>(x));
    stateGm.SetGlobalBuffer((__gm__ T *)state + GetBlockIdx() * 32);
    yGm.SetGlobalBuffer(reinterpret_cast<__gm__ T *>(y));
}

template <typename T> __aicore__ inline void Roll<T>::Process()
{
    AscendC::LocalTensor<T> local = queue.AllocTensor<T>();
    DataCopy(local, xGm[0], 32);
    DataCopy(yGm[0], local, 32);
    DataCopyPad(this->stateGm[32], local, {1, 32, 0, 0});
}
