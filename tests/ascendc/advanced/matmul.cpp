// Kernels of test_matmul.py: each computes with Matmul what its name says.
#include "kernel_operator.h"
#include "lib/matmul_intf.h"

namespace {

using AscendC::TPosition;

static_assert(
    std::is_same_v<AscendC::GetMmDstType<half>::Type, float> &&
    std::is_same_v<AscendC::GetMmDstType<int8_t>::Type, int32_t> &&
    std::is_same_v<AscendC::GetMmDstType<AscendC::MatmulType<TPosition::GM, CubeFormat::ND, int8_t>>::Type, int32_t>);

template <class T, CubeFormat format = CubeFormat::ND, bool turned = false, TPosition position = TPosition::GM,
          LayoutMode layout = LayoutMode::NONE>
using Of = AscendC::MatmulType<position, format, T, turned, layout>;

__aicore__ inline TCubeTiling tiling_at(GM_ADDR address) {
  TCubeTiling tiling;
  const __gm__ int32_t* words = reinterpret_cast<__gm__ int32_t*>(address);
  for (size_t i = 0; i < sizeof(tiling) / sizeof(int32_t); ++i) reinterpret_cast<int32_t*>(&tiling)[i] = words[i];
  return tiling;
}

template <class T>
__aicore__ inline AscendC::GlobalTensor<T> tensor(GM_ADDR address) {
  AscendC::GlobalTensor<T> result;
  result.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(address));
  return result;
}

// This core's part of C, and what of A, B and the bias it takes.
struct Part {
  uint32_t row, column;
  int rows, columns;

  __aicore__ inline explicit Part(const TCubeTiling& t) {
    const auto parts = static_cast<uint32_t>((t.M + t.singleCoreM - 1) / t.singleCoreM);
    const auto block = static_cast<uint32_t>(AscendC::GetBlockIdx());
    row = block % parts * t.singleCoreM;
    column = block / parts * t.singleCoreN;
    rows = t.M - static_cast<int>(row) < t.singleCoreM ? t.M - static_cast<int>(row) : t.singleCoreM;
    columns = t.N - static_cast<int>(column) < t.singleCoreN ? t.N - static_cast<int>(column) : t.singleCoreN;
  }
};

template <class A, class B, class C, class Bias>
__aicore__ inline void multiply(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR tiling_at_gm, bool turn_a,
                                bool turn_b) {
  AscendC::TPipe pipe;
  TCubeTiling tiling = tiling_at(tiling_at_gm);
  AscendC::Matmul<Of<A, CubeFormat::ND, true>, Of<B, CubeFormat::ND, true>, Of<C>, Of<Bias>> mm;
  REGIST_MATMUL_OBJ(&pipe, AscendC::GetSysWorkSpacePtr(), mm, &tiling);
  const Part part(tiling);
  if (part.rows <= 0 || part.columns <= 0) return;
  mm.SetTail(part.rows, part.columns);
  mm.SetTensorA(tensor<A>(a)[turn_a ? part.row : size_t{part.row} * tiling.Ka], turn_a);
  mm.SetTensorB(tensor<B>(b)[turn_b ? size_t{part.column} * tiling.Kb : part.column], turn_b);
  if (tiling.isBias != 0) mm.SetBias(tensor<Bias>(bias)[part.column]);
  mm.IterateAll(tensor<C>(c)[size_t{part.row} * tiling.N + part.column]);
  mm.End();
}

}  // namespace

extern "C" __global__ __aicore__ void half_to_float(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR tiling,
                                                    bool turn_a, bool turn_b) {
  multiply<half, half, float, float>(a, b, bias, c, tiling, turn_a, turn_b);
}
extern "C" __global__ __aicore__ void half_to_half(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR tiling,
                                                   bool turn_a, bool turn_b) {
  multiply<half, half, half, half>(a, b, bias, c, tiling, turn_a, turn_b);
}
extern "C" __global__ __aicore__ void bfloat16_to_bfloat16(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c,
                                                           GM_ADDR tiling, bool turn_a, bool turn_b) {
  multiply<bfloat16_t, bfloat16_t, bfloat16_t, float>(a, b, bias, c, tiling, turn_a, turn_b);
}
extern "C" __global__ __aicore__ void float_to_float(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR tiling,
                                                     bool turn_a, bool turn_b) {
  multiply<float, float, float, float>(a, b, bias, c, tiling, turn_a, turn_b);
}
extern "C" __global__ __aicore__ void int8_to_int32(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR tiling,
                                                    bool turn_a, bool turn_b) {
  multiply<int8_t, int8_t, int32_t, int32_t>(a, b, bias, c, tiling, turn_a, turn_b);
}

