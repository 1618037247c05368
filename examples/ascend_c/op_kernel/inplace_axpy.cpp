// InplaceAxpy on the device: y += alpha * x, tile by tile; y goes back to where it came from.
#include "kernel_operator.h"

namespace {

using namespace AscendC;

constexpr int32_t kBuffers = 2;

template <class T>
class KernelAxpy {
 public:
  __aicore__ inline void Init(GM_ADDR y, GM_ADDR x, const InplaceAxpyTilingData& tiling) {
    const uint64_t begin = GetBlockIdx() * tiling.piece;
    count_ = begin < tiling.total ? (tiling.total - begin < tiling.piece ? tiling.total - begin : tiling.piece) : 0;
    tile_ = tiling.tile;
    alpha_ = static_cast<T>(tiling.alpha);
    y_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(y) + begin, count_);
    x_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(x) + begin, count_);
    pipe_.InitBuffer(in_y_, kBuffers, tile_ * sizeof(T));
    pipe_.InitBuffer(in_x_, kBuffers, tile_ * sizeof(T));
    pipe_.InitBuffer(out_, kBuffers, tile_ * sizeof(T));
  }

  __aicore__ inline void Process() {
    for (uint64_t done = 0; done < count_; done += tile_) {
      Step(done, count_ - done < tile_ ? count_ - done : tile_);
    }
  }

 private:
  __aicore__ inline void Step(uint64_t at, uint32_t count) {
    const DataCopyExtParams shape{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
    const DataCopyPadExtParams<T> padding{false, 0, 0, 0};
    LocalTensor<T> x = in_x_.template AllocTensor<T>();
    LocalTensor<T> y = in_y_.template AllocTensor<T>();
    DataCopyPad(x, x_[at], shape, padding);
    DataCopyPad(y, y_[at], shape, padding);
    in_x_.EnQue(x);
    in_y_.EnQue(y);

    x = in_x_.template DeQue<T>();
    y = in_y_.template DeQue<T>();
    LocalTensor<T> result = out_.template AllocTensor<T>();
    Muls(result, x, alpha_, count);
    PipeBarrier<PIPE_V>();
    Add(result, result, y, count);
    out_.EnQue(result);
    in_x_.FreeTensor(x);
    in_y_.FreeTensor(y);

    result = out_.template DeQue<T>();
    DataCopyPad(y_[at], result, shape);
    out_.FreeTensor(result);
  }

  TPipe pipe_;
  TQue<TPosition::VECIN, kBuffers> in_y_, in_x_;
  TQue<TPosition::VECOUT, kBuffers> out_;
  GlobalTensor<T> y_, x_;
  uint64_t count_;
  uint32_t tile_;
  T alpha_;
};

}  // namespace

extern "C" __global__ __aicore__ void inplace_axpy(GM_ADDR y, GM_ADDR x, GM_ADDR y_out, GM_ADDR workspace,
                                                   GM_ADDR tiling) {
  GET_TILING_DATA(data, tiling);
  KernelAxpy<DTYPE_X> kernel;
  kernel.Init(y, x, data);
  kernel.Process();
}
