// native/atb/params.h
// The parameters of ATB's operations that torch_npu makes, by the names of ATB's infer_op_params.h. Their bytes are the
// ABI; `reserved` must be 0.
#pragma once

#include "atb/abi.h"

namespace atb::infer {

enum InputLayout : int { TYPE_BSND = 0, TYPE_BNSD = 1 };
enum QuantType : int { QUANT_UNDEFINED = 0, QUANT_INT4 = 1, QUANT_INT8 = 2 };

struct LinearParam {
  bool transposeA;
  bool transposeB;
  bool hasBias;
  aclDataType outDataType;
  bool enAccum;
  uint8_t reserved[23];
};
static_assert(sizeof(LinearParam) == 32 && offsetof(LinearParam, enAccum) == 8);

struct ElewiseParam {
  enum ElewiseType : int { ELEWISE_QUANT_PER_CHANNEL = 17 };
  struct QuantParam {
    float inputScale;
    bool asymmetric;
    int inputOffset;
    uint8_t reserved[20];
  };
  struct MulsParam {
    float varAttr;
    uint8_t reserved[12];
  };
  ElewiseType elewiseType;
  QuantParam quantParam;
  MulsParam mulsParam;
  aclDataType outTensorType;
  uint8_t reserved[8];
};
static_assert(sizeof(ElewiseParam) == 64 && offsetof(ElewiseParam, outTensorType) == 52);

struct RmsNormParam {
  enum RmsNormType : int { RMS_NORM_UNDEFINED = 0, RMS_NORM_NORM = 1, RMS_NORM_PRENORM = 2, RMS_NORM_POSTNORM = 3 };
  struct NormParam {
    QuantType quantType;
    float epsilon;
    double layerNormEps;
    bool rstd;
    int precisionMode;
    int modelType;
    int dynamicQuantType;
    uint8_t reserved[32];
  };
  struct PreNormParam {
    QuantType quantType;
    float epsilon;
    bool hasBias;
    uint8_t reserved[23];
  };
  RmsNormType layerType;
  NormParam normParam;
  PreNormParam preNormParam, postNormParam;
  uint8_t reserved[8];
};
static_assert(offsetof(RmsNormParam, normParam) == 8 && sizeof(RmsNormParam) == 144);

struct GroupTopkParam {
  enum GroupMultiFlag : uint16_t { UNDEFINED = 0, SUM_MULTI_MAX = 1 };
  int32_t groupNum;
  int32_t k;
  GroupMultiFlag groupMultiFlag;
  uint16_t n;
  uint8_t reserved[12];
};
static_assert(sizeof(GroupTopkParam) == 24);

struct PagedAttentionParam {
  enum MaskType : int {
    UNDEFINED = 0,
    MASK_TYPE_NORM = 1,
    MASK_TYPE_ALIBI = 2,
    MASK_TYPE_SPEC = 3,
    MASK_TYPE_MASK_FREE = 4,
    MASK_TYPE_NORM_COMPRESS = 5,
  };
  enum CalcType : int { CALC_TYPE_UNDEFINED = 0, CALC_TYPE_SPEC = 1 };
  int32_t headNum;
  float qkScale;
  int32_t kvHeadNum;
  MaskType maskType;
  bool batchRunStatusEnable;
  int quantType;
  aclDataType outDataType;
  bool hasQuantOffset;
  int compressType;
  CalcType calcType;
  int scaleType;
  InputLayout inputLayout;
  uint32_t mlaVHeadSize;
  uint8_t reserved[68];
};
static_assert(sizeof(PagedAttentionParam) == 120 && offsetof(PagedAttentionParam, mlaVHeadSize) == 48);

struct ReshapeAndCacheParam {
  enum KvCacheCfg : int { K_CACHE_V_CACHE = 0, K_CACHE_V_BYPASS = 1, K_CACHE_V_CACHE_NZ = 2 };
  int compressType;
  KvCacheCfg kvCacheCfg;
  uint8_t reserved[16];
};
static_assert(sizeof(ReshapeAndCacheParam) == 24);

struct RopeParam {
  int32_t rotaryCoeff;
  int32_t cosFormat;
  uint8_t reserved[8];
};
static_assert(sizeof(RopeParam) == 16);

struct SelfAttentionParam {
  enum CalcType : int { UNDEFINED = 0, ENCODER = 1, DECODER = 2, PA_ENCODER = 3, PREFIX_ENCODER = 4 };
  enum KernelType : int { KERNELTYPE_DEFAULT = 0, KERNELTYPE_HIGH_PRECISION = 1, KERNELTYPE_EXP_M8V2 = 2 };
  enum MaskType : int {
    MASK_TYPE_UNDEFINED = 0,
    MASK_TYPE_NORM = 1,
    MASK_TYPE_ALIBI = 2,
    MASK_TYPE_NORM_COMPRESS = 3,
    MASK_TYPE_ALIBI_COMPRESS = 4,
    MASK_TYPE_ALIBI_COMPRESS_SQRT = 5,
    MASK_TYPE_ALIBI_COMPRESS_LEFT_ALIGN = 6,
    MASK_TYPE_SLIDING_WINDOW_NORM = 7,
    MASK_TYPE_SLIDING_WINDOW_COMPRESS = 8,
    MASK_TYPE_CAUSAL_MASK = 9,
  };
  int quantType;
  aclDataType outDataType;
  int32_t headNum;
  int32_t kvHeadNum;
  float qScale;
  float qkScale;
  bool batchRunStatusEnable;
  uint32_t isTriuMask;
  CalcType calcType;
  KernelType kernelType;
  int clampType;
  float clampMin;
  float clampMax;
  MaskType maskType;
  int kvcacheCfg;
  int scaleType;
  InputLayout inputLayout;
  uint32_t mlaVHeadSize;
  int8_t cacheType;
  uint32_t windowSize;
  uint8_t reserved[64];
};
static_assert(sizeof(SelfAttentionParam) == 144 && offsetof(SelfAttentionParam, windowSize) == 76);

}  // namespace atb::infer