// Block by block into the unified buffer, negative results scaled, then out.
extern "C" __global__ __aicore__ void leaky(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR workspace, GM_ADDR tiling_at_gm) {
  AscendC::TPipe pipe;
  TCubeTiling tiling = tiling_at(tiling_at_gm);
  AscendC::Matmul<Of<half>, Of<half>, Of<float, CubeFormat::ND, false, TPosition::VECIN>> mm;
  REGIST_MATMUL_OBJ(&pipe, AscendC::GetSysWorkSpacePtr(), mm, &tiling);
  AscendC::TQue<TPosition::VECIN, 1> in;
  const uint32_t count = static_cast<uint32_t>(tiling.baseM * tiling.baseN);
  pipe.InitBuffer(in, 1, count * sizeof(float));
  AscendC::GlobalTensor<float> space = tensor<float>(workspace);
  const Part part(tiling);
  mm.SetWorkspace(space);
  mm.SetTensorA(tensor<half>(a)[size_t{part.row} * tiling.Ka]);
  mm.SetTensorB(tensor<half>(b)[part.column]);
  mm.Iterate<false>();
  AscendC::GlobalTensor<float> out = tensor<float>(c);
  const uint32_t blocks_m = static_cast<uint32_t>(tiling.singleCoreM / tiling.baseM);
  const uint32_t blocks = blocks_m * static_cast<uint32_t>(tiling.singleCoreN / tiling.baseN);
  for (uint32_t i = 0; i < blocks; ++i) {
    AscendC::LocalTensor<float> block = in.AllocTensor<float>();
    mm.GetTensorC<false>(block, 0, true);
    in.EnQue(block);
    block = in.DeQue<float>();
    const size_t first =
        (part.row + i % blocks_m * tiling.baseM) * size_t(tiling.N) + part.column + i / blocks_m * tiling.baseN;
    for (uint32_t j = 0; j < count; ++j) {
      const float value = block.GetValue(j);
      out.SetValue(first + j / tiling.baseN * size_t(tiling.N) + j % tiling.baseN, value < 0 ? value * 0.5f : value);
    }
    in.FreeTensor(block);
  }
  mm.End();
}

// Two parts of K, the second one added to the first in global memory.
extern "C" __global__ __aicore__ void split_k(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR tiling_at_gm) {
  AscendC::TPipe pipe;
  TCubeTiling tiling = tiling_at(tiling_at_gm);
  AscendC::Matmul<Of<half>, Of<half>, Of<float>> mm;
  REGIST_MATMUL_OBJ(&pipe, AscendC::GetSysWorkSpacePtr(), mm, &tiling);
  const auto part = static_cast<size_t>(AscendC::GetBlockIdx()) * tiling.singleCoreK;
  mm.SetTensorA(tensor<half>(a)[part]);
  mm.SetTensorB(tensor<half>(b)[part * tiling.N]);
  mm.IterateAll(tensor<float>(c), 1);
  mm.End();
}

// As asc-devkit's sample of a split K clears its result: each core before it adds, without waiting for the others.
extern "C" __global__ __aicore__ void clear(GM_ADDR c, int32_t count) {
  auto cleared = tensor<float>(c);
  AscendC::Fill(cleared, count, 0.0F);
}

// int8 products scaled to half by a word for each column.
extern "C" __global__ __aicore__ void dequantised(GM_ADDR a, GM_ADDR b, GM_ADDR scales, GM_ADDR c,
                                                  GM_ADDR tiling_at_gm) {
  AscendC::TPipe pipe;
  TCubeTiling tiling = tiling_at(tiling_at_gm);
  AscendC::Matmul<Of<int8_t>, Of<int8_t>, Of<half>> mm;
  REGIST_MATMUL_OBJ(&pipe, AscendC::GetSysWorkSpacePtr(), mm, &tiling);
  mm.SetQuantVector(tensor<uint64_t>(scales));
  mm.SetTensorA(tensor<int8_t>(a));
  mm.SetTensorB(tensor<int8_t>(b));
  mm.IterateAll(tensor<half>(c));
  mm.End();
}

