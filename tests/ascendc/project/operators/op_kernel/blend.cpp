#include "kernel_operator.h"

using namespace AscendC;

class Blended {
 public:
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR bias, GM_ADDR y, const BlendTiling& tiling) {
    weight_ = tiling.weight;
    const int64_t begin = tiling.range.share * GetBlockIdx();
    const int64_t rest = tiling.range.total - begin;
    count_ = rest < tiling.range.share ? (rest > 0 ? rest : 0) : tiling.range.share;
    x_.SetGlobalBuffer(reinterpret_cast<__gm__ DTYPE_X*>(x) + begin, count_);
    bias_.SetGlobalBuffer(reinterpret_cast<__gm__ DTYPE_BIAS*>(bias) + begin, count_);
    y_.SetGlobalBuffer(reinterpret_cast<__gm__ DTYPE_Y*>(y) + begin, count_);
    pipe_.InitBuffer(in_, 1, kTile * sizeof(DTYPE_X));
    pipe_.InitBuffer(out_, 1, kTile * sizeof(DTYPE_X));
  }

  __aicore__ inline void Process(bool with_bias) {
    for (int64_t done = 0; done < count_; done += kTile) {
      const auto count = static_cast<uint32_t>(count_ - done < kTile ? count_ - done : kTile);
      LocalTensor<DTYPE_X> result = out_.AllocTensor<DTYPE_X>();
      LocalTensor<DTYPE_X> x = Read(x_[done], count);
      Muls(result, x, static_cast<DTYPE_X>(weight_), count);
      in_.FreeTensor(x);
      if (with_bias) {
        LocalTensor<DTYPE_X> bias = Read(bias_[done], count);
        Add(result, result, bias, count);
        in_.FreeTensor(bias);
      }
      out_.EnQue(result);
      result = out_.DeQue<DTYPE_X>();
      DataCopyPad(y_[done], result, {1, static_cast<uint32_t>(count * sizeof(DTYPE_X)), 0, 0, 0});
      out_.FreeTensor(result);
    }
  }

 private:
  static constexpr int64_t kTile = 512;

  __aicore__ inline LocalTensor<DTYPE_X> Read(const GlobalTensor<DTYPE_X>& from, uint32_t count) {
    LocalTensor<DTYPE_X> tile = in_.AllocTensor<DTYPE_X>();
    DataCopyPad(tile, from, {1, static_cast<uint32_t>(count * sizeof(DTYPE_X)), 0, 0, 0}, {false, 0, 0, 0});
    in_.EnQue(tile);
    return in_.DeQue<DTYPE_X>();
  }

  TPipe pipe_;
  TQue<TPosition::VECIN, 1> in_;
  TQue<TPosition::VECOUT, 1> out_;
  GlobalTensor<DTYPE_X> x_;
  GlobalTensor<DTYPE_X> bias_;
  GlobalTensor<DTYPE_X> y_;
  int64_t count_;
  float weight_;
};

extern "C" __global__ __aicore__ void blend(GM_ADDR x, GM_ADDR bias, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  GET_TILING_DATA(data, tiling);
  if (data.marks[0] != 7 || data.marks[2] != 13 || workspace == nullptr) return;
#if ORIG_DTYPE_X == DT_FLOAT16
  static_assert(sizeof(DTYPE_X) == 2);
#else
  static_assert(ORIG_DTYPE_X == DT_FLOAT && FORMAT_X == FORMAT_ND);
#endif
  Blended op;
  op.Init(x, bias, y, data);
  if (TILING_KEY_IS(1)) {
    op.Process(false);
  } else if (TILING_KEY_IS(2)) {
    op.Process(true);
  }
}
