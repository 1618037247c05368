// Kernels of test_more.py: quantisation, reductions, sorting, transforms.
#include "functions.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void quantise(GM_ADDR x, GM_ADDR scale, GM_ADDR offset, GM_ADDR y0, GM_ADDR y1,
                                               uint32_t count, uint32_t channels) {
  Bench bench;
  const auto in = bench.load<half>(x, count);
  const auto scales = bench.load<half>(scale, channels);
  const auto offsets = bench.load<half>(offset, channels);
  const auto out = bench.space<int8_t>(count);
  AscendQuant<half>(out, in, 2.0f, 0.9f, count);
  bench.store(y0, out, count);
  AscendQuant<half>(out, in, scales, offsets, channels, channels, count);
  bench.store(y1, out, count);
}

extern "C" __global__ __aicore__ void dequantise(GM_ADDR x, GM_ADDR scale, GM_ADDR y, uint32_t rows, uint32_t columns) {
  Bench bench;
  const auto in = bench.load<int32_t>(x, rows * columns);
  const auto scales = bench.load<float>(scale, columns);
  const auto out = bench.space<float>(rows * columns);
  AscendDequant(out, in, scales, {rows, columns, columns});
  bench.store(y, out, rows * columns);
}

extern "C" __global__ __aicore__ void antiquantise(GM_ADDR x, GM_ADDR scale, GM_ADDR offset, GM_ADDR y, uint32_t k,
                                                   uint32_t n) {
  Bench bench;
  const auto in = bench.load<int8_t>(x, k * n);
  const auto scales = bench.load<half>(scale, n);
  const auto offsets = bench.load<half>(offset, n);
  const auto out = bench.space<half>(k * n);
  AscendAntiQuant<int8_t, half, false>(out, in, offsets, scales, k, {1, n, 1, n});
  bench.store(y, out, k * n);
}

extern "C" __global__ __aicore__ void reduce(GM_ADDR x, GM_ADDR y, uint32_t rows, uint32_t columns, uint32_t which) {
  Bench bench;
  const auto in = bench.load<float>(x, rows * columns);
  const auto out = bench.space<float>(rows > columns ? rows : columns);
  const auto space = bench.space<uint8_t>(256);
  const uint32_t shape[] = {rows, columns};
  using AR = Pattern::Reduce::AR;
  using RA = Pattern::Reduce::RA;
  switch (which) {
    case 0:
      ReduceSum<float, AR>(out, in, space, shape, true);
      break;
    case 1:
      ReduceSum<float, RA>(out, in, shape, true);
      break;
    case 2:
      ReduceMax<float, AR>(out, in, shape, true);
      break;
    case 3:
      ReduceMin<float, RA>(out, in, shape, true);
      break;
    case 4:
      ReduceMean<float, AR>(out, in, shape, true);
      break;
    case 5:
      ReduceProd<float, RA>(out, in, shape, true);
      break;
    case 6:
      ReduceAny<float, AR>(out, in, shape, true);
      break;
    case 7:
      ReduceAll<float, RA>(out, in, shape, true);
      break;
    case 8:
      Sum<float>(out, in, SumParams{rows, columns, columns - 3});
      break;
    case 9:
      Mean<float>(out, in, MeanParams{rows, columns, columns - 3});
      break;
    default:
      break;
  }
  bench.store(y, out, which % 2 == 0 || which > 7 ? rows : columns);
}

static constexpr CumSumConfig kDown{false, false, true, CumSumAlgorithm::CUMSUM_ALGORITHM_LINEBYLINE};
extern "C" __global__ __aicore__ void running_sums(GM_ADDR x, GM_ADDR along, GM_ADDR down, GM_ADDR last, uint32_t rows,
                                                   uint32_t columns) {
  Bench bench;
  const auto in = bench.load<float>(x, rows * columns);
  auto out = bench.space<float>(rows * columns);
  auto row = bench.space<float>(columns);
  CumSum<float>(out, row, in, {rows, columns});
  bench.store(along, out, rows * columns);
  CumSum<float, kDown>(out, row, in, {rows, columns});
  bench.store(down, out, rows * columns);
  bench.store(last, row, columns);
}