// A and C in fractals.
extern "C" __global__ __aicore__ void fractals(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR tiling_at_gm) {
  AscendC::TPipe pipe;
  TCubeTiling tiling = tiling_at(tiling_at_gm);
  AscendC::Matmul<Of<half, CubeFormat::NZ>, Of<half>, Of<float, CubeFormat::NZ>> mm;
  REGIST_MATMUL_OBJ(&pipe, AscendC::GetSysWorkSpacePtr(), mm, &tiling);
  mm.SetTensorA(tensor<half>(a));
  mm.SetTensorB(tensor<half>(b));
  while (mm.Iterate()) mm.GetTensorC(tensor<float>(c));
  mm.End();
}

// Batches of [B, N, S, D] times [B, N, S2, D] turned; B has one matrix for every two of A.
extern "C" __global__ __aicore__ void batches(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR tiling_at_gm, uint32_t batch_a,
                                              uint32_t batch_b) {
  AscendC::TPipe pipe;
  TCubeTiling tiling = tiling_at(tiling_at_gm);
  AscendC::Matmul<Of<half, CubeFormat::ND, false, TPosition::GM, LayoutMode::NORMAL>,
                  Of<half, CubeFormat::ND, true, TPosition::GM, LayoutMode::NORMAL>,
                  Of<float, CubeFormat::ND, false, TPosition::GM, LayoutMode::NORMAL>>
      mm;
  REGIST_MATMUL_OBJ(&pipe, AscendC::GetSysWorkSpacePtr(), mm);
  mm.Init(&tiling);
  mm.SetTensorA(tensor<half>(a));
  mm.SetTensorB(tensor<half>(b), true);
  mm.IterateBatch(tensor<float>(c), static_cast<int>(batch_a), static_cast<int>(batch_b), false);  // as samples do
  mm.End();
}

template <class T>
__aicore__ inline void turned(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR tiling_at_gm) {
  AscendC::TPipe pipe;
  TCubeTiling tiling = tiling_at(tiling_at_gm);
  AscendC::Matmul<Of<T>, Of<T>, Of<float>> mm;
  REGIST_MATMUL_OBJ(&pipe, AscendC::GetSysWorkSpacePtr(), mm, &tiling);
  mm.SetTensorA(tensor<T>(a));
  mm.SetTensorB(tensor<T>(b), true);
  mm.IterateAll(tensor<float>(c));
  mm.End();
}
extern "C" __global__ __aicore__ void turned_half(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR tiling) {
  turned<half>(a, b, c, tiling);
}
extern "C" __global__ __aicore__ void turned_float(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR tiling) {
  turned<float>(a, b, c, tiling);
}

// Blocks of one triangle of C, all else as it was.
template <template <const auto&, typename...> class Policy>
__aicore__ inline void triangle_of(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR tiling_at_gm) {
  AscendC::TPipe pipe;
  TCubeTiling tiling = tiling_at(tiling_at_gm);
  AscendC::Matmul<Of<half>, Of<half>, Of<float>, Of<float>, CFG_NORM,
                  AscendC::MatmulCallBackFunc<nullptr, nullptr, nullptr>, Policy>
      mm;
  REGIST_MATMUL_OBJ(&pipe, AscendC::GetSysWorkSpacePtr(), mm, &tiling);
  if (AscendC::GetBlockIdx() > 0) return;
  mm.SetTensorA(tensor<half>(a));
  mm.SetTensorB(tensor<half>(b));
  mm.SetBias(tensor<float>(bias));
  mm.IterateAll(tensor<float>(c));
  mm.End();
}
extern "C" __global__ __aicore__ void upper_triangle(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR tiling) {
  triangle_of<AscendC::Impl::Detail::TrianUpperMatmulPolicy>(a, b, bias, c, tiling);
}
extern "C" __global__ __aicore__ void lower_triangle(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR tiling) {
  triangle_of<AscendC::Impl::Detail::TrianLowerMatmulPolicy>(a, b, bias, c, tiling);
}

