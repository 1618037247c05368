// MatmulCustom on the device: the high-level Matmul; each block computes a part of c.
#include "kernel_operator.h"
#include "lib/matmul_intf.h"

namespace {

using namespace AscendC;

class KernelMatmul {
 public:
  __aicore__ inline void Init(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, const TCubeTiling& tiling) {
    tiling_ = tiling;
    const int32_t parts = Pieces(tiling.M, tiling.singleCoreM);  // of the rows; blocks of one column follow each other
    const int32_t row = GetBlockIdx() % parts * tiling.singleCoreM;
    const int32_t column = GetBlockIdx() / parts * tiling.singleCoreN;
    rows_ = Least(tiling.M - row, tiling.singleCoreM);
    columns_ = Least(tiling.N - column, tiling.singleCoreN);
    a_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(a), tiling.M * tiling.Ka);
    b_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(b), tiling.Kb * tiling.N);
    bias_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(bias), tiling.N);
    c_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(c), tiling.M * tiling.N);
    a_ = a_[row * tiling.Ka];
    b_ = b_[column];
    bias_ = bias_[column];
    c_ = c_[row * tiling.N + column];
  }

  __aicore__ inline void Process() {
    if (GetBlockIdx() >= tiling_.usedCoreNum || rows_ <= 0 || columns_ <= 0) return;
    matmul_.SetTensorA(a_);
    matmul_.SetTensorB(b_);
    matmul_.SetBias(bias_);
    matmul_.SetTail(rows_, columns_);
    matmul_.IterateAll(c_);
    matmul_.End();
  }

  Matmul<MatmulType<TPosition::GM, CubeFormat::ND, half>, MatmulType<TPosition::GM, CubeFormat::ND, half>,
         MatmulType<TPosition::GM, CubeFormat::ND, float>, MatmulType<TPosition::GM, CubeFormat::ND, float>>
      matmul_;

 private:
  static __aicore__ inline int32_t Pieces(int32_t total, int32_t piece) { return (total + piece - 1) / piece; }
  static __aicore__ inline int32_t Least(int32_t a, int32_t b) { return a < b ? a : b; }

  GlobalTensor<half> a_, b_;
  GlobalTensor<float> bias_, c_;
  TCubeTiling tiling_;
  int32_t rows_, columns_;
};

}  // namespace

extern "C" __global__ __aicore__ void matmul_custom(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR workspace,
                                                    GM_ADDR tiling) {
  GET_TILING_DATA(data, tiling);
  TPipe pipe;
  KernelMatmul kernel;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), kernel.matmul_, &data.cube);
  kernel.Init(a, b, bias, c, data.cube);
  kernel.Process();
}
