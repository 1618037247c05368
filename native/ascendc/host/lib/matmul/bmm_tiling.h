// host/lib/matmul/bmm_tiling.h
// Tiling of Matmul over several cores, and of batches.
#pragma once

#include "lib/matmul/core_split.h"
#include "lib/matmul/matmul_tiling.h"

namespace matmul_tiling {

class MultiCoreMatmulTiling : public MatmulApiTilingBase {
 public:
  using MatmulApiTilingBase::MatmulApiTilingBase;

  int32_t SetDim(int32_t dim) {
    if (dim <= 0) return -1;
    cores_ = dim;
    return 0;
  }
  int32_t SetSingleShape(int32_t singleMIn = -1, int32_t singleNIn = -1, int32_t singleKIn = -1) {
    single_m_ = singleMIn;
    single_n_ = singleNIn;
    single_k_ = singleKIn;
    return 0;
  }
  int32_t SetSingleRange(int32_t maxM = -1, int32_t maxN = -1, int32_t maxK = -1, int32_t minM = -1, int32_t minN = -1,
                         int32_t minK = -1) {
    most_ = {maxM, maxN, maxK};
    least_ = {minM, minN, minK};
    return 0;
  }
  int32_t SetAlignSplit(int32_t alignM, int32_t alignN, int32_t alignK) {
    align_ = {alignM, alignN, alignK};
    return 0;
  }
  void EnableMultiCoreSplitK(bool flag) { split_k_ = flag; }
  void SetSplitK(bool flag) { split_k_ = flag; }
  int32_t GetSingleShape(int32_t& shapeM, int32_t& shapeN, int32_t& shapeK) {
    shapeM = result_.singleCoreM;
    shapeN = result_.singleCoreN;
    shapeK = result_.singleCoreK;
    return 0;
  }
  int32_t GetCoreNum(int32_t& dim, int32_t& mDim, int32_t& nDim) {
    dim = result_.usedCoreNum;
    mDim = m_dim_;
    nDim = n_dim_;
    return 0;
  }

 protected:
  bool divide_cores() override {
    if (has_shape_ && !split_k_ && is_free()) {
      constexpr int32_t kFractal = 16;
      const CoreSplit split =
          split_over_cores({parts(m_, kFractal), parts(n_, kFractal), parts(k_, 256 / bits(a_.type)), cores_, a_.turned,
                            b_.turned, memories_.l0a, memories_.l0c, memories_.l1});
      const Extent m = along(m_, split.m, -1, align_.m, -1, -1);
      const Extent n = along(n_, split.n, -1, align_.n, -1, -1);
      m_dim_ = m.parts;
      n_dim_ = n.parts;
      result_.singleCoreM = m.size;
      result_.singleCoreN = n.size;
      result_.singleCoreK = k_;
      result_.usedCoreNum = m.parts * n.parts;
      return true;
    }
    Extent best = along(m_, 1, single_m_, align_.m, most_.m, least_.m);
    Extent best_n = along(n_, 1, single_n_, align_.n, most_.n, least_.n);
    int64_t best_cost = INT64_MAX;
    // The most parts of M first, so that M is divided where it makes no difference, as the samples of asc-devkit
    // expect.
    for (int32_t m_parts = cores_; m_parts >= 1; --m_parts) {
      const Extent m = along(m_, m_parts, single_m_, align_.m, most_.m, least_.m);
      const Extent n = along(n_, cores_ / m_parts, single_n_, align_.n, most_.n, least_.n);
      if (int64_t{m.parts} * n.parts > cores_) continue;
      // The products of the busiest core come first, then its reads.
      const int64_t cost = int64_t{m.size} * n.size * 4096 + m.size + n.size;
      if (cost >= best_cost) continue;
      best_cost = cost;
      best = m;
      best_n = n;
    }
    if (best_cost == INT64_MAX) return false;  // the single shape asks for more cores than there are
    const int32_t left = cores_ / (best.parts * best_n.parts);
    const Extent k = along(k_, split_k_ ? left : 1, single_k_, align_.k, most_.k, least_.k);
    if (int64_t{k.parts} * best.parts * best_n.parts > cores_) return false;
    m_dim_ = best.parts;
    n_dim_ = best_n.parts;
    result_.singleCoreM = best.size;
    result_.singleCoreN = best_n.size;
    result_.singleCoreK = k.size;
    result_.usedCoreNum = best.parts * best_n.parts * k.parts;
    return true;
  }

 private:
  struct Extent {
    int32_t size;
    int32_t parts;
  };
  struct Sizes {
    int32_t m = -1, n = -1, k = -1;
    bool any() const { return m > 0 || n > 0 || k > 0; }
  };
  // Whether the program sets no size of a core's share.
  bool is_free() const { return single_m_ <= 0 && single_n_ <= 0 && single_k_ <= 0 && !most_.any() && !least_.any(); }
  // `all` in at most `most_parts` pieces of whole fractals.
  static Extent along(int32_t all, int32_t most_parts, int32_t fixed, int32_t align, int32_t most, int32_t least) {
    constexpr int32_t kFractal = 16;
    if (fixed > 0) return {fixed, parts(all, fixed)};
    int32_t size = most_parts <= 1 ? all : up(parts(all, most_parts), std::max(kFractal, align));
    if (most > 0) size = std::min(size, most);
    if (least > 0) size = std::max(size, least);
    size = std::min(size, all);
    return {size, parts(all, size)};
  }

  int32_t cores_ = 1;
  int32_t single_m_ = -1, single_n_ = -1, single_k_ = -1;
  Sizes most_, least_, align_;
  bool split_k_ = false;
  int32_t m_dim_ = 1, n_dim_ = 1;
};

class BatchMatmulTiling : public MatmulApiTilingBase {
 public:
  using MatmulApiTilingBase::MatmulApiTilingBase;
  int32_t SetSingleShape(int32_t singleMIn = -1, int32_t singleNIn = -1, int32_t singleKIn = -1) {
    return SetShape(singleMIn > 0 ? singleMIn : m_, singleNIn > 0 ? singleNIn : n_, singleKIn > 0 ? singleKIn : k_);
  }
  int32_t GetCoreNum(int32_t& dim, int32_t& mDim, int32_t& nDim, int32_t& batchCoreM, int32_t& batchCoreN) {
    dim = mDim = nDim = batchCoreM = batchCoreN = 1;
    return 0;
  }
};

}  // namespace matmul_tiling

inline int32_t MultiCoreMatmulGetTmpBufSize(optiling::TCubeTiling& tiling,
                                            matmul_tiling::SysTilingTempBufSize& bufSize) {
  return opwright_matmul_space(tiling, bufSize);
}
inline int32_t MultiCoreMatmulGetTmpBufSizeV2(AscendC::tiling::TCubeTiling& tiling,
                                              matmul_tiling::SysTilingTempBufSize& bufSize) {
  return opwright_matmul_space(tiling, bufSize);
}
inline int32_t BatchMatmulGetTmpBufSize(optiling::TCubeTiling& tiling, matmul_tiling::SysTilingTempBufSize& bufSize) {
  return opwright_matmul_space(tiling, bufSize);
}
inline int32_t BatchMatmulGetTmpBufSizeV2(AscendC::tiling::TCubeTiling& tiling,
                                          matmul_tiling::SysTilingTempBufSize& bufSize) {
  return opwright_matmul_space(tiling, bufSize);
}
