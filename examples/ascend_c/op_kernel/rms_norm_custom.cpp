// RmsNormCustom on the device: rows are divided among the blocks; a row is reduced in float32.
#include "kernel_operator.h"

namespace {

using namespace AscendC;

constexpr int32_t kBuffers = 2;

template <class T>
class KernelRmsNorm {
 public:
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR gamma, GM_ADDR y, GM_ADDR rstd,
                              const RmsNormCustomTilingData& tiling) {
    const uint64_t begin = GetBlockIdx() * tiling.rows_of_block;
    const uint64_t left = begin < tiling.rows ? tiling.rows - begin : 0;
    rows_ = left < tiling.rows_of_block ? left : tiling.rows_of_block;
    width_ = tiling.width;
    eps_ = tiling.eps;
    x_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(x) + begin * width_, rows_ * width_);
    y_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(y) + begin * width_, rows_ * width_);
    gamma_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(gamma), width_);
    rstd_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(rstd) + begin, rows_);

    const uint32_t row = RoundUp(width_ * sizeof(T), 32), wide = RoundUp(width_ * sizeof(float), 256);
    pipe_.InitBuffer(in_, kBuffers, row);
    pipe_.InitBuffer(out_, kBuffers, row);
    pipe_.InitBuffer(out_rstd_, 1, 32);
    pipe_.InitBuffer(in_gamma_, 1, row);
    pipe_.InitBuffer(wide_, wide);
    pipe_.InitBuffer(square_, wide);
    pipe_.InitBuffer(weight_, wide);
  }

  __aicore__ inline void Process() {
    if (rows_ == 0) return;
    LoadGamma();
    for (uint64_t row = 0; row < rows_; ++row) {
      CopyIn(row);
      Compute();
      CopyOut(row);
    }
  }

 private:
  static __aicore__ inline uint32_t RoundUp(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit * unit; }

  __aicore__ inline DataCopyExtParams RowShape() const {
    return {1, static_cast<uint32_t>(width_ * sizeof(T)), 0, 0, 0};
  }

  // `from` in float32.
  __aicore__ inline void Widen(const LocalTensor<float>& to, const LocalTensor<T>& from) const {
    if constexpr (sizeof(T) == sizeof(float)) {
      Adds(to, from, 0.0f, width_);
    } else {
      Cast(to, from, RoundMode::CAST_NONE, width_);
    }
    PipeBarrier<PIPE_V>();
  }

  __aicore__ inline void LoadGamma() {
    LocalTensor<T> gamma = in_gamma_.template AllocTensor<T>();
    DataCopyPad(gamma, gamma_, RowShape(), DataCopyPadExtParams<T>{false, 0, 0, 0});
    in_gamma_.EnQue(gamma);
    gamma = in_gamma_.template DeQue<T>();
    Widen(weight_.Get<float>(), gamma);
    in_gamma_.FreeTensor(gamma);
  }

  __aicore__ inline void CopyIn(uint64_t row) {
    LocalTensor<T> x = in_.template AllocTensor<T>();
    DataCopyPad(x, x_[row * width_], RowShape(), DataCopyPadExtParams<T>{false, 0, 0, 0});
    in_.EnQue(x);
  }

  __aicore__ inline void Compute() {
    LocalTensor<T> x = in_.template DeQue<T>();
    LocalTensor<T> y = out_.template AllocTensor<T>();
    LocalTensor<float> rstd = out_rstd_.template AllocTensor<float>();
    LocalTensor<float> wide = wide_.Get<float>(), square = square_.Get<float>();
    Widen(wide, x);
    in_.FreeTensor(x);
    Mul(square, wide, wide, width_);
    PipeBarrier<PIPE_V>();
    ReduceSum<float>(square, square, square, static_cast<int32_t>(width_));

    // The scalar unit finishes the mean: it has to wait for the vector unit, and the other way round.
    SetFlag<HardEvent::V_S>(kEvent);
    WaitFlag<HardEvent::V_S>(kEvent);
    const float scale = 1.0f / sqrt(square.GetValue(0) / static_cast<float>(width_) + eps_);
    SetFlag<HardEvent::S_V>(kEvent);
    WaitFlag<HardEvent::S_V>(kEvent);

    Duplicate(rstd, scale, 8);
    Muls(wide, wide, scale, width_);
    PipeBarrier<PIPE_V>();
    Mul(wide, wide, weight_.Get<float>(), width_);
    PipeBarrier<PIPE_V>();
    if constexpr (sizeof(T) == sizeof(float)) {
      Adds(y, wide, 0.0f, width_);
    } else {
      Cast(y, wide, RoundMode::CAST_RINT, width_);
    }
    out_.EnQue(y);
    out_rstd_.EnQue(rstd);
  }

  __aicore__ inline void CopyOut(uint64_t row) {
    LocalTensor<T> y = out_.template DeQue<T>();
    LocalTensor<float> rstd = out_rstd_.template DeQue<float>();
    DataCopyPad(y_[row * width_], y, RowShape());
    DataCopyPad(rstd_[row], rstd, DataCopyExtParams{1, sizeof(float), 0, 0, 0});
    out_.FreeTensor(y);
    out_rstd_.FreeTensor(rstd);
  }

  static constexpr event_t kEvent = EVENT_ID0;
  TPipe pipe_;
  TQue<TPosition::VECIN, kBuffers> in_;
  TQue<TPosition::VECIN, 1> in_gamma_;
  TQue<TPosition::VECOUT, kBuffers> out_;
  TQue<TPosition::VECOUT, 1> out_rstd_;
  TBuf<TPosition::VECCALC> wide_, square_, weight_;
  GlobalTensor<T> x_, gamma_, y_;
  GlobalTensor<float> rstd_;
  uint64_t rows_;
  uint32_t width_;
  float eps_;
};

}  // namespace

extern "C" __global__ __aicore__ void rms_norm_custom(GM_ADDR x, GM_ADDR gamma, GM_ADDR y, GM_ADDR rstd,
                                                      GM_ADDR workspace, GM_ADDR tiling) {
  GET_TILING_DATA(data, tiling);
  KernelRmsNorm<DTYPE_X> kernel;
  kernel.Init(x, gamma, y, rstd, data);
  kernel.Process();
}
