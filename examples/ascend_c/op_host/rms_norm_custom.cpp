// RmsNormCustom on the host: y = x / sqrt(mean(x^2) + eps) * gamma along the last dimension, and rstd of each row.
#include "rms_norm_custom_tiling.h"
#include "split.h"

namespace optiling {

static ge::graphStatus tile_rms_norm(gert::TilingContext* context) {
  const gert::Shape& shape = context->GetInputShape(0)->GetStorageShape();
  const uint64_t width = shape.GetDim(shape.GetDimNum() - 1);
  const uint64_t rows = width == 0 ? 0 : shape.GetShapeSize() / width;
  const samples::Cores cores = samples::cores_of(context);
  // A row lies in local memory: in, out (two buffers each of T), gamma, and three rows of float32.
  const uint32_t bytes = ge::GetSizeByDataType(context->GetInputDesc(0)->GetDataType());
  const uint64_t need = samples::up_to(width * bytes, samples::kBurst) * 5 + samples::up_to(width * 4, 256) * 3 + 1024;
  if (width == 0 || need > cores.local_bytes) return ge::GRAPH_FAILED;

  RmsNormCustomTilingData tiling;
  const uint64_t each = std::max<uint64_t>((rows + cores.vector - 1) / cores.vector, 1);
  tiling.set_rows(rows);
  tiling.set_rows_of_block(each);
  tiling.set_width(static_cast<uint32_t>(width));
  tiling.set_eps(*context->GetAttrs()->GetAttrPointer<float>(0));
  context->SetBlockDim(static_cast<uint32_t>(std::max<uint64_t>((rows + each - 1) / each, 1)));
  tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
  context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
  context->GetWorkspaceSizes(1)[0] = 0;
  return ge::GRAPH_SUCCESS;
}

}  // namespace optiling

namespace ge {

static graphStatus infer_rms_norm_shape(gert::InferShapeContext* context) {
  const gert::Shape* x = context->GetInputShape(0);
  *context->GetOutputShape(0) = *x;
  *context->GetOutputShape(1) = *x;
  context->GetOutputShape(1)->SetDim(x->GetDimNum() - 1, 1);
  return GRAPH_SUCCESS;
}

static graphStatus infer_rms_norm_dtype(gert::InferDataTypeContext* context) {
  context->SetOutputDataType(0, context->GetInputDataType(0));
  context->SetOutputDataType(1, DT_FLOAT);
  return GRAPH_SUCCESS;
}

}  // namespace ge

namespace ops {

class RmsNormCustom : public OpDef {
 public:
  explicit RmsNormCustom(const char* name) : OpDef(name) {
    for (const char* input : {"x", "gamma"}) {
      this->Input(input)
          .ParamType(REQUIRED)
          .DataType({ge::DT_FLOAT16, ge::DT_FLOAT})
          .Format({ge::FORMAT_ND, ge::FORMAT_ND})
          .AutoContiguous();
    }
    this->Output("y")
        .ParamType(REQUIRED)
        .DataType({ge::DT_FLOAT16, ge::DT_FLOAT})
        .Format({ge::FORMAT_ND, ge::FORMAT_ND});
    this->Output("rstd")
        .ParamType(REQUIRED)
        .DataType({ge::DT_FLOAT, ge::DT_FLOAT})
        .Format({ge::FORMAT_ND, ge::FORMAT_ND});
    this->Attr("eps").AttrType(OPTIONAL).Float(1e-6);
    this->SetInferShape(ge::infer_rms_norm_shape).SetInferDataType(ge::infer_rms_norm_dtype);
    this->AICore().SetTiling(optiling::tile_rms_norm);
    this->AICore().AddConfig("ascend910b");
  }
};

OP_ADD(RmsNormCustom);

}  // namespace ops
