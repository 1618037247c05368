// Operators with a list of tensors, an input that is an output, values that the host reads, scalars, and a template.
#include <numeric>

#include "../op_kernel/lists_tiling.h"
#include "../op_kernel/power_key.h"
#include "register/op_config_registry.h"
#include "register/op_def_registry.h"
#include "register/op_impl_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace {

ge::graphStatus SumTiling(gert::TilingContext* context) {
  auto* const data = context->GetTilingData<CountTiling>();
  data->count = context->GetInputShape(0)->GetOriginShape().GetShapeSize();
  context->SetBlockDim(1);
  context->SetNeedAtomic(true);
  return ge::GRAPH_SUCCESS;
}

ge::graphStatus FillTiling(gert::TilingContext* context) {
  auto* const data = context->GetTilingData<CountTiling>();
  const int64_t count = context->GetInputShape(0)->GetOriginShape().GetShapeSize();
  // As sources do that rely on what CANN's headers include.
  if (memset_s(data, sizeof *data, 0, sizeof *data) != EOK) return ge::GRAPH_FAILED;
  if (memcpy_s(&data->count, sizeof data->count, &count, sizeof count) != EOK) return ge::GRAPH_FAILED;
  context->SetBlockDim(1);
  context->SetNeedAtomic(true);
  return ge::GRAPH_SUCCESS;
}

// Each element is multiplied by the sum of the values.
ge::graphStatus ScaleTiling(gert::TilingContext* context) {
  const gert::Tensor* const values = context->GetInputTensor(1);
  const auto* const offsets = context->GetAttrs()->GetListFloat(0);
  auto* const data = context->GetTilingData<ScaleTilingData>();
  data->count = context->GetInputShape(0)->GetOriginShape().GetShapeSize();
  data->values = values->GetShapeSize();
  const auto* const first = values->GetData<int64_t>();
  if (first == nullptr) return ge::GRAPH_FAILED;
  data->factor = std::accumulate(first, first + values->GetShapeSize(), int64_t{0});
  data->offset = 0;
  for (size_t i = 0; i < offsets->GetSize(); ++i) data->offset += offsets->GetData()[i];
  context->SetSimdNumBlocks(1);
  return ge::GRAPH_SUCCESS;
}

struct PowerInfo {
  uint32_t cores = 0;
};

ge::graphStatus PowerParse(gert::TilingParseContext* context) {
  context->GetCompiledInfo<PowerInfo>()->cores =
      platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetCoreNumAiv();
  return ge::GRAPH_SUCCESS;
}

ge::graphStatus PowerTiling(gert::TilingContext* context) {
  auto* const data = context->GetTilingData<CountTiling>();
  data->count = context->GetInputShape(0)->GetOriginShape().GetShapeSize();
  context->SetBlockDim(context->GetCompileInfo<PowerInfo>()->cores > 0 ? 1 : 0);
  const auto dtype = static_cast<uint32_t>(context->GetInputDesc(0)->GetDataType());
  ASCENDC_TPL_SEL_PARAM(context, dtype, *context->GetAttrs()->GetInt(0), *context->GetAttrs()->GetBool(1));
  return ge::GRAPH_SUCCESS;
}
IMPL_OP_OPTILING(PowerOf).Tiling(PowerTiling).TilingParse<PowerInfo>(PowerParse);

}  // namespace

namespace ops {

class ListSum : public OpDef {
 public:
  explicit ListSum(const char* name) : OpDef(name) {
    this->Input("parts").ParamType(DYNAMIC).DataTypeList({ge::DT_FLOAT}).FormatList({ge::FORMAT_ND});
    this->Output("sum").ParamType(REQUIRED).DataTypeList({ge::DT_FLOAT}).FormatList({ge::FORMAT_ND}).InitValue(0);
    this->AICore().SetTiling(SumTiling);
  }
};
OP_ADD(ListSum);
REGISTER_OP_AICORE_CONFIG(ListSum, ascend910b, []() { return OpAICoreConfig("ascend910b"); });

class ListFill : public OpDef {
 public:
  explicit ListFill(const char* name) : OpDef(name) {
    this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT, ge::DT_INT32}).FormatList({ge::FORMAT_ND});
    this->Output("outs")
        .ParamType(DYNAMIC)
        .DataType({ge::DT_FLOAT, ge::DT_INT32})
        .FormatList({ge::FORMAT_ND, ge::FORMAT_NCHW})
        .InitValue({ScalarVar(ScalarType::FLOAT32, 1.5f), ScalarVar(ScalarType::INT32, 7)});
    this->AICore().SetTiling(FillTiling);
    this->AICore().AddConfig("ascend910b");
  }
};
OP_ADD(ListFill);

class ScaleBy : public OpDef {
 public:
  explicit ScaleBy(const char* name) : OpDef(name) {
    this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Input("values").ParamType(REQUIRED).DataType({ge::DT_INT64}).Format({ge::FORMAT_ND}).ValueDepend(OPTIONAL);
    this->Input("shift").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND}).Scalar().To("x");
    this->Output("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Attr("offsets").AttrType(OPTIONAL).ListFloat({1.5f, 0.5f});
    this->AICore().SetTiling(ScaleTiling);
    this->AICore().AddConfig("ascend910b");
  }
};
OP_ADD(ScaleBy);

class PowerOf : public OpDef {
 public:
  explicit PowerOf(const char* name) : OpDef(name) {
    this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT, ge::DT_INT32}).FormatList({ge::FORMAT_ND});
    this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT, ge::DT_INT32}).FormatList({ge::FORMAT_ND});
    this->Attr("exponent").AttrType(REQUIRED).Int();
    this->Attr("negate").AttrType(OPTIONAL).Bool(false);
    OpAICoreConfig config;
    config.DynamicShapeSupportFlag(true).ExtendCfgInfo("opFile.value", "power_kernel");
    this->AICore().AddConfig("ascend910b", config);
  }
};
OP_ADD(PowerOf);

}  // namespace ops
