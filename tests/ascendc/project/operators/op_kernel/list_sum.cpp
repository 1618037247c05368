#include "kernel_operator.h"
#include "lists_tiling.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void list_sum(GM_ADDR parts, GM_ADDR sum, GM_ADDR workspace, GM_ADDR tiling) {
  REGISTER_TILING_DEFAULT(CountTiling);
  GET_TILING_DATA(data, tiling);
  (void)workspace;
  ListTensorDesc list(reinterpret_cast<__gm__ void*>(parts));
  GlobalTensor<float> result;
  result.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(sum), data.count);
  for (int64_t i = 0; i < data.count; ++i) {
    float value = result.GetValue(i);  // 0: the output's initial value
    for (uint32_t j = 0; j < list.GetSize(); ++j) {
      GlobalTensor<float> part;
      part.SetGlobalBuffer(list.GetDataPtr<float>(j), data.count);
      value += part.GetValue(i);
    }
    result.SetValue(i, value);
  }
}
