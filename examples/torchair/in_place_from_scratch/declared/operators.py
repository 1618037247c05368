"""my_inplace, declared: this is all of it. Importing the module registers the operator."""

import opwright as ow

ops = ow.OperatorSet("my_ops", version="1.0")


@ops.operator("my_inplace(Tensor(a!) x, Tensor y) -> Tensor z", shapes={"z": ow.like("y")})
def my_inplace(x, y):
    x.add_(y)
    return x * y


ops.load()
