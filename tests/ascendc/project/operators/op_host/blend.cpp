// y = weight * x + bias, or weight * x without a bias. Tiling data by macros, with a nested structure and an array; a
// tiling key says whether there is a bias; inputs may be strided.
#include "blend_tiling.h"
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {

static ge::graphStatus Tiling(gert::TilingContext* context) {
  const auto* const attrs = context->GetAttrs();
  if (*attrs->GetInt(1) < 0) return ge::GRAPH_FAILED;
  const auto& shape = context->GetInputShape(0)->GetStorageShape();
  const int64_t total = shape.GetShapeSize();
  const int64_t blocks = *attrs->GetInt(1) > 0 ? *attrs->GetInt(1) : 4;
  const int64_t share = ((total + blocks - 1) / blocks + 31) / 32 * 32;
  BlendTiling tiling;
  tiling.set_rank(static_cast<uint8_t>(shape.GetDimNum()));
  tiling.set_weight(*attrs->GetFloat(0));
  tiling.range.set_total(total);
  tiling.range.set_share(share);
  const int32_t marks[] = {7, 11, 13};
  tiling.set_marks(marks);
  tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
  context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
  context->SetBlockDim(static_cast<uint32_t>(blocks));
  context->SetTilingKey(context->GetOptionalInputShape(1) == nullptr ? 1 : 2);
  context->GetWorkspaceSizes(1)[0] = 1024;
  return ge::GRAPH_SUCCESS;
}

}  // namespace optiling

namespace ge {

static graphStatus InferShape(gert::InferShapeContext* context) {
  *context->GetOutputShape(0) = *context->GetInputShape(0);
  return GRAPH_SUCCESS;
}
static graphStatus InferDataType(gert::InferDataTypeContext* context) {
  return context->SetOutputDataType(0, context->GetInputDataType(0));
}

}  // namespace ge

namespace ops {

class Blend : public OpDef {
 public:
  explicit Blend(const char* name) : OpDef(name) {
    this->Input("x")
        .ParamType(REQUIRED)
        .DataType({ge::DT_FLOAT16, ge::DT_FLOAT})
        .Format({ge::FORMAT_ND, ge::FORMAT_ND})
        .AutoContiguous();
    this->Input("bias").ParamType(OPTIONAL).Follow("x", FollowType::DTYPE).FormatList({ge::FORMAT_ND});
    this->Output("y")
        .ParamType(REQUIRED)
        .DataType({ge::DT_FLOAT16, ge::DT_FLOAT})
        .Format({ge::FORMAT_ND, ge::FORMAT_ND});
    this->Attr("weight").AttrType(OPTIONAL).Float(2.0);
    this->Attr("block_count").AttrType(OPTIONAL).Int(0);
    this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
    this->AICore().SetTiling(optiling::Tiling);
    this->AICore().AddConfig("ascend910b");
  }
};
OP_ADD(Blend);

}  // namespace ops
