// tests/ascendc/vector/rearrange.cpp
// Comparisons, selections, reductions, fills, gathers, sorts and transposes. Results are at 0; operands at 8192, 16384
// and 24576.
#include "image.h"

using namespace AscendC;

constexpr uint32_t kFirst = 8192;
constexpr uint32_t kSecond = 16384;
constexpr uint32_t kThird = 24576;

template <class T>
__aicore__ inline void compare_in_form(const LocalTensor<uint8_t>& u, int32_t form, int32_t mode, int32_t count,
                                       float scalar) {
  const auto compare_mode = static_cast<CMPMODE>(mode);
  const auto dst = u;
  const auto a = at<T>(u, kFirst);
  const auto b = at<T>(u, kSecond);
  const auto repeats = static_cast<uint8_t>(count);
  switch (form) {
    case 0:
      return Compare(dst, a, b, compare_mode, static_cast<uint32_t>(count));
    case 1:
      return Compares(dst, a, static_cast<T>(scalar), compare_mode, static_cast<uint32_t>(count));
    case 2:
      return Compare(dst, a, b, compare_mode, uint64_t{1}, repeats, BinaryRepeatParams(1, 2, 1, 1, 16, 8));
    case 3:
      return Compares(dst, a, static_cast<T>(scalar), compare_mode, uint64_t{1}, repeats,
                      UnaryRepeatParams(1, 1, 1, 9));
    default:
      Compare(a, b, compare_mode, static_cast<uint64_t>(count), BinaryRepeatParams());
      GetCmpMask(dst);
  }
}
extern "C" __global__ __aicore__ void compare(GM_ADDR image, int32_t type, int32_t form, int32_t mode, int32_t count,
                                              float scalar) {
  over_image(image, [&](const LocalTensor<uint8_t>& u) {
    if (type == 0) compare_in_form<half>(u, form, mode, count, scalar);
    if (type == 1) compare_in_form<float>(u, form, mode, count, scalar);
    if (type == 2) compare_in_form<int32_t>(u, form, mode, count, scalar);
  });
}

template <class T>
__aicore__ inline void select_in_form(const LocalTensor<uint8_t>& u, int32_t form, int32_t count, float scalar) {
  const auto dst = at<T>(u, 0);
  const auto a = at<T>(u, kFirst);
  const auto b = at<T>(u, kSecond);
  const auto bits = at<uint8_t>(u, kThird);
  const auto repeats = static_cast<uint8_t>(count);
  const BinaryRepeatParams strides;
  const auto value = static_cast<T>(scalar);
  switch (form) {
    case 0:
      return Select(dst, bits, a, b, SELMODE::VSEL_CMPMASK_SPR, static_cast<uint32_t>(count));
    case 1:
      return Select(dst, bits, a, value, SELMODE::VSEL_TENSOR_SCALAR_MODE, static_cast<uint32_t>(count));
    case 2:
      return Select(dst, bits, a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, static_cast<uint32_t>(count));
    case 3:
      return Select(dst, bits, a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, uint64_t{40}, repeats, strides);
    case 4:
      SetCmpMask(bits);
      return Select<T, SELMODE::VSEL_CMPMASK_SPR>(dst, a, b, repeats, strides);
    case 5: {
      const auto address = at<uint32_t>(u, kThird + 4096);
      Duplicate(address, static_cast<uint32_t>(bits.GetPhyAddr()), 32);
      SetCmpMask(address);
      return Select<T, SELMODE::VSEL_TENSOR_TENSOR_MODE>(dst, a, b, repeats, strides);
    }
    default:
      Duplicate(b, value, 32);
      SetCmpMask(b);
      Select(dst, bits, a, repeats, strides);
  }
}
extern "C" __global__ __aicore__ void choose(GM_ADDR image, int32_t type, int32_t form, int32_t count, float scalar) {
  over_image(image, [&](const LocalTensor<uint8_t>& u) {
    type == 0 ? select_in_form<half>(u, form, count, scalar) : select_in_form<float>(u, form, count, scalar);
  });
}

