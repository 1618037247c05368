// host/lib/matmul/matmul_tiling.h
// Tiling of Matmul: how cores and blocks divide the matrices (TCubeTiling).
#pragma once

#include <algorithm>
#include <cstdint>

#include "ascendc/shared/positions.h"
#include "graph/types.h"
#include "tiling/high_level/data.h"
#include "tiling/platform/platform_ascendc.h"

namespace matmul_tiling {

enum class TPosition : int32_t { OPWRIGHT_POSITIONS, MAX };
enum class CubeFormat : int32_t { OPWRIGHT_CUBE_FORMATS };
enum class DataType : int32_t {
  DT_FLOAT = ge::DT_FLOAT,
  DT_FLOAT16 = ge::DT_FLOAT16,
  DT_INT8 = ge::DT_INT8,
  DT_INT32 = ge::DT_INT32,
  DT_UINT8 = ge::DT_UINT8,
  DT_INT16 = ge::DT_INT16,
  DT_UINT16 = ge::DT_UINT16,
  DT_UINT32 = ge::DT_UINT32,
  DT_INT64 = ge::DT_INT64,
  DT_UINT64 = ge::DT_UINT64,
  DT_BF16 = ge::DT_BF16,
  DT_BFLOAT16 = DT_BF16,
  DT_INT4 = ge::DT_INT4,
};
enum class MatrixTraverse : int32_t { NOSET = 0, FIRSTM, FIRSTN };
enum class MatrixMadType : int32_t { NORMAL = 0, HF32 };
enum class DequantType : int32_t { SCALAR = 0, TENSOR };
enum class ScheduleType : int32_t { INNER_PRODUCT = 0, OUTER_PRODUCT, N_BUFFER_33 };

struct MatmulConfigParams {
  int32_t mmConfigType;
  bool enableL1CacheUB;
  ScheduleType scheduleType;
  MatrixTraverse traverse;
  bool enVecND2NZ;
  MatmulConfigParams(int32_t type = 1, bool cache = false, ScheduleType schedule = ScheduleType::INNER_PRODUCT,
                     MatrixTraverse order = MatrixTraverse::NOSET, bool vector = false)
      : mmConfigType(type), enableL1CacheUB(cache), scheduleType(schedule), traverse(order), enVecND2NZ(vector) {}
};

struct PlatformInfo {
  platform_ascendc::SocVersion socVersion;
  uint64_t l1Size = 0;
  uint64_t l0CSize = 0;
  uint64_t ubSize = 0;
  uint64_t l0ASize = 0;
  uint64_t l0BSize = 0;
  uint64_t btSize = 0;
  uint64_t fbSize = 0;
};

struct SysTilingTempBufSize {
  int32_t ubSize = 0;
  int32_t l1Size = 0;
  int32_t l0cSize = 0;
};

// Bytes of a core's memories.
struct Memories {
  int64_t l1 = 512 * 1024;
  int64_t l0a = 64 * 1024;
  int64_t l0b = 64 * 1024;
  int64_t l0c = 128 * 1024;
  int64_t ub = 192 * 1024;
  int64_t bt = 1024;
};

class MatmulApiTilingBase {
 public:
  MatmulApiTilingBase() = default;
  explicit MatmulApiTilingBase(const platform_ascendc::PlatformAscendC& ascendcPlatform) {
    const auto read = [&](platform_ascendc::CoreMemType memory, int64_t& size) {
      uint64_t bytes = 0;
      ascendcPlatform.GetCoreMemSize(memory, bytes);
      if (bytes != 0) size = static_cast<int64_t>(bytes);
    };
    read(platform_ascendc::CoreMemType::L1, memories_.l1);
    read(platform_ascendc::CoreMemType::L0_A, memories_.l0a);
    read(platform_ascendc::CoreMemType::L0_B, memories_.l0b);
    read(platform_ascendc::CoreMemType::L0_C, memories_.l0c);
    read(platform_ascendc::CoreMemType::UB, memories_.ub);
  }
  explicit MatmulApiTilingBase(const PlatformInfo& platform) {
    const auto take = [](uint64_t bytes, int64_t& size) {
      if (bytes != 0) size = static_cast<int64_t>(bytes);
    };
    take(platform.l1Size, memories_.l1);
    take(platform.l0ASize, memories_.l0a);
    take(platform.l0BSize, memories_.l0b);
    take(platform.l0CSize, memories_.l0c);
    take(platform.ubSize, memories_.ub);
    take(platform.btSize, memories_.bt);
  }
  virtual ~MatmulApiTilingBase() = default;

