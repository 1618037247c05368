"""Checks my_inplace in each mode against plain PyTorch; PYTHONPATH has the form."""

import torch

import operators  # noqa: F401 - registers my_ops::my_inplace
from modes import Case, verify


def model(total, y):
    z = torch.ops.my_ops.my_inplace(total, y)
    return torch.relu(z) + total


def reference(total, y):
    total += y
    return torch.relu(total * y) + total


def model_of_a_view(total, y):
    z = torch.ops.my_ops.my_inplace(total[1:], y[1:])
    return z - total[1:]


def reference_of_a_view(total, y):
    total[1:] += y[1:]
    return total[1:] * y[1:] - total[1:]


def inputs(size):
    return [torch.randn(size, 8), torch.randn(size, 8)]


verify(
    Case(
        name="my_inplace",
        operator="MyInplace",
        model=model,
        reference=reference,
        inputs=inputs,
        writes=(0,),
    ),
    Case(
        name="my_inplace of a view",
        operator="MyInplace",
        model=model_of_a_view,
        reference=reference_of_a_view,
        inputs=inputs,
        writes=(0,),
    ),
)