struct ReduceCase {
  int32_t type;  // 0 half, 1 float
  int32_t kind;  // ReduceType
  int32_t what;  // 0 repeats, 1 blocks, 2 pairs, 3 all by count, 4 all by repeats, 5 to 8: former names
  int32_t order;
  int32_t count;  // elements, or lanes of a repeat
  int32_t repeats;
  int32_t dst_stride;
  int32_t src_block;
  int32_t src_repeat;
  int32_t index;
};
template <ReduceType kind, class T>
__aicore__ inline void reduce_kind(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& shared,
                                   const ReduceCase& c) {
  switch (c.what) {
    case 0:
      return ReduceRepeat<kind>(dst, src, c.count, c.repeats, c.dst_stride, c.src_block, c.src_repeat,
                                static_cast<ReduceOrder>(c.order));
    case 1:
      return ReduceDataBlock<kind>(dst, src, c.count, c.repeats, c.dst_stride, c.src_block, c.src_repeat);
    case 2:
      return ReducePairElem<kind>(dst, src, c.count, c.repeats, c.dst_stride, c.src_block, c.src_repeat);
    case 3:
      if constexpr (kind == ReduceType::SUM) return ReduceSum(dst, src, shared, c.count);
      if constexpr (kind == ReduceType::MAX) return ReduceMax(dst, src, shared, c.count, c.index != 0);
      return ReduceMin(dst, src, shared, c.count, c.index != 0);
    case 4:
      if constexpr (kind == ReduceType::SUM) return ReduceSum(dst, src, shared, c.count, c.repeats, c.src_repeat);
      if constexpr (kind == ReduceType::MAX) {
        return ReduceMax(dst, src, shared, c.count, c.repeats, c.src_repeat, c.index != 0);
      }
      return ReduceMin(dst, src, shared, c.count, c.repeats, c.src_repeat, c.index != 0);
    case 5:
      if constexpr (kind == ReduceType::SUM) {
        return WholeReduceSum(dst, src, c.count, c.repeats, c.dst_stride, c.src_block, c.src_repeat);
      } else {
        return WholeReduceMax(dst, src, c.count, c.repeats, c.dst_stride, c.src_block, c.src_repeat);
      }
    case 6:
      if constexpr (kind == ReduceType::SUM) {
        return BlockReduceSum(dst, src, c.repeats, c.count, c.dst_stride, c.src_block, c.src_repeat);
      } else {
        return BlockReduceMax(dst, src, c.repeats, c.count, c.dst_stride, c.src_block, c.src_repeat);
      }
    case 7:
      return PairReduceSum(dst, src, c.repeats, c.count, c.dst_stride, c.src_block, c.src_repeat);
    default:
      return RepeatReduceSum(dst, src, c.repeats, c.count, 1, c.src_block, c.dst_stride, c.src_repeat);
  }
}
template <class T>
__aicore__ inline void reduce_type(const LocalTensor<uint8_t>& u, const ReduceCase& c) {
  const auto dst = at<T>(u, 0);
  const auto src = at<T>(u, kFirst);
  const auto shared = at<T>(u, kSecond);
  if (c.kind == 0) reduce_kind<ReduceType::SUM>(dst, src, shared, c);
  if (c.kind == 1) reduce_kind<ReduceType::MAX>(dst, src, shared, c);
  if (c.kind == 2) reduce_kind<ReduceType::MIN>(dst, src, shared, c);
  // The content of the registers, behind the results.
  if (c.what != 3) return;
  SetFlag<HardEvent::V_S>(EVENT_ID0);
  WaitFlag<HardEvent::V_S>(EVENT_ID0);
  T value{};
  if (c.kind == 0) {
    value = GetReduceRepeatSumSpr<T>();
  } else {
    GetReduceRepeatMaxMinSpr(value);
  }
  dst.SetValue(16, value);
  SetFlag<HardEvent::S_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::S_MTE3>(EVENT_ID0);
}
extern "C" __global__ __aicore__ void reduce(GM_ADDR image, ReduceCase c) {
  over_image(image,
             [&](const LocalTensor<uint8_t>& u) { c.type == 0 ? reduce_type<half>(u, c) : reduce_type<float>(u, c); });
}

