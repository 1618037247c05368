// Kernels of test_cube.py: the way through the cube unit's memories, instruction by instruction.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

template <class T>
__aicore__ inline GlobalTensor<T> global(GM_ADDR address) {
  GlobalTensor<T> result;
  result.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(address));
  return result;
}

__aicore__ inline uint32_t up(uint32_t number, uint32_t unit) { return (number + unit - 1) / unit * unit; }

// Fractals of A and B wait in L1, as the test packed them.
template <class T, class Acc>
struct Unit {
  LocalTensor<T> a1, b1, a2, b2;
  LocalTensor<Acc> co1;

  __aicore__ inline Unit(GM_ADDR a, GM_ADDR b, uint32_t a_count, uint32_t b_count)
      : a1(TPosition::A1, 0, a_count),
        b1(TPosition::B1, 256 * 1024, b_count),
        a2(TPosition::A2, 0, 64 * 1024 / sizeof(T)),
        b2(TPosition::B2, 0, 64 * 1024 / sizeof(T)),
        co1(TPosition::CO1, 0, 128 * 1024 / sizeof(Acc)) {
    DataCopy(a1, global<T>(a), a_count);
    DataCopy(b1, global<T>(b), b_count);
    barrier();
  }
  static __aicore__ inline void barrier() { PipeBarrier<PIPE_ALL>(); }
};

// NZ of [m, k] to the rows of fractals of L0A; NZ of [k, n] turned to L0B.
__aicore__ inline void load(const Unit<half, float>& unit, uint32_t m, uint32_t n, uint32_t k) {
  const auto m1 = static_cast<uint16_t>(m / 16);
  const auto n1 = static_cast<uint8_t>(n / 16);
  const auto k1 = static_cast<uint8_t>(k / 16);
  for (uint32_t i = 0; i < m1; ++i) {
    LoadData(unit.a2[i * k1 * 256], unit.a1[i * 256], LoadData2DParams(0, k1, m1, 0, 0, false, 0));
  }
  for (uint32_t i = 0; i < k1; ++i) {
    LoadData(unit.b2[i * n1 * 256], unit.b1[i * 256], LoadData2DParams(0, n1, k1, 0, 0, true, 0));
  }
  Unit<half, float>::barrier();
}

}  // namespace

// Ways out of L0C: rows of float, twice the product as half, fractals, non-negative int8.
extern "C" __global__ __aicore__ void ways_out(GM_ADDR a, GM_ADDR b, GM_ADDR rows, GM_ADDR halves, GM_ADDR fractals,
                                               GM_ADDR bytes, uint16_t m, uint16_t n, uint16_t k, uint16_t used_m,
                                               uint64_t scale) {
  Unit<half, float> unit(a, b, m * k, n * k);
  load(unit, m, n, k);
  MmadParams params;
  params.m = used_m;
  params.n = n;
  params.k = k;
  Mmad(unit.co1, unit.a2, unit.b2, params);
  unit.barrier();
  FixpipeParamsV220 out;
  out.nSize = n;
  out.mSize = used_m;
  out.srcStride = m;
  out.dstStride = n;
  Fixpipe(global<float>(rows), unit.co1, out);
  out.quantPre = QuantMode_t::QF322B8_PRE;
  out.deqScalar = scale;
  out.reluEn = true;
  Fixpipe(global<int8_t>(bytes), unit.co1, out);
  out.quantPre = QuantMode_t::NoQuant;
  out.reluEn = false;
  out.dstStride = m * 16 * sizeof(float) / 32;
  Fixpipe<float, float, CFG_NZ>(global<float>(fractals), unit.co1, out);
  unit.barrier();
  params.cmatrixInitVal = false;  // once more, onto the first
  Mmad(unit.co1, unit.a2, unit.b2, params);
  unit.barrier();
  out.dstStride = n;
  out.quantPre = QuantMode_t::F322F16;
  Fixpipe(global<half>(halves), unit.co1, out);
}

