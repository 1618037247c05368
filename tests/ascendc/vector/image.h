// tests/ascendc/vector/image.h
// A kernel over an image of the unified buffer: copied in, changed by one instruction, copied out.
#pragma once

#include "kernel_operator.h"

constexpr uint32_t kImage = 32768;  // bytes; the results are in the first half

template <class Body>
__aicore__ inline void over_image(GM_ADDR image, Body body) {
  using namespace AscendC;
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, kImage);
  GlobalTensor<uint8_t> global;
  global.SetGlobalBuffer(image);
  LocalTensor<uint8_t> local = buffer.Get<uint8_t>();
  DataCopy(local, global, kImage);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  body(local);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(global, local, kImage);
}

// The bytes at `offset`, as elements of T.
template <class T>
__aicore__ inline AscendC::LocalTensor<T> at(const AscendC::LocalTensor<uint8_t>& image, uint32_t offset) {
  return image[offset].template ReinterpretCast<T>();
}
