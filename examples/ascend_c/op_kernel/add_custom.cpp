// AddCustom on the device: each block adds its piece, tile by tile, with two buffers so that copies and sums overlap.
#include "kernel_operator.h"

namespace {

using namespace AscendC;

constexpr int32_t kBuffers = 2;

template <class T>
class KernelAdd {
 public:
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, const AddCustomTilingData& tiling) {
    const uint64_t begin = GetBlockIdx() * tiling.piece;
    count_ = begin < tiling.total ? (tiling.total - begin < tiling.piece ? tiling.total - begin : tiling.piece) : 0;
    tile_ = tiling.tile;
    x_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(x) + begin, count_);
    y_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(y) + begin, count_);
    z_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(z) + begin, count_);
    pipe_.InitBuffer(in_x_, kBuffers, tile_ * sizeof(T));
    pipe_.InitBuffer(in_y_, kBuffers, tile_ * sizeof(T));
    pipe_.InitBuffer(out_, kBuffers, tile_ * sizeof(T));
  }

  __aicore__ inline void Process() {
    for (uint64_t done = 0; done < count_; done += tile_) {
      const uint32_t count = count_ - done < tile_ ? count_ - done : tile_;
      CopyIn(done, count);
      Compute(count);
      CopyOut(done, count);
    }
  }

 private:
  __aicore__ inline void CopyIn(uint64_t at, uint32_t count) {
    // A tail is no multiple of 32 bytes: DataCopyPad takes any number.
    const DataCopyExtParams shape{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
    const DataCopyPadExtParams<T> padding{false, 0, 0, 0};
    LocalTensor<T> x = in_x_.template AllocTensor<T>();
    LocalTensor<T> y = in_y_.template AllocTensor<T>();
    DataCopyPad(x, x_[at], shape, padding);
    DataCopyPad(y, y_[at], shape, padding);
    in_x_.EnQue(x);
    in_y_.EnQue(y);
  }

  __aicore__ inline void Compute(uint32_t count) {
    LocalTensor<T> x = in_x_.template DeQue<T>();
    LocalTensor<T> y = in_y_.template DeQue<T>();
    LocalTensor<T> z = out_.template AllocTensor<T>();
    Add(z, x, y, count);
    out_.EnQue(z);
    in_x_.FreeTensor(x);
    in_y_.FreeTensor(y);
  }

  __aicore__ inline void CopyOut(uint64_t at, uint32_t count) {
    LocalTensor<T> z = out_.template DeQue<T>();
    DataCopyPad(z_[at], z, DataCopyExtParams{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0});
    out_.FreeTensor(z);
  }

  TPipe pipe_;
  TQue<TPosition::VECIN, kBuffers> in_x_, in_y_;
  TQue<TPosition::VECOUT, kBuffers> out_;
  GlobalTensor<T> x_, y_, z_;
  uint64_t count_;
  uint32_t tile_;
};

}  // namespace

extern "C" __global__ __aicore__ void add_custom(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  GET_TILING_DATA(data, tiling);
  KernelAdd<DTYPE_X> kernel;
  kernel.Init(x, y, z, data);
  kernel.Process();
}
