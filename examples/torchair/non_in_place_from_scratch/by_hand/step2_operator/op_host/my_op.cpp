#include "register/op_def_registry.h"

namespace ops {
class MyOp : public OpDef {
 public:
  explicit MyOp(const char* name) : OpDef(name) {
    this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Input("y").ParamType(OPTIONAL).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Input("z").ParamType(DYNAMIC).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Output("out").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Attr("attr1").AttrType(REQUIRED).Float();
    this->Attr("attr2").AttrType(REQUIRED).Int();
  }
};
OP_ADD(MyOp);
}  // namespace ops