// A of which the blocks along K lie in another order, which a list of places in global memory tells.
__aicore__ inline void move_a(const AscendC::LocalTensor<int8_t>& to, const __gm__ void* gm, int row, int column,
                              int rows, int columns, const uint64_t info, const uint64_t data) {
  AscendC::GlobalTensor<int32_t> order;
  order.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(data));
  AscendC::GlobalTensor<half> from;
  from.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(const_cast<__gm__ void*>(gm)));
  const auto width = static_cast<uint32_t>(info >> 32);
  const auto base_m = static_cast<uint32_t>(info & 0xFFFF);
  const auto base_k = static_cast<uint32_t>(info >> 16 & 0xFFFF);
  AscendC::Nd2NzParams params;
  params.ndNum = 1;
  params.nValue = static_cast<uint16_t>(rows);
  params.dValue = static_cast<uint16_t>(columns);
  params.srcNdMatrixStride = 0;
  params.srcDValue = static_cast<uint16_t>(width);
  params.dstNzC0Stride = static_cast<uint16_t>((rows + 15) / 16 * 16);
  params.dstNzNStride = 1;
  params.dstNzMatrixStride = 0;
  const size_t first = size_t{static_cast<uint32_t>(row)} * base_m * width;
  DataCopy(to.ReinterpretCast<half>(), from[first + static_cast<uint32_t>(order.GetValue(column)) * base_k], params);
}
// B moved to where the default function moves it: rows of B under each other.
__aicore__ inline void move_b(const AscendC::LocalTensor<int8_t>& to, const __gm__ void* gm, int row, int column,
                              int rows, int columns, const uint64_t info, const uint64_t) {
  AscendC::GlobalTensor<half> from;
  from.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(const_cast<__gm__ void*>(gm)));
  const auto base_k = static_cast<uint32_t>(info >> 16 & 0xFFFF);
  AscendC::Nd2NzParams params;
  params.ndNum = 1;
  params.nValue = static_cast<uint16_t>(rows);
  params.dValue = static_cast<uint16_t>(columns);
  params.srcNdMatrixStride = 0;
  params.srcDValue = 48;
  params.dstNzC0Stride = static_cast<uint16_t>((rows + 15) / 16 * 16);
  params.dstNzNStride = 1;
  params.dstNzMatrixStride = 0;
  DataCopy(to.ReinterpretCast<half>(), from[static_cast<uint32_t>(row) * base_k * 48 + column * 32u], params);
}
extern "C" __global__ __aicore__ void moved_by_the_kernel(GM_ADDR a, GM_ADDR b, GM_ADDR order, GM_ADDR c,
                                                          GM_ADDR tiling_at_gm) {
  AscendC::TPipe pipe;
  TCubeTiling tiling = tiling_at(tiling_at_gm);
  AscendC::Matmul<Of<half>, Of<half>, Of<float>, Of<float>, CFG_NORM,
                  AscendC::MatmulCallBackFunc<nullptr, move_a, move_b>>
      mm;
  REGIST_MATMUL_OBJ(&pipe, AscendC::GetSysWorkSpacePtr(), mm, &tiling);
  if (AscendC::GetBlockIdx() > 0) return;
  AscendC::GlobalTensor<int32_t> places = tensor<int32_t>(order);
  mm.SetUserDefInfo(static_cast<uint64_t>(tiling.Ka) << 32 | static_cast<uint64_t>(tiling.baseK) << 16 |
                    static_cast<uint64_t>(tiling.baseM));
  mm.SetSelfDefineData(reinterpret_cast<uint64_t>(places.address_));
  mm.SetTensorA(tensor<half>(a));
  mm.SetTensorB(tensor<half>(b));
  mm.IterateAll(tensor<float>(c));
  mm.End();
}

extern "C" __global__ __aicore__ void sparse_b(GM_ADDR a, GM_ADDR b, GM_ADDR index, GM_ADDR c, GM_ADDR tiling_at_gm) {
  AscendC::TPipe pipe;
  TCubeTiling tiling = tiling_at(tiling_at_gm);
  AscendC::Matmul<Of<int8_t>, AscendC::SparseMatmulType<TPosition::GM, TPosition::GM, CubeFormat::ND, int8_t, true>,
                  Of<int32_t>, Of<int32_t>, CFG_MDL>
      mm;
  REGIST_MATMUL_OBJ(&pipe, AscendC::GetSysWorkSpacePtr(), mm, &tiling);
  const Part part(tiling);
  if (part.rows <= 0 || part.columns <= 0) return;
  mm.SetTail(part.rows, part.columns);
  mm.SetTensorA(tensor<int8_t>(a)[size_t{part.row} * tiling.Ka]);
  mm.SetTensorB(tensor<int8_t>(b)[size_t{part.column} * tiling.Kb / 2], true);
  mm.SetSparseIndex(tensor<uint8_t>(index)[size_t{part.column} * 8]);
  mm.IterateAll(tensor<int32_t>(c)[size_t{part.row} * tiling.N + part.column]);
  mm.End();
}
