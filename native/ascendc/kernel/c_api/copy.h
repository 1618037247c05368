// native/ascendc/kernel/c_api/copy.h
// Copies between global memory and the unified buffer.
#pragma once

#include "c_api/operands.h"

// `size` counts bytes, whole blocks of 32.
OPWRIGHT_INLINE void asc_copy_gm2ub(__ubuf__ void* dst, __gm__ void* src, uint32_t size) {
  using namespace AscendC::machine;
  AscendC::DataCopy(local_operand(static_cast<uint8_t*>(dst)), global_operand(static_cast<uint8_t*>(src)), size);
}
OPWRIGHT_INLINE void asc_copy_ub2gm(__gm__ void* dst, __ubuf__ void* src, uint32_t size) {
  using namespace AscendC::machine;
  AscendC::DataCopy(global_operand(static_cast<uint8_t*>(dst)), local_operand(static_cast<uint8_t*>(src)), size);
}
// Lengths and gaps count blocks of 32 bytes.
OPWRIGHT_INLINE void asc_copy_gm2ub(__ubuf__ void* dst, __gm__ void* src, uint16_t n_burst, uint16_t len_burst,
                                    uint16_t src_gap, uint16_t dst_gap) {
  using namespace AscendC::machine;
  AscendC::DataCopy(local_operand(static_cast<uint8_t*>(dst)), global_operand(static_cast<uint8_t*>(src)),
                    AscendC::DataCopyParams(n_burst, len_burst, src_gap, dst_gap));
}
OPWRIGHT_INLINE void asc_copy_ub2gm(__gm__ void* dst, __ubuf__ void* src, uint16_t n_burst, uint16_t len_burst,
                                    uint16_t src_gap, uint16_t dst_gap) {
  using namespace AscendC::machine;
  AscendC::DataCopy(global_operand(static_cast<uint8_t*>(dst)), local_operand(static_cast<uint8_t*>(src)),
                    AscendC::DataCopyParams(n_burst, len_burst, src_gap, dst_gap));
}
OPWRIGHT_INLINE void asc_copy_gm2ub_sync(__ubuf__ void* dst, __gm__ void* src, uint32_t size) {
  asc_copy_gm2ub(dst, src, size);
  asc_sync();
}
OPWRIGHT_INLINE void asc_copy_ub2gm_sync(__gm__ void* dst, __ubuf__ void* src, uint32_t size) {
  asc_copy_ub2gm(dst, src, size);
  asc_sync();
}

// Runs of any length in bytes; in the unified buffer each begins at a block of 32 bytes.
template <class T>
OPWRIGHT_INLINE void asc_copy_gm2ub_align(__ubuf__ T* dst, __gm__ T* src, uint16_t n_burst, uint32_t len_burst,
                                          uint8_t left_padding_num, uint8_t right_padding_num, uint32_t src_gap,
                                          uint32_t dst_gap) {
  using namespace AscendC::machine;
  const bool pads = left_padding_num != 0 || right_padding_num != 0;
  AscendC::DataCopyPad(local_operand(dst), global_operand(src),
                       AscendC::DataCopyExtParams(n_burst, len_burst, src_gap, dst_gap, 0),
                       AscendC::DataCopyPadExtParams<T>(pads, left_padding_num, right_padding_num, T(0)));
}
template <class T>
OPWRIGHT_INLINE void asc_copy_ub2gm_align(__gm__ T* dst, __ubuf__ T* src, uint16_t n_burst, uint32_t len_burst, uint8_t,
                                          uint8_t, uint32_t src_gap, uint32_t dst_gap) {
  using namespace AscendC::machine;
  AscendC::DataCopyPad(global_operand(dst), local_operand(src),
                       AscendC::DataCopyExtParams(n_burst, len_burst, src_gap, dst_gap, 0));
}
template <class T>
OPWRIGHT_INLINE void asc_copy_gm2ub_align(__ubuf__ T* dst, __gm__ T* src, uint32_t size) {
  asc_copy_gm2ub_align(dst, src, 1, size, 0, 0, 0, 0);
}
template <class T>
OPWRIGHT_INLINE void asc_copy_ub2gm_align(__gm__ T* dst, __ubuf__ T* src, uint32_t size) {
  asc_copy_ub2gm_align(dst, src, 1, size, 0, 0, 0, 0);
}
template <class T>
OPWRIGHT_INLINE void asc_copy_gm2ub_align_sync(__ubuf__ T* dst, __gm__ T* src, uint32_t size) {
  asc_copy_gm2ub_align(dst, src, size);
  asc_sync();
}
template <class T>
OPWRIGHT_INLINE void asc_copy_ub2gm_align_sync(__gm__ T* dst, __ubuf__ T* src, uint32_t size) {
  asc_copy_ub2gm_align(dst, src, size);
  asc_sync();
}
