// tests/ascendc/vector/cast.cpp
// Conversions between all pairs of element types, contiguous and with repeats.
#include "kernel_operator.h"

using namespace AscendC;
using machine::vector::kSupported;
using machine::vector::Operation;

struct Case {
  int32_t from;
  int32_t to;  // 0 half, 1 float, 2 int8_t, 3 uint8_t, 4 int16_t, 5 int32_t, 6 int64_t, 7 bfloat16_t, 8 int4b_t
  int32_t mode;
  int32_t count;    // elements, or lanes of a repeat
  int32_t repeats;  // 0: the form with a count
  int32_t dst_repeat;
  int32_t src_repeat;
  float scale;
  int32_t saturates;
};

constexpr uint32_t kBytes = 8192;

template <class T>
__aicore__ inline LocalTensor<T> as(const LocalTensor<uint8_t>& bytes) {
  return bytes.template ReinterpretCast<T>();
}

template <class D, class S>
__aicore__ inline void convert(const Case& c, const LocalTensor<uint8_t>& dst, const LocalTensor<uint8_t>& src) {
  if constexpr (kSupported<Operation::kCast, D, S>) {
    const auto mode = static_cast<RoundMode>(c.mode);
    if (c.repeats == 0) {
      Cast(as<D>(dst), as<S>(src), mode, static_cast<uint32_t>(c.count));
    } else {
      Cast(as<D>(dst), as<S>(src), mode, static_cast<uint64_t>(c.count), static_cast<uint8_t>(c.repeats),
           UnaryRepeatParams(1, 1, static_cast<uint8_t>(c.dst_repeat), static_cast<uint8_t>(c.src_repeat)));
    }
  }
}

template <class S>
__aicore__ inline void convert_from(const Case& c, const LocalTensor<uint8_t>& dst, const LocalTensor<uint8_t>& src) {
  switch (c.to) {
    case 0:
      return convert<half, S>(c, dst, src);
    case 1:
      return convert<float, S>(c, dst, src);
    case 2:
      return convert<int8_t, S>(c, dst, src);
    case 3:
      return convert<uint8_t, S>(c, dst, src);
    case 4:
      return convert<int16_t, S>(c, dst, src);
    case 5:
      return convert<int32_t, S>(c, dst, src);
    case 6:
      return convert<int64_t, S>(c, dst, src);
    case 7:
      return convert<bfloat16_t, S>(c, dst, src);
    default:
      return convert<int4b_t, S>(c, dst, src);
  }
}

// `image` holds dst and src; dst is written back.
extern "C" __global__ __aicore__ void cast(GM_ADDR image, Case c) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 2 * kBytes);
  GlobalTensor<uint8_t> global;
  global.SetGlobalBuffer(image);
  LocalTensor<uint8_t> local = buffer.Get<uint8_t>();
  DataCopy(local, global, 2 * kBytes);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  SetDeqScale(static_cast<half>(c.scale));
  SetSaturationFlag<SaturationMode::FLOAT>(c.saturates != 0);
  const LocalTensor<uint8_t> src = local[kBytes];
  switch (c.from) {
    case 0:
      convert_from<half>(c, local, src);
      break;
    case 1:
      convert_from<float>(c, local, src);
      break;
    case 2:
      convert_from<int8_t>(c, local, src);
      break;
    case 3:
      convert_from<uint8_t>(c, local, src);
      break;
    case 4:
      convert_from<int16_t>(c, local, src);
      break;
    case 5:
      convert_from<int32_t>(c, local, src);
      break;
    case 6:
      convert_from<int64_t>(c, local, src);
      break;
    case 7:
      convert_from<bfloat16_t>(c, local, src);
      break;
    default:
      convert_from<int4b_t>(c, local, src);
  }
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(global, local, kBytes);
}

// Quantisation of int16_t: `vector` has 16 scales, 16 offsets as float.
extern "C" __global__ __aicore__ void dequantise(GM_ADDR image, GM_ADDR vector, int32_t by_vector, int32_t count) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 2 * kBytes + 128);
  GlobalTensor<uint8_t> global;
  global.SetGlobalBuffer(image);
  GlobalTensor<float> scales;
  scales.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(vector));
  LocalTensor<uint8_t> local = buffer.Get<uint8_t>();
  DataCopy(local, global, 2 * kBytes);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  const auto dst = as<int8_t>(local);
  const auto src = as<int16_t>(local[kBytes]);
  if (by_vector != 0) {
    VdeqInfo info;
    for (int i = 0; i < 16; i++) {
      info.vdeqScale[i] = scales.GetValue(i);
      info.vdeqOffset[i] = static_cast<int16_t>(scales.GetValue(16 + i));
      info.vdeqSignMode[i] = true;
    }
    SetDeqScale(as<uint64_t>(local[2 * kBytes]), info);
    SetFlag<HardEvent::S_V>(EVENT_ID0);
    WaitFlag<HardEvent::S_V>(EVENT_ID0);
    CastDequant<int8_t, int16_t, true, true>(dst, src, static_cast<uint32_t>(count));
  } else {
    SetDeqScale(scales.GetValue(0), static_cast<int16_t>(scales.GetValue(16)), true);
    CastDequant<int8_t, int16_t, false, false>(dst, src, static_cast<uint32_t>(count));
  }
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(global, local, kBytes);
}
