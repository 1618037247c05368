namespace ops {
class RollState : public OpDef {
public:
    explicit RollState(const char *name) : OpDef(name)
    {
        Input("x").ParamType(REQUIRED);
        this->Input("state").ParamType(REQUIRED);
        this->Output("y").ParamType(REQUIRED);
        this->Attr("steps").AttrType(OPTIONAL).Int(1);
    }
};
OP_ADD(RollState);
} // namespace ops
