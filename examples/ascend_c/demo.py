"""Runs each operator once and prints how far its kernel is from the reference."""

import sys

import torch
import torch_npu  # noqa: F401 - makes the device "npu"

import asc_add
import ascend_c_ops
import operators

torch.manual_seed(0)
vectors = torch.randn(2, 100_003)
halves = torch.randn(2, 257, 512).half()
x, gamma = torch.randn(41, 1000), torch.randn(1000)
a, b, bias = torch.randn(257, 64).half(), torch.randn(64, 31).half(), torch.randn(31)

# Operator, kernel, reference, operands. In matmul and rms_norm, sums are added up in another order.
runs = [
    ("add_custom", ascend_c_ops.add_custom, operators.add_custom, halves.unbind()),
    ("axpy_", ascend_c_ops.axpy_, operators.axpy_, vectors.unbind()),
    ("rms_norm", ascend_c_ops.rms_norm, operators.rms_norm, (x, gamma)),
    ("matmul", ascend_c_ops.matmul, operators.matmul, (a, b, bias)),
    ("asc_add.add", asc_add.add, operators.add_custom, vectors.unbind()),
]
wrong = 0
for name, kernel, operator, operands in runs:
    got = kernel(*(operand.npu() for operand in operands))
    expected = operator.reference(*operands)
    if isinstance(got, tuple):
        got, expected = got[0], expected[0]
    difference = (got.cpu() - expected).abs().max().item()
    wrong += difference > 1e-4  # noqa: PLR2004
    shapes = " ".join(str(list(operand.shape)) for operand in operands)
    dtype = str(operands[0].dtype).removeprefix("torch.")
    print(f"{name:12} {dtype:8} {shapes:27} largest difference {difference:.1e}")
sys.exit(bool(wrong))
