"""Checks my_op in each mode against plain PyTorch; PYTHONPATH has the form."""

import torch

import operators  # noqa: F401 - registers my_ops::my_op
from modes import Case, verify


def model(x, y, z, attr1, attr2):
    return torch.relu(torch.ops.my_ops.my_op(x, y, z, attr1, attr2)) - x


def reference(x, y, z, attr1, attr2):
    out = attr1 * x + attr2 * sum(z)
    return torch.relu(out if y is None else out + y) - x


def inputs(size):
    x, y, *z = (torch.randn(size, 8) for _ in range(4))
    return [x, y, z, 2.0, 5]


def inputs_without_y(size):
    x, _, z, attr1, attr2 = inputs(size)
    return [x, None, z, attr1, attr2]


verify(
    Case(name="my_op", operator="MyOp", model=model, reference=reference, inputs=inputs),
    Case(
        name="my_op, y is None",
        operator="MyOp",
        model=model,
        reference=reference,
        inputs=inputs_without_y,
    ),
)
