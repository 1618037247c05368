"""my_op, declared: this is all of it. Importing the module registers the operator."""

import opwright as ow

ops = ow.OperatorSet("my_ops", version="1.0")


@ops.operator("my_op(Tensor x, Tensor? y, Tensor[] z, float attr1, int attr2) -> Tensor")
def my_op(x, y, z, attr1, attr2):
    out = attr1 * x + attr2 * sum(z)
    return out if y is None else out + y


ops.load()
