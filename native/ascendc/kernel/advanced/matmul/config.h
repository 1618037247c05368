// native/ascendc/kernel/advanced/matmul/config.h
// Parameters of a Matmul object: types of its matrices, and the configuration. Most of a configuration chooses how
// the hardware moves data, which changes no result; matmul.h names the fields that it reads.
#pragma once

#include "advanced/tilings.h"
#include "ascendc/shared/positions.h"
#include "core/machine.h"
#include "cube/fractal.h"

enum class CubeFormat { OPWRIGHT_CUBE_FORMATS };

enum class LayoutMode { NONE = 0, BSNGD, SBNGD, BNGS1S2, NORMAL };

enum class BatchMode { NONE = 0, BATCH_LESS_THAN_L1, BATCH_LARGE_THAN_L1, SINGLE_LARGE_THAN_L1 };

namespace AscendC {

enum class BatchOutMode { SINGLE_BATCH = 0, MULTI_BATCH, DEFAULT };
enum class IterateMode : uint8_t {
  ITERATE_MODE_NORMAL = 1 << 0,
  ITERATE_MODE_ALL = 1 << 1,
  ITERATE_MODE_BATCH = 1 << 2,
  ITERATE_MODE_N_BATCH = 1 << 3,
  ITERATE_MODE_DEFAULT = 0xFF,
};
enum class IterateOrder { ORDER_M = 0, ORDER_N, UNDEF };
enum class ScheduleType { INNER_PRODUCT = 0, OUTER_PRODUCT, N_BUFFER_33 };
enum class MatmulConfigMode { CONFIG_NORM = 0, CONFIG_MDL, CONFIG_SPECIALMDL, CONFIG_IBSHARE };

template <TPosition POSITION, CubeFormat FORMAT, typename TYPE, bool ISTRANS = false,
          LayoutMode LAYOUT = LayoutMode::NONE, bool IBSHARE = false, TPosition SRCPOS = TPosition::GM>
struct MatmulType {
  static constexpr TPosition pos = POSITION;
  static constexpr CubeFormat format = FORMAT;
  using T = TYPE;
  static constexpr bool isTrans = ISTRANS;
  static constexpr LayoutMode layout = LAYOUT;
  static constexpr bool ibShare = IBSHARE;
  static constexpr TPosition srcPos = SRCPOS;
};

// B with two numbers of each four, and a matrix that says which (cube/sparse.h).
template <TPosition POSITION, TPosition INDEX_POSITION, CubeFormat FORMAT, typename TYPE, bool ISTRANS = false,
          LayoutMode LAYOUT = LayoutMode::NONE, bool IBSHARE = false>
struct SparseMatmulType : MatmulType<POSITION, FORMAT, TYPE, ISTRANS, LAYOUT, IBSHARE> {
  static constexpr TPosition indexPosition = INDEX_POSITION;
};

struct MatmulConfig {
  bool doNorm = false;
  bool doBasicBlock = false;
  bool doMultiDataLoad = false;
  uint32_t basicM = 0;
  uint32_t basicN = 0;
  uint32_t basicK = 0;
  bool intrinsicsCheck = false;
  bool isNBatch = false;
  bool enVecND2NZ = false;
  bool doSpecialBasicBlock = false;
  uint32_t doMTE2Preload = 0;
  uint32_t singleCoreM = 0;
  uint32_t singleCoreN = 0;
  uint32_t singleCoreK = 0;
  uint32_t stepM = 0;
  uint32_t stepN = 0;
  uint32_t baseMN = 0;
  uint32_t singleCoreMN = 0;
  bool enUnitFlag = true;
  bool isPerTensor = false;
  bool hasAntiQuantOffset = false;
  bool doIBShareNorm = false;
  bool doSpecialMDL = false;
  bool enableInit = true;
  BatchMode batchMode = BatchMode::NONE;
  bool enableEnd = true;
  bool enableGetTensorC = true;
  bool enableSetOrgShape = true;
  bool enableSetBias = true;
  bool enableSetTail = true;
  bool enableQuantVector = true;
  bool enableSetDefineData = true;
  uint8_t iterateMode = 0xFF;
  bool enableReuse = true;
  bool enableUBReuse = true;
  bool enableL1CacheUB = false;
  bool intraBlockPartSum = false;
  IterateOrder iterateOrder = IterateOrder::UNDEF;
  ScheduleType scheduleType = ScheduleType::INNER_PRODUCT;
  bool enableDoubleCache = false;
  bool isBiasBatch = true;
  bool enableStaticPadZeros = false;
  bool isPartialOutput = false;
  bool enableMixDualMaster = false;
  bool isA2B2Shared = false;
  bool isEnableChannelSplit = false;
  bool enableKdimReorderLoad = false;
  bool isCO1Shared = false;
  uint32_t sharedCO1BufferSize = 64 * 1024;
  BatchOutMode bmmOutMode = BatchOutMode::SINGLE_BATCH;
  bool enableL1BankConflictOptimise = false;
  bool enableRelu = false;
};

struct MatmulShapeParams {
  uint32_t singleCoreM = 0;
  uint32_t singleCoreN = 0;
  uint32_t singleCoreK = 0;
  uint32_t basicM = 0;
  uint32_t basicN = 0;
  uint32_t basicK = 0;
};
struct MatmulQuantParams {
  bool isPerTensor = false;
  bool hasAntiQuantOffset = false;
};
struct MatmulBatchParams {
  bool isNBatch = false;
  BatchMode batchMode = BatchMode::BATCH_LESS_THAN_L1;
  bool isBiasBatch = true;
  BatchOutMode bmmOutMode = BatchOutMode::SINGLE_BATCH;
};
struct MatmulFuncParams {
  bool intrinsicsLimit = false;
  bool enVecND2NZ = false;
  bool enableDoubleCache = false;
  bool enableL1CacheUB = false;
  uint32_t doMTE2Preload = 0;
  IterateOrder iterateOrder = IterateOrder::UNDEF;
  ScheduleType scheduleType = ScheduleType::INNER_PRODUCT;
  bool enableReuse = true;
  bool enableUBReuse = true;
  bool isPartialOutput = false;
  bool isA2B2Shared = false;
  bool isEnableChannelSplit = false;
  bool enableKdimReorderLoad = false;
  bool enableL1BankConflictOptimise = false;
};

constexpr MatmulConfig GetNormalConfig(const bool intrinsicsLimit = false, const bool batchLoop = false,
                                       const bool isVecND2NZ = false,
                                       const BatchMode bmmMode = BatchMode::BATCH_LESS_THAN_L1,
                                       const bool isMsgReuse = true,
                                       const IterateOrder iterateOrder = IterateOrder::UNDEF,
                                       const ScheduleType scheduleType = ScheduleType::INNER_PRODUCT,
                                       const bool enUnitFlag = true, const bool enableMixDualMaster = false,
                                       const BatchOutMode bmmOutMode = BatchOutMode::SINGLE_BATCH) {
  MatmulConfig config;
  config.doNorm = true;
  config.intrinsicsCheck = intrinsicsLimit;
  config.isNBatch = batchLoop;
  config.enVecND2NZ = isVecND2NZ;
  config.batchMode = bmmMode;
  config.enableReuse = isMsgReuse;
  config.iterateOrder = iterateOrder;
  config.scheduleType = scheduleType;
  config.enUnitFlag = enUnitFlag;
  config.enableMixDualMaster = enableMixDualMaster;
  config.bmmOutMode = bmmOutMode;
  return config;
}

constexpr MatmulConfig GetMDLConfig(const bool intrinsicsLimit = false, const bool batchLoop = false,
                                    const uint32_t doMTE2Preload = 0, const bool isVecND2NZ = false,
                                    bool isPerTensor = false, bool hasAntiQuantOffset = false,
                                    const bool enUnitFlag = false, const bool isMsgReuse = true,
                                    const bool enableUBReuse = true, const bool enableL1CacheUB = false,
                                    const bool enableMixDualMaster = false, const bool enableKdimReorderLoad = false) {
  MatmulConfig config;
  config.doMultiDataLoad = true;
  config.intrinsicsCheck = intrinsicsLimit;
  config.isNBatch = batchLoop;
  config.doMTE2Preload = doMTE2Preload;
  config.enVecND2NZ = isVecND2NZ;
  config.isPerTensor = isPerTensor;
  config.hasAntiQuantOffset = hasAntiQuantOffset;
  config.enUnitFlag = enUnitFlag;
  config.enableReuse = isMsgReuse;
  config.enableUBReuse = enableUBReuse;
  config.enableL1CacheUB = enableL1CacheUB;
  config.enableMixDualMaster = enableMixDualMaster;
  config.enableKdimReorderLoad = enableKdimReorderLoad;
  return config;
}

constexpr MatmulConfig GetSpecialMDLConfig(const bool intrinsicsLimit = false, const bool batchLoop = false,
                                           const uint32_t doMTE2Preload = 0, const bool isVecND2NZ = false,
                                           bool isPerTensor = false, bool hasAntiQuantOffset = false) {
  MatmulConfig config =
      GetMDLConfig(intrinsicsLimit, batchLoop, doMTE2Preload, isVecND2NZ, isPerTensor, hasAntiQuantOffset);
  config.doMultiDataLoad = false;
  config.doSpecialMDL = true;
  return config;
}

constexpr MatmulConfig GetIBShareNormConfig(const bool intrinsicsLimit = false, const bool batchLoop = false,
                                            const bool isVecND2NZ = false,
                                            const BatchMode bmmMode = BatchMode::BATCH_LESS_THAN_L1,
                                            const bool isDoubleCache = false, const bool enUnitFlag = true) {
  MatmulConfig config = GetNormalConfig(intrinsicsLimit, batchLoop, isVecND2NZ, bmmMode);
  config.doNorm = false;
  config.doIBShareNorm = true;
  config.enableDoubleCache = isDoubleCache;
  config.enUnitFlag = enUnitFlag;
  return config;
}

constexpr MatmulConfig GetBasicConfig(const uint32_t basicM, const uint32_t basicN, const uint32_t basicK,
                                      const bool intrinsicsLimit = false, const bool batchLoop = false,
                                      const BatchMode bmmMode = BatchMode::BATCH_LESS_THAN_L1) {
  MatmulConfig config = GetNormalConfig(intrinsicsLimit, batchLoop, false, bmmMode);
  config.doNorm = false;
  config.doBasicBlock = true;
  config.basicM = basicM;
  config.basicN = basicN;
  config.basicK = basicK;
  return config;
}

namespace machine {

// The blocks of C that a Matmul computes: all, or those that do not lie wholly on one side of the diagonal.
enum class Triangle : uint8_t { kNone, kUpper, kLower };

constexpr void apply(MatmulConfig& config, const MatmulShapeParams& p) {
  config.singleCoreM = p.singleCoreM;
  config.singleCoreN = p.singleCoreN;
  config.singleCoreK = p.singleCoreK;
  config.basicM = p.basicM;
  config.basicN = p.basicN;
  config.basicK = p.basicK;
}
constexpr void apply(MatmulConfig& config, const MatmulQuantParams& p) {
  config.isPerTensor = p.isPerTensor;
  config.hasAntiQuantOffset = p.hasAntiQuantOffset;
}
constexpr void apply(MatmulConfig& config, const MatmulBatchParams& p) {
  config.isNBatch = p.isNBatch;
  config.batchMode = p.batchMode;
  config.isBiasBatch = p.isBiasBatch;
  config.bmmOutMode = p.bmmOutMode;
}
constexpr void apply(MatmulConfig& config, const MatmulFuncParams& p) {
  config.intrinsicsCheck = p.intrinsicsLimit;
  config.enVecND2NZ = p.enVecND2NZ;
  config.enableDoubleCache = p.enableDoubleCache;
  config.enableL1CacheUB = p.enableL1CacheUB;
  config.doMTE2Preload = p.doMTE2Preload;
  config.iterateOrder = p.iterateOrder;
  config.scheduleType = p.scheduleType;
  config.enableReuse = p.enableReuse;
  config.enableUBReuse = p.enableUBReuse;
  config.isPartialOutput = p.isPartialOutput;
  config.isA2B2Shared = p.isA2B2Shared;
  config.isEnableChannelSplit = p.isEnableChannelSplit;
  config.enableKdimReorderLoad = p.enableKdimReorderLoad;
  config.enableL1BankConflictOptimise = p.enableL1BankConflictOptimise;
}

}  // namespace machine

template <MatmulConfigMode configMode, typename... ArgTypes>
constexpr MatmulConfig GetMMConfig(ArgTypes&&... args) {
  MatmulConfig config = configMode == MatmulConfigMode::CONFIG_MDL          ? GetMDLConfig()
                        : configMode == MatmulConfigMode::CONFIG_SPECIALMDL ? GetSpecialMDLConfig()
                        : configMode == MatmulConfigMode::CONFIG_IBSHARE    ? GetIBShareNormConfig()
                                                                            : GetNormalConfig();
  (machine::apply(config, args), ...);
  return config;
}

inline constexpr MatmulConfig CFG_NORM = GetNormalConfig();
inline constexpr MatmulConfig CFG_MDL = GetMDLConfig();
inline constexpr MatmulConfig CFG_IBSHARE_NORM = GetIBShareNormConfig();
inline constexpr MatmulConfig MM_CFG_BB = GetBasicConfig(128, 128, 128);

// Tiling that is a constant of the kernel, with its configuration. A field that is 0 comes from the run-time tiling.
struct MatmulApiStaticTiling : tiling::TCubeTiling {
  MatmulConfig cfg{};
};

template <class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE>
constexpr MatmulApiStaticTiling GetMatmulApiTiling(const MatmulConfig& mmCFG, int32_t l1Size = 512 * 1024) {
  static_cast<void>(l1Size);
  MatmulApiStaticTiling result;
  result.cfg = mmCFG;
  result.M = result.singleCoreM = static_cast<int32_t>(mmCFG.singleCoreM);
  result.N = result.singleCoreN = static_cast<int32_t>(mmCFG.singleCoreN);
  result.Ka = result.Kb = result.singleCoreK = static_cast<int32_t>(mmCFG.singleCoreK);
  result.baseM = static_cast<int32_t>(mmCFG.basicM);
  result.baseN = static_cast<int32_t>(mmCFG.basicN);
  result.baseK = static_cast<int32_t>(mmCFG.basicK);
  result.stepM = result.stepN = result.stepKa = result.stepKb = 1;
  result.depthA1 = result.depthB1 = 1;
  result.dbL0A = result.dbL0B = 2;
  result.dbL0C = 1;
  result.isBias = mmCFG.enableSetBias ? 1 : 0;
  return result;
}

// Functions that move the matrices instead of Matmul's own.
template <auto copyOut = nullptr, auto copyA1 = nullptr, auto copyB1 = nullptr>
struct MatmulCallBackFunc {
  static constexpr auto kCopyA = copyA1;
  static constexpr auto kCopyB = copyB1;
  static constexpr bool kCopiesA = !std::is_same_v<decltype(copyA1), std::nullptr_t>;
  static constexpr bool kCopiesB = !std::is_same_v<decltype(copyB1), std::nullptr_t>;
  static constexpr bool kCopiesOut = !std::is_same_v<decltype(copyOut), std::nullptr_t>;
};

// Which blocks of baseM x baseN are computed. N_BUFFER_33 is a way to hold them in L1, which changes no result.
template <const auto& = CFG_NORM, typename...>
struct MatmulPolicy {
  static constexpr machine::Triangle kTriangle = machine::Triangle::kNone;
};
namespace Impl {

inline constexpr int32_t QUEUE_DEPTH = 1;

namespace Detail {

template <const auto& = CFG_NORM, typename...>
struct NBuffer33MatmulPolicy : MatmulPolicy<> {};
template <const auto& = CFG_NORM, typename...>
struct TrianUpperMatmulPolicy {
  static constexpr machine::Triangle kTriangle = machine::Triangle::kUpper;
};
template <const auto& = CFG_NORM, typename...>
struct TrianLowerMatmulPolicy {
  static constexpr machine::Triangle kTriangle = machine::Triangle::kLower;
};

}  // namespace Detail
}  // namespace Impl

// The type in which products of numbers are summed, or of the elements of a MatmulType.
template <class Number, class = void>
struct GetMmDstType {
  using Type = machine::Accumulator<Number>;
};
template <class A_TYPE>
struct GetMmDstType<A_TYPE, std::void_t<typename A_TYPE::T>> {
  using Type = machine::Accumulator<typename A_TYPE::T>;
};

struct MatrixOffset {
  int32_t offset;
  int32_t row, col;
  int32_t height, width;
};

}  // namespace AscendC

// These have no namespace in kernels.
using AscendC::BatchOutMode;
using AscendC::CFG_IBSHARE_NORM;
using AscendC::CFG_MDL;
using AscendC::CFG_NORM;
using AscendC::GetBasicConfig;
using AscendC::GetIBShareNormConfig;
using AscendC::GetMDLConfig;
using AscendC::GetMMConfig;
using AscendC::GetNormalConfig;
using AscendC::GetSpecialMDLConfig;
using AscendC::IterateMode;
using AscendC::IterateOrder;
using AscendC::MatmulApiStaticTiling;
using AscendC::MatmulBatchParams;
using AscendC::MatmulConfig;
using AscendC::MatmulConfigMode;
using AscendC::MatmulFuncParams;
using AscendC::MatmulQuantParams;
using AscendC::MatmulShapeParams;
using AscendC::MM_CFG_BB;
using AscendC::ScheduleType;