// The same by DataCopy, whose other parameters are registers: rows of float in two halves, int8 with a scale for each
// column, and half by way of L1.
extern "C" __global__ __aicore__ void copied_out(GM_ADDR a, GM_ADDR b, GM_ADDR scales, GM_ADDR rows, GM_ADDR bytes,
                                                 GM_ADDR halves, uint16_t m, uint16_t n, uint16_t k) {
  Unit<half, float> unit(a, b, m * k, n * k);
  LocalTensor<uint64_t> words(TPosition::C1, 384 * 1024, n);
  LocalTensor<uint64_t> of_fixpipe(TPosition::C2PIPE2GM, 0, n);
  DataCopy(words, global<uint64_t>(scales), n);
  unit.barrier();
  DataCopy(of_fixpipe, words, n);
  load(unit, m, n, k);
  MmadParams params;
  params.m = m;
  params.n = n;
  params.k = k;
  Mmad(unit.co1, unit.a2, unit.b2, params);
  unit.barrier();
  const uint16_t half_n = n / 2;
  const auto fractals = static_cast<uint16_t>(m / 16 * half_n / 16);  // of one half
  SetFixpipeNz2ndFlag(2, fractals, half_n);
  DataCopy(global<float>(rows), unit.co1, DataCopyCO12DstParams(half_n, m, n, m, QuantMode_t::NoQuant, 0, false, true));
  SetFixpipeNz2ndFlag(1, 1, 1);
  SetFixPipeConfig(of_fixpipe);
  DataCopy(global<int8_t>(bytes), unit.co1,
           DataCopyCO12DstParams(n, m, n, m, QuantMode_t::VQF322B8_PRE, 1, false, true));
  LocalTensor<half> in_l1(TPosition::A1, 0, m * n);
  DataCopyCO12DstParams to_l1;
  to_l1.nSize = n;
  to_l1.mSize = m;
  to_l1.srcStride = m;
  to_l1.dstStride = m;  // columns of 16 halves
  to_l1.quantPre = QuantMode_t::F322F16;
  DataCopy(in_l1, unit.co1, to_l1);
  unit.barrier();
  DataCopy(global<half>(halves), in_l1, m * n);
}

// The rows of A do not fill the last fractals.
extern "C" __global__ __aicore__ void rows_to_spare(GM_ADDR a, GM_ADDR b, GM_ADDR c, uint16_t m, uint16_t n,
                                                    uint16_t k) {
  const auto whole = static_cast<uint16_t>(up(m, 16));
  Unit<half, float> unit(a, b, 0, 0);
  DataCopy(unit.a1, global<half>(a), Nd2NzParams(1, m, k, 0, k, whole, 1, 0));
  DataCopy(unit.b1, global<half>(b), Nd2NzParams(1, k, n, 0, n, k, 1, 0));
  unit.barrier();
  load(unit, whole, n, k);
  MmadParams params;
  params.m = m;
  params.n = n;
  params.k = k;
  Mmad(unit.co1, unit.a2, unit.b2, params);
  unit.barrier();
  Fixpipe(global<float>(c), unit.co1, FixpipeParamsV220(n, m, whole, n, false));
}

// int8, with B turned in squares of 32 x 32 by LoadDataWithTranspose.
extern "C" __global__ __aicore__ void bytes(GM_ADDR a, GM_ADDR b, GM_ADDR c, uint16_t m, uint16_t n, uint16_t k) {
  Unit<int8_t, int32_t> unit(a, b, m * k, n * k);
  const auto m1 = static_cast<uint16_t>(m / 16);
  const auto k1 = static_cast<uint8_t>(k / 32);
  const auto n2 = static_cast<uint8_t>(n / 32);
  for (uint32_t i = 0; i < m1; ++i) {
    LoadData(unit.a2[i * k1 * 512], unit.a1[i * 512], LoadData2DParams(0, k1, m1, 0, 0, false, 0));
  }
  for (uint32_t i = 0; i < k1; ++i) {  // squares of one row of B lie k1 squares apart
    LoadDataWithTranspose(unit.b2[i * n2 * 1024], unit.b1[i * 1024], LoadData2dTransposeParams(0, n2, k1, 1, 0));
  }
  unit.barrier();
  MmadParams params;
  params.m = m;
  params.n = n;
  params.k = k;
  Mmad(unit.co1, unit.a2, unit.b2, params);
  unit.barrier();
  Fixpipe(global<int32_t>(c), unit.co1, FixpipeParamsV220(n, m, m, n, false));
}

// float matrices that are both stored as [k, .]: LoadData of images turns A, and B on its way to L0B.
extern "C" __global__ __aicore__ void turned_floats(GM_ADDR a, GM_ADDR b, GM_ADDR c, uint16_t m, uint16_t n,
                                                    uint16_t k) {
  Unit<float, float> unit(a, b, m * k, n * k);
  LoadData3DParamsV2<float> params;
  params.l1H = 1;
  params.l1W = k;
  params.mExtension = k;
  params.channelSize = params.kExtension = m;
  params.enTranspose = true;
  LoadData(unit.a2, unit.a1, params);
  params.channelSize = params.kExtension = n;
  LoadData(unit.b2, unit.b1, params);
  unit.barrier();
  MmadParams product;
  product.m = m;
  product.n = n;
  product.k = k;
  product.kDirectionAlign = true;
  Mmad(unit.co1, unit.a2, unit.b2, product);
  unit.barrier();
  Fixpipe(global<float>(c), unit.co1, FixpipeParamsV220(n, m, m, n, false));
}