extern "C" __global__ __aicore__ void fills(GM_ADDR image) {
  over_image(image, [&](const LocalTensor<uint8_t>& u) {
    Duplicate(at<half>(u, 0), static_cast<half>(2.5), 100);
    Duplicate(at<float>(u, 1024), 7.0f, 3, 2, 2, 16);
    auto index = at<int32_t>(u, 3072);
    CreateVecIndex(index, 5, 100u);
    auto halves = at<half>(u, 4096);
    CreateVecIndex(halves, static_cast<half>(1), uint64_t{128}, 2, 1, 8);
    ArithProgression(at<float>(u, 5120), 0.5f, 0.25f, 64);
    Brcb(at<uint16_t>(u, 6144), at<uint16_t>(u, kFirst), 2, {1, 8});
  });
}

extern "C" __global__ __aicore__ void gathers(GM_ADDR image) {
  over_image(image, [&](const LocalTensor<uint8_t>& u) {
    const auto offsets = at<uint32_t>(u, kSecond);
    Gather(at<float>(u, 0), at<float>(u, kFirst), offsets, 64u, 100u);
    Gather(at<float>(u, 1024), at<float>(u, kFirst), offsets, 0u, uint64_t{10}, 3, 8);
    Gatherb(at<uint16_t>(u, 2048), at<uint16_t>(u, kFirst), at<uint32_t>(u, kThird), 2, {1, 8});
  });
}

extern "C" __global__ __aicore__ void gather_mask(GM_ADDR image, GM_ADDR counts, int32_t pattern, int32_t counter,
                                                  int32_t mask, int32_t repeats, int32_t pattern_stride) {
  over_image(image, [&](const LocalTensor<uint8_t>& u) {
    const GatherMaskParams params(1, static_cast<uint16_t>(repeats), 8, static_cast<uint8_t>(pattern_stride));
    uint64_t kept = 0;
    const auto dst = at<float>(u, 0);
    const auto src = at<float>(u, kFirst);
    if (pattern == 0) {
      GatherMask(dst, src, at<uint32_t>(u, kSecond), counter != 0, static_cast<uint32_t>(mask), params, kept);
    } else {
      GatherMask(dst, src, static_cast<uint8_t>(pattern), counter != 0, static_cast<uint32_t>(mask), params, kept);
    }
    reinterpret_cast<__gm__ uint64_t*>(counts)[0] = kept;
  });
}

template <class T>
__aicore__ inline void sort_and_merge(const LocalTensor<uint8_t>& u, int32_t repeats, bool stops) {
  const auto sorted = at<T>(u, kThird);
  Sort32(sorted, at<T>(u, kFirst), at<uint32_t>(u, kSecond), repeats);
  constexpr uint32_t kQueue = 32 * 8 / sizeof(T);
  MrgSortSrcList<T> queues(sorted, sorted[kQueue], sorted[2 * kQueue], sorted[3 * kQueue]);
  const uint16_t lengths[4] = {32, 32, 32, 32};
  MrgSort(at<T>(u, 0), queues, MrgSort4Info(lengths, stops, 15, 1));
}
extern "C" __global__ __aicore__ void sorts(GM_ADDR image, GM_ADDR counts, int32_t type, int32_t stops) {
  over_image(image, [&](const LocalTensor<uint8_t>& u) {
    type == 0 ? sort_and_merge<half>(u, 4, stops != 0) : sort_and_merge<float>(u, 4, stops != 0);
    auto* kept = reinterpret_cast<__gm__ uint16_t*>(counts);
    GetMrgSortResult(kept[0], kept[1], kept[2], kept[3]);
  });
}

extern "C" __global__ __aicore__ void transpose(GM_ADDR image, int32_t what) {
  over_image(image, [&](const LocalTensor<uint8_t>& u) {
    if (what == 0) Transpose(at<half>(u, 0), at<half>(u, kFirst));
    if (what == 1 || what == 2) {
      Transpose(at<float>(u, 0), at<float>(u, kFirst), at<uint8_t>(u, kSecond),
                TransposeParamsExt(
                    2, 3, 4, 8, what == 1 ? TransposeType::TRANSPOSE_NCHW2NHWC : TransposeType::TRANSPOSE_NHWC2NCHW));
    }
  });
}