extern "C" __global__ __aicore__ void topk(GM_ADDR x, GM_ADDR values, GM_ADDR indices, int32_t rows, int32_t columns,
                                           int32_t count, int32_t k, bool largest) {
  Bench bench;
  const auto in = bench.load<float>(x, rows * columns);
  const int32_t padded = (k + 7) / 8 * 8;
  const auto value = bench.space<float>(rows * padded);
  const auto index = bench.space<int32_t>(rows * padded);
  const LocalTensor<int32_t> no_index;
  const LocalTensor<bool> no_finish;
  TopK<float>(value, index, in, no_index, no_finish, k, TopkTiling{}, TopKInfo{rows, columns, count}, largest);
  bench.store(values, value, rows * padded);
  bench.store(indices, index, rows * padded);
}

extern "C" __global__ __aicore__ void sort(GM_ADDR x, GM_ADDR index, GM_ADDR values, GM_ADDR indices, uint32_t count) {
  Bench bench;
  const auto in = bench.load<half>(x, count);
  const auto numbers = bench.load<uint32_t>(index, count);
  const auto pairs = bench.space<half>(GetSortLen<half>(count));
  const auto space = bench.space<half>(GetSortLen<half>(count));
  const auto value = bench.space<half>(count);
  const auto order = bench.space<uint32_t>(count);
  LocalTensor<half> concat = space;
  Concat(concat, in, space, count / 16);
  Sort<half, true>(pairs, concat, numbers, space, count / 32);
  Extract(value, order, pairs, count / 32);
  bench.store(values, value, count);
  bench.store(indices, order, count);
}

extern "C" __global__ __aicore__ void shapes(GM_ADDR x, GM_ADDR broad, GM_ADDR again, GM_ADDR padded, GM_ADDR cut,
                                             GM_ADDR numbers, uint32_t rows) {
  Bench bench;
  const auto in = bench.load<float>(x, rows * 8);
  const auto wide = bench.space<float>(rows * 16);
  const uint32_t to[] = {rows, 16};
  const uint32_t from[] = {rows, 1};
  Broadcast<float, 2, 1>(wide, in, to, from);
  bench.store(broad, wide, rows * 16);
  const uint32_t row[] = {1, 16};
  auto space = bench.space<uint8_t>(64);
  BroadCast<float, 2, 0>(wide, in, to, row, space);
  bench.store(again, wide, rows * 16);
  PadTiling tiling;
  tiling.srcHeight = rows;
  tiling.srcWidth = 8;
  tiling.srcOriHeight = rows;
  tiling.srcOriWidth = 6;
  PadParams padding{0, 2, 5};
  Pad(wide, in, padding, tiling);
  bench.store(padded, wide, rows * 8);
  UnPadTiling back;
  back.srcHeight = rows;
  back.srcWidth = 8;
  UnPadParams less{1, 2};
  UnPad(wide, in, less, back);
  bench.store(cut, wide, rows * 5);
  Arange<float>(wide, 3.0f, 0.5f, 10);
  bench.store(numbers, wide, 10);
}

extern "C" __global__ __aicore__ void masks(GM_ADDR x, GM_ADDR bytes, GM_ADDR bits, GM_ADDR chosen, GM_ADDR by_byte,
                                            GM_ADDR by_bit, uint32_t rows, uint32_t columns) {
  Bench bench;
  const auto in = bench.load<float>(x, rows * columns);
  const auto mask = bench.load<uint8_t>(bytes, rows * columns);
  const auto packed = bench.load<uint8_t>(bits, rows * columns / 8);
  const auto out = bench.space<float>(rows * columns);
  SelectWithBytesMaskShapeInfo info;
  info.firstAxis = rows;
  info.srcLastAxis = info.maskLastAxis = columns;
  Select<float, uint8_t>(out, in, 1.5f, mask, bench.space<uint8_t>(64), info);
  bench.store(chosen, out, rows * columns);
  DropOutShapeInfo drop;
  drop.firstAxis = rows;
  drop.srcLastAxis = drop.maskLastAxis = columns;
  DropOut(out, in, mask, 0.5f, drop);
  bench.store(by_byte, out, rows * columns);
  drop.maskLastAxis = columns / 8;
  DropOut(out, in, packed, 0.5f, drop);
  bench.store(by_bit, out, rows * columns);
}
