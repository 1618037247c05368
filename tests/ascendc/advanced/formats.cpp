// Kernels of test_formats.py: TransData, Transpose with a tiling, and SoftmaxFlashV3.
#include "functions.h"

using namespace AscendC;

constexpr TransDataConfig kToFractal = {DataFormat::NCDHW, DataFormat::FRACTAL_Z_3D};
constexpr TransDataConfig kFromFractal = {DataFormat::FRACTAL_Z_3D, DataFormat::NCDHW};
constexpr TransDataConfig kToBlocks = {DataFormat::NCDHW, DataFormat::NDC1HWC0};
constexpr TransDataConfig kFromBlocks = {DataFormat::NDC1HWC0, DataFormat::NCDHW};

extern "C" __global__ __aicore__ void transform(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t n, uint32_t c, uint32_t d,
                                                uint32_t h, uint32_t w, uint32_t rows, uint32_t blocks,
                                                uint32_t fractal) {
  Bench bench;
  const auto in = bench.load<half>(x, rows);
  const auto blocked = bench.space<half>(blocks);
  const auto back = bench.space<half>(rows);
  const uint32_t c1 = (c + 15) / 16;
  const uint32_t n1 = (n + 15) / 16;
  const auto plain = MakeLayout(MakeShape(n, c, d, h, w), MakeStride());
  Duplicate(back, static_cast<half>(0), static_cast<int32_t>(rows));
  if (fractal) {
    const auto other = MakeLayout(MakeShape(d, c1, h, w, n1, 16u, 16u), MakeStride());
    TransDataParams<decltype(plain), decltype(other)> there = {plain, other};
    TransDataParams<decltype(other), decltype(plain)> again = {other, plain};
    TransData<kToFractal>(blocked, in, there);
    TransData<kFromFractal>(back, blocked, bench.space<uint8_t>(32), again);
  } else {
    const auto other = MakeLayout(MakeShape(n, d, c1, h, w, 16u), MakeStride());
    TransDataParams<decltype(plain), decltype(other)> there = {plain, other};
    TransDataParams<decltype(other), decltype(plain)> again = {other, plain};
    TransData<kToBlocks>(blocked, in, there);
    TransData<kFromBlocks>(back, blocked, again);
  }
  bench.store(y, blocked, blocks);
  bench.store(z, back, rows);
}

extern "C" __global__ __aicore__ void transpose(GM_ADDR x, GM_ADDR y, uint32_t type, uint32_t dims, uint32_t shape0,
                                                uint32_t shape1, uint32_t shape2, uint32_t shape3) {
  Bench bench;
  const uint32_t count = shape0 * shape1 * shape2 * shape3;
  ConfusionTransposeTiling tiling;
  tiling.dims = dims;
  tiling.shape0 = shape0;
  tiling.shape1 = shape1;
  tiling.shape2 = shape2;
  tiling.shape3 = shape3;
  tiling.transposeType = type;
  const auto out = bench.space<half>(count);
  Transpose(out, bench.load<half>(x, count), static_cast<TransposeType>(type), tiling);
  bench.store(y, out, count);
}

extern "C" __global__ __aicore__ void flash(GM_ADDR x, GM_ADDR mean, GM_ADDR sum, GM_ADDR maximum, GM_ADDR y,
                                            GM_ADDR factor, uint32_t rows, uint32_t columns, uint32_t loop) {
  Bench bench;
  const auto in = bench.load<half>(x, rows * columns);
  const auto means = bench.load<float>(mean, rows * 8);
  const auto sums = bench.load<float>(sum, rows * 8);
  const auto maxima = bench.load<float>(maximum, rows * 8);
  const auto factors = bench.space<half>(rows * 16);
  const SoftMaxParams params{rows, columns, rows, columns, loop, 8, 0.9375f};
  if (loop > 1) {
    SoftmaxFlashV3<half, float, true>(in, means, sums, maxima, in, factors, means, sums, maxima, SoftMaxTiling(),
                                      params);
    bench.store(factor, factors, rows * 16);
  } else {
    SoftmaxFlashV3<half, float>(in, means, sums, maxima, in, factors, means, sums, maxima, SoftMaxTiling(), params);
  }
  bench.store(y, in, rows * columns);
  bench.store(mean, means, rows * 8);
  bench.store(sum, sums, rows * 8);
  bench.store(maximum, maxima, rows * 8);
}
