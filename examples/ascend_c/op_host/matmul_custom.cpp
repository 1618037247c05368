// MatmulCustom on the host: c = a @ b + bias with a [M, K], b [K, N] in float16, c and bias [N] in float32.
#include "matmul_custom_tiling.h"
#include "split.h"

namespace optiling {

static ge::graphStatus tile_matmul(gert::TilingContext* context) {
  const gert::Shape& a = context->GetInputShape(0)->GetStorageShape();
  const gert::Shape& b = context->GetInputShape(1)->GetStorageShape();
  if (a.GetDimNum() != 2 || b.GetDimNum() != 2 || a.GetDim(1) != b.GetDim(0)) return ge::GRAPH_FAILED;
  const auto rows = static_cast<int32_t>(a.GetDim(0)), inner = static_cast<int32_t>(a.GetDim(1));
  const auto columns = static_cast<int32_t>(b.GetDim(1));

  const platform_ascendc::PlatformAscendC platform(context->GetPlatformInfo());
  matmul_tiling::MultiCoreMatmulTiling cube(platform);
  cube.SetDim(static_cast<int32_t>(platform.GetCoreNumAic()));
  cube.SetAType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, matmul_tiling::DataType::DT_FLOAT16);
  cube.SetBType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, matmul_tiling::DataType::DT_FLOAT16);
  cube.SetCType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, matmul_tiling::DataType::DT_FLOAT);
  cube.SetBiasType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, matmul_tiling::DataType::DT_FLOAT);
  cube.SetShape(rows, columns, inner);
  cube.SetOrgShape(rows, columns, inner);
  cube.EnableBias(true);
  cube.SetBufferSpace(-1, -1, -1);

  MatmulCustomTilingData tiling;
  if (cube.GetTiling(tiling.cube) == -1) return ge::GRAPH_FAILED;
  context->SetBlockDim(tiling.cube.get_usedCoreNum());
  tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
  context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
  context->GetWorkspaceSizes(1)[0] = platform.GetLibApiWorkSpaceSize();
  return ge::GRAPH_SUCCESS;
}

}  // namespace optiling

namespace ge {

static graphStatus infer_matmul_shape(gert::InferShapeContext* context) {
  gert::Shape* c = context->GetOutputShape(0);
  c->SetDimNum(0);
  c->AppendDim(context->GetInputShape(0)->GetDim(0));
  c->AppendDim(context->GetInputShape(1)->GetDim(1));
  return GRAPH_SUCCESS;
}

static graphStatus infer_matmul_dtype(gert::InferDataTypeContext* context) {
  context->SetOutputDataType(0, DT_FLOAT);
  return GRAPH_SUCCESS;
}

}  // namespace ge

namespace ops {

class MatmulCustom : public OpDef {
 public:
  explicit MatmulCustom(const char* name) : OpDef(name) {
    for (const char* input : {"a", "b"}) {
      this->Input(input).ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND}).AutoContiguous();
    }
    this->Input("bias").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND}).AutoContiguous();
    this->Output("c").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->SetInferShape(ge::infer_matmul_shape).SetInferDataType(ge::infer_matmul_dtype);
    this->AICore().SetTiling(optiling::tile_matmul);
    this->AICore().AddConfig("ascend910b");
  }
};

OP_ADD(MatmulCustom);

}  // namespace ops
