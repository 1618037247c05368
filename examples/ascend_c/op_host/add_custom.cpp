// AddCustom on the host: z = x + y.
#include "add_custom_tiling.h"
#include "split.h"

namespace optiling {

static ge::graphStatus tile_add(gert::TilingContext* context) {
  const uint64_t total = context->GetInputShape(0)->GetStorageShape().GetShapeSize();
  const uint32_t bytes = ge::GetSizeByDataType(context->GetInputDesc(0)->GetDataType());
  const samples::Cores cores = samples::cores_of(context);
  const samples::Pieces pieces = samples::pieces_of(total, bytes, cores.vector);

  AddCustomTilingData tiling;
  tiling.set_total(total);
  tiling.set_piece(pieces.each);
  // Two buffers for each of x, y and z.
  const uint64_t room = cores.local_bytes / 6 / samples::kBurst * samples::kBurst;
  tiling.set_tile(static_cast<uint32_t>(std::min<uint64_t>(room / bytes, 8192)));
  context->SetBlockDim(pieces.blocks);
  tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
  context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
  context->GetWorkspaceSizes(1)[0] = 0;
  return ge::GRAPH_SUCCESS;
}

}  // namespace optiling

namespace ge {

static graphStatus infer_shape(gert::InferShapeContext* context) {
  *context->GetOutputShape(0) = *context->GetInputShape(0);
  return GRAPH_SUCCESS;
}

static graphStatus infer_dtype(gert::InferDataTypeContext* context) {
  context->SetOutputDataType(0, context->GetInputDataType(0));
  return GRAPH_SUCCESS;
}

}  // namespace ge

namespace ops {

class AddCustom : public OpDef {
 public:
  explicit AddCustom(const char* name) : OpDef(name) {
    for (const char* input : {"x", "y"}) {
      this->Input(input)
          .ParamType(REQUIRED)
          .DataType({ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_INT32})
          .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND})
          .AutoContiguous();
    }
    this->Output("z")
        .ParamType(REQUIRED)
        .DataType({ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_INT32})
        .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND});
    this->SetInferShape(ge::infer_shape).SetInferDataType(ge::infer_dtype);
    this->AICore().SetTiling(optiling::tile_add);
    this->AICore().AddConfig("ascend910b");
  }
};

OP_ADD(AddCustom);

}  // namespace ops