template <class T>
__aicore__ inline void to_5hd(const LocalTensor<uint8_t>& u, int32_t repeats) {
  uint64_t dst[16];
  uint64_t src[16];
  for (int i = 0; i < 16; i++) {
    dst[i] = at<T>(u, static_cast<uint32_t>(32 * i)).GetPhyAddr();
    src[i] = at<T>(u, kFirst + static_cast<uint32_t>(repeats * 32 * i)).GetPhyAddr();
  }
  const TransDataTo5HDParams params(false, true, static_cast<uint8_t>(repeats),
                                    static_cast<uint16_t>(repeats == 1 ? 0 : 16),
                                    static_cast<uint16_t>(repeats == 1 ? 0 : 1));
  TransDataTo5HD<T>(dst, src, params);
}
extern "C" __global__ __aicore__ void trans_data(GM_ADDR image, int32_t bytes, int32_t repeats) {
  over_image(image, [&](const LocalTensor<uint8_t>& u) {
    if (bytes == 1) to_5hd<int8_t>(u, repeats);
    if (bytes == 2) to_5hd<half>(u, repeats);
    if (bytes == 4) to_5hd<float>(u, repeats);
  });
}

extern "C" __global__ __aicore__ void interpolate(GM_ADDR image, int32_t per_block) {
  over_image(image, [&](const LocalTensor<uint8_t>& u) {
    BilinearInterpolation(at<half>(u, 0), at<half>(u, kFirst), at<uint32_t>(u, kSecond), at<half>(u, kSecond + 1024),
                          uint64_t{128}, 2, per_block != 0, 1, 128, 2, at<uint8_t>(u, kThird));
  });
}

extern "C" __global__ __aicore__ void copies(GM_ADDR image) {
  over_image(image, [&](const LocalTensor<uint8_t>& u) {
    Copy(at<int32_t>(u, 0), at<int32_t>(u, kFirst), uint64_t{8}, 18, {1, 1, 1, 8});
    SetMaskCount();
    SetVectorMask<int32_t, MaskMode::COUNTER>(144);
    Copy<int32_t, false>(at<int32_t>(u, 1024), at<int32_t>(u, kFirst), MASK_PLACEHOLDER, 1, {1, 8, 8, 8});
    SetMaskNorm();
    ResetMask();
  });
}

extern "C" __global__ __aicore__ void mixed(GM_ADDR image) {
  over_image(image, [&](const LocalTensor<uint8_t>& u) {
    const auto a = at<half>(u, kFirst);
    const auto b = at<half>(u, kFirst + 256);
    MulAddDst(at<float>(u, 0), a, b, 100);
    Axpy(at<float>(u, 1024), a, static_cast<half>(3), 100);
    AddReluCast(at<int8_t>(u, 2048), a, b, 100);
    SubReluCast(at<half>(u, 2304), at<float>(u, kSecond), at<float>(u, kSecond + 512), 100);
    MulCast(at<uint8_t>(u, 2560), a, b, uint64_t{100}, 1, {1, 1, 1, 4, 8, 8});
    SetDeqScale(static_cast<half>(0.5));
    AddDeqRelu(at<half>(u, 2816), at<int32_t>(u, kThird), at<int32_t>(u, kThird + 512), 100);
    And(at<int32_t>(u, 3072), at<int32_t>(u, kThird), at<int32_t>(u, kThird + 512), 100);
  });
}

extern "C" __global__ __aicore__ void single_numbers(GM_ADDR result, float value) {
  auto* numbers = reinterpret_cast<__gm__ int32_t*>(result);
  numbers[0] = Cast<float, int32_t, RoundMode::CAST_CEIL>(value);
  numbers[1] = Cast<float, int32_t, RoundMode::CAST_FLOOR>(value);
  numbers[2] = ScalarCast<float, int32_t, RoundMode::CAST_ROUND>(value);
  reinterpret_cast<__gm__ half*>(result)[6] = Cast<float, half, RoundMode::CAST_ODD>(value);
}
