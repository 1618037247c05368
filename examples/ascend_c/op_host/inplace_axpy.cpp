// InplaceAxpy on the host: y += alpha * x. An input and an output of one name are one tensor, aclnn's `yRef`.
#include "inplace_axpy_tiling.h"
#include "split.h"

namespace optiling {

static ge::graphStatus tile_axpy(gert::TilingContext* context) {
  const uint64_t total = context->GetInputShape(0)->GetStorageShape().GetShapeSize();
  const uint32_t bytes = ge::GetSizeByDataType(context->GetInputDesc(0)->GetDataType());
  const samples::Cores cores = samples::cores_of(context);
  const samples::Pieces pieces = samples::pieces_of(total, bytes, cores.vector);

  InplaceAxpyTilingData tiling;
  tiling.set_total(total);
  tiling.set_piece(pieces.each);
  const uint64_t room = cores.local_bytes / 6 / samples::kBurst * samples::kBurst;
  tiling.set_tile(static_cast<uint32_t>(std::min<uint64_t>(room / bytes, 8192)));
  tiling.set_alpha(*context->GetAttrs()->GetAttrPointer<float>(0));
  context->SetBlockDim(pieces.blocks);
  tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
  context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
  context->GetWorkspaceSizes(1)[0] = 0;
  return ge::GRAPH_SUCCESS;
}

}  // namespace optiling

namespace ge {

static graphStatus infer_axpy_shape(gert::InferShapeContext* context) {
  *context->GetOutputShape(0) = *context->GetInputShape(0);
  return GRAPH_SUCCESS;
}

static graphStatus infer_axpy_dtype(gert::InferDataTypeContext* context) {
  context->SetOutputDataType(0, context->GetInputDataType(0));
  return GRAPH_SUCCESS;
}

}  // namespace ge

namespace ops {

class InplaceAxpy : public OpDef {
 public:
  explicit InplaceAxpy(const char* name) : OpDef(name) {
    for (const char* input : {"y", "x"}) {
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
    this->Attr("alpha").AttrType(OPTIONAL).Float(1.0);
    this->SetInferShape(ge::infer_axpy_shape).SetInferDataType(ge::infer_axpy_dtype);
    this->AICore().SetTiling(optiling::tile_axpy);
    this->AICore().AddConfig("ascend910b");
  }
};

OP_ADD(InplaceAxpy);

}  // namespace ops
