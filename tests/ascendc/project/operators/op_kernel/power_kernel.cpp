#include "kernel_operator.h"
#include "lists_tiling.h"
#include "power_key.h"

using namespace AscendC;

template <typename T, int EXPONENT, int NEGATE>
__global__ __aicore__ void power_of(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  REGISTER_TILING_DEFAULT(CountTiling);
  GET_TILING_DATA(data, tiling);
  (void)workspace;
  GlobalTensor<T> input, output;
  input.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(x), data.count);
  output.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(y), data.count);
  for (int64_t i = 0; i < data.count; ++i) {
    T value = 1;
    for (int j = 0; j < EXPONENT; ++j) value *= input.GetValue(i);
    if constexpr (NEGATE != 0) value = -value;
    output.SetValue(i, value);
  }
}
