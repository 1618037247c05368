// native/ascendc/kernel/core/position.h
// Logical positions of tensors, the memories of a core, its pipes, and the events between them.
#pragma once

#include <array>
#include <cstdint>

#include "ascendc/shared/positions.h"

enum pipe_t {
  PIPE_S = 0,
  PIPE_V,
  PIPE_M,
  PIPE_MTE1,
  PIPE_MTE2,
  PIPE_MTE3,
  PIPE_ALL,
  PIPE_FIX = 10,
};

enum event_t {
  EVENT_ID0 = 0,
  EVENT_ID1,
  EVENT_ID2,
  EVENT_ID3,
  EVENT_ID4,
  EVENT_ID5,
  EVENT_ID6,
  EVENT_ID7,
};

namespace AscendC {

using TEventID = int8_t;

enum class TPosition : uint8_t { OPWRIGHT_POSITIONS, C2PIPE2GM, C2PIPE2LOCAL, MAX };
using QuePosition = TPosition;

enum class Hardware : uint8_t { GM, UB, L1, L0A, L0B, L0C, BIAS, FIXBUF, MAX };

namespace machine {

enum class Pipe : uint8_t { kScalar, kVector, kMatrix, kMte1, kMte2, kMte3, kFix };
inline constexpr size_t kPipes = 7;
inline constexpr uint8_t kAllPipes = 0xFF;

// The memories of a core. Their sizes depend on the SoC: runtime/soc_memory.h.
enum class Memory : uint8_t { kUnified, kL1, kL0A, kL0B, kL0C, kBias, kFixpipe, kNone };
inline constexpr size_t kMemories = 7;

// Where a position lies on Atlas A2. GM and CO2 (global memory there) lie in no memory of the core.
constexpr Memory memory_of(TPosition position) {
  switch (position) {
    case TPosition::VECIN:
    case TPosition::VECOUT:
    case TPosition::VECCALC:
      return Memory::kUnified;
    case TPosition::A1:
    case TPosition::B1:
    case TPosition::C1:
    case TPosition::SPM:
    case TPosition::TSCM:
      return Memory::kL1;
    case TPosition::A2:
      return Memory::kL0A;
    case TPosition::B2:
      return Memory::kL0B;
    case TPosition::CO1:
      return Memory::kL0C;
    case TPosition::C2:
      return Memory::kBias;
    case TPosition::C2PIPE2GM:
    case TPosition::C2PIPE2LOCAL:
      return Memory::kFixpipe;
    default:
      return Memory::kNone;
  }
}

constexpr Memory memory_of(Hardware hardware) {
  switch (hardware) {
    case Hardware::UB:
      return Memory::kUnified;
    case Hardware::L1:
      return Memory::kL1;
    case Hardware::L0A:
      return Memory::kL0A;
    case Hardware::L0B:
      return Memory::kL0B;
    case Hardware::L0C:
      return Memory::kL0C;
    case Hardware::BIAS:
      return Memory::kBias;
    case Hardware::FIXBUF:
      return Memory::kFixpipe;
    default:
      return Memory::kNone;
  }
}

// PIPE_ALL has no single pipe: callers treat it first.
constexpr Pipe pipe_of(pipe_t pipe) {
  switch (pipe) {
    case PIPE_V:
      return Pipe::kVector;
    case PIPE_M:
      return Pipe::kMatrix;
    case PIPE_MTE1:
      return Pipe::kMte1;
    case PIPE_MTE2:
      return Pipe::kMte2;
    case PIPE_MTE3:
      return Pipe::kMte3;
    case PIPE_FIX:
      return Pipe::kFix;
    default:
      return Pipe::kScalar;
  }
}

}  // namespace machine

// An event <source>_<destination>: the destination waits for the source. The value holds both pipes.
#define OPWRIGHT_EVENT(source, destination, from, to) \
  source##_##destination = (static_cast<int>(machine::Pipe::from) << 4 | static_cast<int>(machine::Pipe::to))
#define OPWRIGHT_EVENTS_OF(source, from)                                                    \
  OPWRIGHT_EVENT(source, S, from, kScalar), OPWRIGHT_EVENT(source, V, from, kVector),       \
      OPWRIGHT_EVENT(source, M, from, kMatrix), OPWRIGHT_EVENT(source, MTE1, from, kMte1),  \
      OPWRIGHT_EVENT(source, MTE2, from, kMte2), OPWRIGHT_EVENT(source, MTE3, from, kMte3), \
      OPWRIGHT_EVENT(source, FIX, from, kFix)
enum class HardEvent : uint8_t {
  OPWRIGHT_EVENTS_OF(S, kScalar),
  OPWRIGHT_EVENTS_OF(V, kVector),
  OPWRIGHT_EVENTS_OF(M, kMatrix),
  OPWRIGHT_EVENTS_OF(MTE1, kMte1),
  OPWRIGHT_EVENTS_OF(MTE2, kMte2),
  OPWRIGHT_EVENTS_OF(MTE3, kMte3),
  OPWRIGHT_EVENTS_OF(FIX, kFix),
  MAX,
};
#undef OPWRIGHT_EVENTS_OF
#undef OPWRIGHT_EVENT

namespace machine {

constexpr Pipe source_of(HardEvent event) { return static_cast<Pipe>(static_cast<int>(event) >> 4); }
constexpr Pipe destination_of(HardEvent event) { return static_cast<Pipe>(static_cast<int>(event) & 0xF); }

}  // namespace machine

enum class CacheMode : uint8_t { CACHE_MODE_DISABLE = 0, CACHE_MODE_NORMAL = 1 };
enum class CacheRwMode : uint8_t { READ = 1, WRITE = 2, RW = 3 };
enum class DataFormat : uint8_t { ND = 0, NZ, NCHW, NC1HWC0, NHWC, NCDHW, NDC1HWC0, FRACTAL_Z_3D, NDHWC };

constexpr int32_t ONE_BLK_SIZE = 32;  // bytes of a block
constexpr int32_t DEFAULT_C0_SIZE = 32;
constexpr int32_t ONE_REPEAT_BYTE_SIZE = 256;
constexpr int32_t BLOCK_CUBE = 16;
constexpr int32_t DEFAULT_BLK_NUM = 8;
constexpr int32_t DEFAULT_BLK_STRIDE = 1;
constexpr uint8_t DEFAULT_REPEAT_STRIDE = 8;
constexpr int32_t MAX_REPEAT_TIMES = 255;
constexpr uint64_t MASK_PLACEHOLDER = 0;
constexpr int32_t K_MAX_SHAPE_DIM = 8;
constexpr int32_t K_MAX_DIM = 8;
constexpr int32_t PAD_SIZE = 4;                       // sides of an image
constexpr int32_t TOTAL_VEC_LOCAL_SIZE = 184 * 1024;  // of the unified buffer, what a kernel should use

}  // namespace AscendC