// A convolution 3 x 3 with a padding of 1: pixels of the image by filters.
extern "C" __global__ __aicore__ void convolution(GM_ADDR image, GM_ADDR filters, GM_ADDR c, uint16_t height,
                                                  uint16_t width, uint16_t channels, uint16_t n, uint8_t stride,
                                                  uint16_t pixels) {
  const uint16_t k = channels * 9;
  Unit<half, float> unit(image, filters, height * width * channels, n * k);
  LoadData3DParamsV2<half> params;
  for (auto& side : params.padList) side = 1;
  params.l1H = height;
  params.l1W = width;
  params.channelSize = channels;
  params.kExtension = k;
  params.mExtension = pixels;
  params.strideH = params.strideW = stride;
  params.filterH = params.filterW = 3;
  LoadData(unit.a2, unit.a1, params);
  LoadData(unit.b2, unit.b1, LoadData2DParams(0, static_cast<uint8_t>(k / 16 * n / 16), 1, 0, 0, false, 0));
  unit.barrier();
  MmadParams product;
  product.m = pixels;
  product.n = n;
  product.k = k;
  Mmad(unit.co1, unit.a2, unit.b2, product);
  unit.barrier();
  Fixpipe(global<float>(c), unit.co1, FixpipeParamsV220(n, pixels, up(pixels, 16), n, false));
}

extern "C" __global__ __aicore__ void left_in_the_wrong_memory(GM_ADDR a) {
  Unit<half, float> unit(a, a, 256, 256);
  Mmad(unit.co1, unit.b2, unit.b2, MmadParams{});
}
extern "C" __global__ __aicore__ void wrong_mode(GM_ADDR a) {
  Unit<half, float> unit(a, a, 256, 256);
  Fixpipe(global<half>(a), unit.co1, FixpipeParamsV220(16, 16, 16, 16, false));
}
extern "C" __global__ __aicore__ void copied_as_it_is(GM_ADDR a) {
  Unit<half, float> unit(a, a, 256, 256);
  DataCopy(global<float>(a), unit.co1, 64);
}
extern "C" __global__ __aicore__ void copied_without_words(GM_ADDR a) {
  Unit<half, float> unit(a, a, 256, 256);
  DataCopy(global<int8_t>(a), unit.co1,
           DataCopyCO12DstParams(16, 16, 16, 16, QuantMode_t::VQF322B8_PRE, 0, false, true));
}
extern "C" __global__ __aicore__ void rows_to_l1(GM_ADDR a) {
  Unit<half, float> unit(a, a, 256, 256);
  DataCopy(unit.a1, unit.co1, DataCopyCO12DstParams(16, 16, 16, 16, QuantMode_t::F322F16, 0, false, true));
}

// A, and half of the rows of B with the places of its numbers: fractals as the test packed them.
extern "C" __global__ __aicore__ void sparse(GM_ADDR a, GM_ADDR b, GM_ADDR places, GM_ADDR c, uint16_t m, uint16_t n,
                                             uint16_t k) {
  const auto k1 = static_cast<uint8_t>(k / 32);
  const uint32_t stored = uint32_t{k} / 2 * n;
  Unit<int8_t, int32_t> unit(a, b, m * k, stored);
  LocalTensor<uint8_t> index(TPosition::B1, 384 * 1024, stored / 4);
  DataCopy(index, global<uint8_t>(places), stored / 4);
  Unit<int8_t, int32_t>::barrier();
  for (uint32_t i = 0; i < m / 16u; ++i) {
    LoadData(unit.a2[i * k1 * 512], unit.a1[i * 512],
             LoadData2DParams(0, k1, static_cast<uint16_t>(m / 16), 0, 0, false, 0));
  }
  const auto fractals = static_cast<uint8_t>(stored / 512);
  LoadDataWithSparse(unit.b2, unit.b1, index, LoadData2DParams(0, 1, 0, 0, 0, false, 0));
  LoadDataWithSparse(unit.b2[512], unit.b1, index,
                     LoadData2DParams(1, static_cast<uint8_t>(fractals - 1), 0, 0, 0, false, 0));
  Unit<int8_t, int32_t>::barrier();
  MmadWithSparse(unit.co1, unit.a2, unit.b2, {m, n, k, false, 0, false, false, false});
  Unit<int8_t, int32_t>::barrier();
  FixpipeParamsV220 params;
  params.nSize = n;
  params.mSize = m;
  params.srcStride = m;
  params.dstStride = n;
  Fixpipe(global<int32_t>(c), unit.co1, params);
}