  int32_t SetAType(TPosition pos, CubeFormat type, DataType dataType, bool isTrans = false) {
    a_ = {pos, type, dataType, isTrans};
    return 0;
  }
  int32_t SetBType(TPosition pos, CubeFormat type, DataType dataType, bool isTrans = false) {
    b_ = {pos, type, dataType, isTrans};
    return 0;
  }
  int32_t SetCType(TPosition pos, CubeFormat type, DataType dataType) {
    c_ = {pos, type, dataType, false};
    return 0;
  }
  int32_t SetBiasType(TPosition pos, CubeFormat type, DataType dataType) {
    bias_ = {pos, type, dataType, false};
    return 0;
  }
  int32_t SetDequantType(DequantType) { return 0; }
  virtual int32_t SetShape(int32_t m, int32_t n, int32_t k) {
    m_ = m;
    n_ = n;
    k_ = k;
    has_shape_ = true;
    return 0;
  }
  int32_t SetOrgShape(int32_t m, int32_t n, int32_t k) { return SetOrgShape(m, n, k, k); }
  int32_t SetOrgShape(int32_t m, int32_t n, int32_t ka, int32_t kb) {
    org_m_ = m;
    org_n_ = n;
    org_ka_ = ka;
    org_kb_ = kb;
    return 0;
  }
  int32_t SetALayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) {
    result_.ALayoutInfoB = b, result_.ALayoutInfoS = s, result_.ALayoutInfoN = n, result_.ALayoutInfoG = g;
    result_.ALayoutInfoD = d;
    return 0;
  }
  int32_t SetBLayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) {
    result_.BLayoutInfoB = b, result_.BLayoutInfoS = s, result_.BLayoutInfoN = n, result_.BLayoutInfoG = g;
    result_.BLayoutInfoD = d;
    return 0;
  }
  int32_t SetCLayout(int32_t b, int32_t s1, int32_t n, int32_t g, int32_t s2) {
    result_.CLayoutInfoB = b, result_.CLayoutInfoS1 = s1, result_.CLayoutInfoN = n, result_.CLayoutInfoG = g;
    result_.CLayoutInfoS2 = s2;
    return 0;
  }
  int32_t SetBatchInfoForNormal(int32_t batchA, int32_t batchB, int32_t m, int32_t n, int32_t k) {
    result_.ALayoutInfoB = batchA;
    result_.BLayoutInfoB = batchB;
    result_.CLayoutInfoB = std::max(batchA, batchB);
    return SetShape(m, n, k);
  }
  int32_t SetBatchNum(int32_t batch) {
    result_.BatchNum = batch;
    return 0;
  }
  int32_t EnableBias(bool isBiasIn = false) {
    has_bias_ = isBiasIn;
    return 0;
  }
  int32_t SetBias(bool isBiasIn = false) { return EnableBias(isBiasIn); }
  int32_t SetFixSplit(int32_t baseMIn = -1, int32_t baseNIn = -1, int32_t baseKIn = -1) {
    fixed_m_ = baseMIn;
    fixed_n_ = baseNIn;
    fixed_k_ = baseKIn;
    return 0;
  }
  int32_t SetBufferSpace(int32_t l1Size = -1, int32_t l0CSize = -1, int32_t ubSize = -1, int32_t btSize = -1) {
    if (l1Size > memories_.l1 || l0CSize > memories_.l0c || ubSize > memories_.ub) return -1;
    if (l1Size >= 0) memories_.l1 = l1Size;
    if (l0CSize >= 0) memories_.l0c = l0CSize;
    if (ubSize >= 0) memories_.ub = ubSize;
    if (btSize >= 0) memories_.bt = btSize;
    return 0;
  }
  int32_t SetTraverse(MatrixTraverse traverse) {
    traverse_ = traverse;
    return 0;
  }
  int32_t SetMadType(MatrixMadType) { return 0; }
  // B is stored with half of its rows.
  int32_t SetSparse(bool isSparseIn = false) {
    sparse_ = isSparseIn;
    return 0;
  }
  int32_t SetSplitRange(int32_t maxBaseM = -1, int32_t maxBaseN = -1, int32_t maxBaseK = -1, int32_t minBaseM = -1,
                        int32_t minBaseN = -1, int32_t minBaseK = -1) {
    most_m_ = maxBaseM, most_n_ = maxBaseN, most_k_ = maxBaseK;
    least_m_ = minBaseM, least_n_ = minBaseN, least_k_ = minBaseK;
    return 0;
  }
  int32_t SetDoubleBuffer(bool, bool, bool, bool, bool = true, bool = true) { return 0; }
  void SetMatmulConfigParams(int32_t mmConfigTypeIn = 1, bool enableL1CacheUBIn = false,
                             ScheduleType scheduleTypeIn = ScheduleType::INNER_PRODUCT,
                             MatrixTraverse traverseIn = MatrixTraverse::NOSET, bool enVecND2NZIn = false) {
    SetMatmulConfigParams(
        MatmulConfigParams(mmConfigTypeIn, enableL1CacheUBIn, scheduleTypeIn, traverseIn, enVecND2NZIn));
  }
  void SetMatmulConfigParams(const MatmulConfigParams& configParams) {
    if (configParams.traverse != MatrixTraverse::NOSET) traverse_ = configParams.traverse;
  }
  bool EnableL1BankConflictOptimise() { return false; }
  int32_t GetBaseM() const { return result_.baseM; }
  int32_t GetBaseN() const { return result_.baseN; }
  int32_t GetBaseK() const { return result_.baseK; }

  // 0, or -1 if no tiling fits what was set.
  int64_t GetTiling(optiling::TCubeTiling& tiling) { return give(tiling); }
  int64_t GetTiling(AscendC::tiling::TCubeTiling& tiling) { return give(tiling); }

 protected:
  struct Type {
    TPosition position = TPosition::GM;
    CubeFormat format = CubeFormat::ND;
    DataType type = DataType::DT_FLOAT16;
    bool turned = false;
  };
  static constexpr int32_t up(int64_t number, int32_t unit) {
    return static_cast<int32_t>((number + unit - 1) / unit * unit);
  }
  static constexpr int32_t parts(int64_t number, int64_t unit) {
    return static_cast<int32_t>((number + unit - 1) / unit);
  }
  static constexpr int32_t bits(DataType type) {
    switch (type) {
      case DataType::DT_INT4:
        return 4;
      case DataType::DT_INT8:
      case DataType::DT_UINT8:
        return 8;
      case DataType::DT_FLOAT:
      case DataType::DT_INT32:
      case DataType::DT_UINT32:
        return 32;
      default:
        return 16;
    }
  }

  // The part of one core: singleCoreM, N, K and usedCoreNum of result_.
  virtual bool divide_cores() {
    result_.usedCoreNum = 1;
    result_.singleCoreM = m_;
    result_.singleCoreN = n_;
    result_.singleCoreK = k_;
    return true;
  }

  int32_t org_m_ = -1, org_n_ = -1, org_ka_ = -1, org_kb_ = -1;
  int32_t m_ = -1, n_ = -1, k_ = -1;
  bool has_shape_ = false;  // SetShape was called
  Memories memories_;
  Type a_, b_, c_, bias_;
  AscendC::tiling::TCubeTiling result_{};

 private:
  template <class Tiling>
  int64_t give(Tiling& tiling) {
    if (!compute()) return -1;
    optiling::copy_tiling(tiling, result_);
    return 0;
  }

  bool compute() {
    if (m_ <= 0) m_ = org_m_;
    if (n_ <= 0) n_ = org_n_;
    if (k_ <= 0) k_ = org_ka_;
    if (m_ <= 0 || n_ <= 0 || k_ <= 0) return false;
    result_.M = org_m_ > 0 ? org_m_ : m_;
    result_.N = org_n_ > 0 ? org_n_ : n_;
    result_.Ka = org_ka_ > 0 ? org_ka_ : k_;
    result_.Kb = org_kb_ > 0 ? org_kb_ : result_.Ka;
    result_.isBias = has_bias_ ? 1 : 0;
    result_.iterateOrder = traverse_ == MatrixTraverse::FIRSTN ? 1 : 0;
    result_.dbL0A = result_.dbL0B = 2;
    result_.dbL0C = 1;
    return divide_cores() && divide_blocks() && fill_l1();
  }

  static int32_t limited(int32_t value, int32_t fixed, int32_t least, int32_t most) {
    if (fixed > 0) return fixed;
    if (most > 0) value = std::min(value, most);
    return least > 0 ? std::max(value, least) : value;
  }

  // baseM, baseN, baseK: results fit in L0C, operands twice in L0A and L0B.
  bool divide_blocks() {
    constexpr int32_t kFractal = 16;
    constexpr int32_t kUsualM = 128;
    constexpr int32_t kUsualN = 256;
    const int32_t single_m = up(result_.singleCoreM, kFractal);
    const int32_t single_n = up(result_.singleCoreN, kFractal);
    const bool narrow = single_n <= kUsualM;
    int32_t base_m = limited(std::min(single_m, narrow ? kUsualN : kUsualM), fixed_m_, least_m_, most_m_);
    int32_t base_n = limited(std::min(single_n, kUsualN), fixed_n_, least_n_, most_n_);
    const int64_t result_space = c_.position == TPosition::VECIN
                                     ? std::min<int64_t>(memories_.l0c, memories_.ub / 2 * 32 / bits(c_.type))
                                     : memories_.l0c;
    while (int64_t{base_m} * base_n * 4 > result_space && fixed_n_ <= 0 && base_n > kFractal)
      base_n = up(base_n / 2, kFractal);
    while (int64_t{base_m} * base_n * 4 > result_space && fixed_m_ <= 0 && base_m > kFractal)
      base_m = up(base_m / 2, kFractal);
    if (int64_t{base_m} * base_n * 4 > memories_.l0c) return false;
    const int32_t unit = std::max(kFractal, 256 / bits(a_.type));
    const int64_t fitting = std::min(memories_.l0a * 8 / (2 * int64_t{base_m} * bits(a_.type)),
                                     memories_.l0b * 8 / (2 * int64_t{base_n} * bits(b_.type)));
    int32_t base_k = static_cast<int32_t>(std::min<int64_t>(fitting / unit * unit, up(result_.singleCoreK, unit)));
    base_k = limited(base_k, fixed_k_, least_k_, most_k_);
    if (base_k <= 0 || base_k > fitting * 2) return false;
    result_.baseM = base_m;
    result_.baseN = base_n;
    result_.baseK = base_k;
    return true;
  }

  // As many blocks along K as L1 holds twice.
  bool fill_l1() {
    const int64_t a_block = int64_t{result_.baseM} * result_.baseK * bits(a_.type) / 8;
    const int64_t b_block = int64_t{result_.baseN} * result_.baseK * bits(b_.type) / 8 / (sparse_ ? 2 : 1);
    const int64_t bias = has_bias_ ? int64_t{result_.baseN} * bits(bias_.type) / 8 : 0;
    const int64_t fitting = (memories_.l1 - bias) / (a_block + b_block);
    if (fitting < 1) return false;
    const int32_t buffers = fitting >= 2 ? 2 : 1;
    const int32_t steps =
        static_cast<int32_t>(std::min<int64_t>(fitting / buffers, parts(result_.singleCoreK, result_.baseK)));
    result_.stepM = result_.stepN = 1;
    result_.stepKa = result_.stepKb = steps;
    result_.depthA1 = result_.depthB1 = steps * buffers;
    result_.shareL1Size = static_cast<int32_t>((a_block + b_block) * steps * buffers + bias);
    result_.shareL0CSize = result_.baseM * result_.baseN * 4;
    result_.shareUbSize = 0;
    return true;
  }

  bool has_bias_ = false;
  bool sparse_ = false;
  MatrixTraverse traverse_ = MatrixTraverse::NOSET;
  int32_t fixed_m_ = -1, fixed_n_ = -1, fixed_k_ = -1;
  int32_t most_m_ = -1, most_n_ = -1, most_k_ = -1;
  int32_t least_m_ = -1, least_n_ = -1, least_k_ = -1;
};

// For one core.
class MatmulApiTiling : public MatmulApiTilingBase {
 public:
  using MatmulApiTilingBase::MatmulApiTilingBase;
};

}  // namespace matmul_tiling

inline int32_t opwright_matmul_space(const AscendC::tiling::TCubeTiling& tiling,
                                     matmul_tiling::SysTilingTempBufSize& bufSize) {
  bufSize = {tiling.shareUbSize, tiling.shareL1Size, tiling.shareL0CSize};
  return 0;
}
inline int32_t opwright_matmul_space(const optiling::TCubeTiling& tiling,
                                     matmul_tiling::SysTilingTempBufSize& bufSize) {
  bufSize = {tiling.get_shareUbSize(), tiling.get_shareL1Size(), tiling.get_shareL0CSize()};
  return 0;
}
inline int32_t MatmulGetTmpBufSize(optiling::TCubeTiling& tiling, matmul_tiling::SysTilingTempBufSize& bufSize) {
  return opwright_matmul_space(tiling, bufSize);
}
inline int32_t MatmulGetTmpBufSizeV2(AscendC::tiling::TCubeTiling& tiling,
                                     matmul_tiling::SysTilingTempBufSize& bufSize) {
  return opwright_matmul_space(tiling, bufSize);
}
