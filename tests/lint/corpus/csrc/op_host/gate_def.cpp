namespace ops {
class Gate : public OpDef {
public:
    explicit Gate(const char *name) : OpDef(name)
    {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT});
        this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT});
        this->Attr("k").AttrType(OPTIONAL).Int(8);
    }
};
OP_ADD(Gate);
} // namespace ops
