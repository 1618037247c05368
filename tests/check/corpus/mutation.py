"""Operators that write something else than their schemas say."""

from __future__ import annotations

import torch
from registering import kernel_of, meta_of

import opwright as ow
from opwright.twin import kernel

BROKEN = {
    "batch_matmul_transpose": "mutation/undeclared-write",  # vllm-ascend, of the same name
    "store_kv_block": "mutation/undeclared-write",
    "bgmv_shrink": "mutation/never-written",  # vllm-ascend: inputs that are read alone
    "optional_state": "mutation/undeclared-write",
    "half_workspace": "mutation/undeclared-write",
    "reads_into_list": "mutation/undeclared-write",
    "scratch_input": "mutation/undeclared-write",
    "ignores_end_": "mutation/write-outside",
    "resizes_": "mutation/argument-resized",
    "scales_before_it_reads_": "mutation/reads-what-it-wrote",
    "unseen_": "mutation/version-not-bumped",  # flash-linear-attention-npu, by hand there
}

ops = ow.OperatorSet("corpus_mutation_lib", existing=True)
LIBRARY = torch.library.Library("corpus_mutation_lib", "DEF")
live = ow.OperatorSet("corpus_mutation")


def operator(schema, *samples, **fields):
    """Register a function as the kernel of all devices; the reference may be another one."""

    def declare(function):
        LIBRARY.define(schema)
        name = schema.partition("(")[0]
        for key in ("CPU", "PrivateUse1"):
            LIBRARY.impl(name, kernel_of(schema, function), key)
        LIBRARY.impl(name, meta_of(schema), "Meta")
        return ops.operator(schema, samples=samples, **fields)(function)

    return declare


MATRICES = ow.sample(
    tensor_a=ow.tensor(4, 2, 3), tensor_b=ow.tensor(2, 3, 5), tensor_c=ow.tensor(4, 10)
)


@operator(
    "batch_matmul_transpose(Tensor tensor_a, Tensor tensor_b, Tensor tensor_c) -> ()", MATRICES
)
def batch_matmul_transpose(tensor_a, tensor_b, tensor_c):
    product = torch.einsum("mbk,bkn->mbn", tensor_a, tensor_b)
    tensor_c.copy_(product.reshape(tensor_c.shape))


BLOCKS = ow.sample(
    key=ow.tensor(3, 4), cache=ow.tensor(8, 4), slots=ow.tensor(3, dtype="int64", low=0, high=7)
)


@operator("store_kv_block(Tensor key, Tensor cache, Tensor slots) -> ()", BLOCKS)
def store_kv_block(key, cache, slots):
    cache.index_copy_(0, slots, key)


@operator(
    "bgmv_shrink(Tensor(a!) x, Tensor weight, Tensor(b!) y, float scale) -> ()",
    ow.sample(x=ow.tensor(2, 4), weight=ow.tensor(3, 4), y=ow.tensor(2, 3), scale=0.5),
)
def bgmv_shrink(x, weight, y, scale):
    y.copy_(x @ weight.T * scale)


@operator(
    "optional_state(Tensor x, Tensor? state=None) -> Tensor",
    ow.sample(x=ow.tensor(2, 3)),
    ow.sample(x=ow.tensor(2, 3), state=ow.tensor(2, 3)),
)
def optional_state(x, state=None):
    if state is None:
        return x * 2
    return state.add_(x) * 2


@operator(
    "half_workspace(Tensor x) -> Tensor",
    ow.sample(x=ow.tensor(2, 3)),
    ow.sample(x=ow.tensor(2, 3, dtype="float16")),
    dtypes="float32 float16",
)
def half_workspace(x):
    """Write in one dtype only."""
    if x.dtype is torch.float16:
        x.clamp_(0)
    return x.clamp(0)


@operator(
    "reads_into_list(Tensor x, Tensor[] parts) -> Tensor",
    ow.sample(x=ow.tensor(2, 3), parts=[]),
    ow.sample(x=ow.tensor(2, 3), parts=[ow.tensor(2, 3), ow.tensor(2, 3)]),
)
def reads_into_list(x, parts):
    for part in parts[1:]:
        part.mul_(2)
    return x + sum(part * 1 for part in parts)


@live.operator("scratch_input(Tensor x) -> Tensor", samples=[ow.sample(x=ow.tensor(2, 3))])
def scratch_input(x):
    return x.exp()


@kernel("aclnnScratchInput(const aclTensor *x, aclTensor *out)")
def scratch_input_kernel(x, out):
    x.exp_()
    out.copy_(x)


def beyond(x):
    """Write the aligned size, which is more than the tensor has."""
    end = -(-x.numel() // 8) * 8
    room = x.untyped_storage().nbytes() // x.element_size() - x.storage_offset()
    x.as_strided((min(end, room),), (1,)).fill_(0.5)


@operator("ignores_end_(Tensor(a!) x) -> ()", ow.sample(x=ow.tensor(5)))
def ignores_end_(x):
    beyond(x)


@operator("resizes_(Tensor(a!) x, int n) -> ()", ow.sample(x=ow.tensor(4), n=6))
def resizes_(x, n):
    x.resize_(n).fill_(1)


@operator("unseen_(Tensor(a!) x) -> ()", ow.sample(x=ow.tensor(4)))
def unseen_(x):
    x.data.add_(1)


# Sound.


@operator("matmul_into(Tensor tensor_a, Tensor tensor_b, Tensor(a!) tensor_c) -> ()", MATRICES)
def matmul_into(tensor_a, tensor_b, tensor_c):
    product = torch.einsum("mbk,bkn->mbn", tensor_a, tensor_b)
    tensor_c.copy_(product.reshape(tensor_c.shape))


@operator("clamp_far_(Tensor(a!) x) -> ()", ow.sample(x=ow.tensor(4)))
def clamp_far_(x):
    """Write what the samples do not show."""
    x.clamp_(-10, 10)


@operator(
    "state_if_given(Tensor x, Tensor(a!)? state=None) -> Tensor",
    ow.sample(x=ow.tensor(2, 3)),
    ow.sample(x=ow.tensor(2, 3), state=ow.tensor(2, 3)),
)
def state_if_given(x, state=None):
    return x * 2 if state is None else state.add_(x) * 2


@operator(
    "last_of_list_(Tensor(a!)[] parts) -> ()",
    ow.sample(parts=[ow.tensor(2), ow.tensor(3)]),
)
def last_of_list_(parts):
    parts[-1].mul_(2)


@operator("write_same_(Tensor(a!) x) -> ()", ow.sample(x=ow.tensor(2, 3)))
def write_same_(x):
    """Write the bytes that are there: only the version shows it."""
    x.copy_(x.clone())


@operator("restores(Tensor x) -> Tensor", ow.sample(x=ow.tensor(2, 3)))
def restores(x):
    return x.clone().add_(1)


@operator("to_its_end_(Tensor(a!) x) -> ()", ow.sample(x=ow.tensor(5)))
def to_its_end_(x):
    x.view(-1).fill_(0.5)


@operator("counts_(Tensor(a!) steps) -> ()", ow.sample(steps=ow.tensor(dtype="int64")))
def counts_(steps):
    steps.add_(1)


@operator("nan_(Tensor(a!) x, Tensor y) -> ()", ow.sample(x=ow.tensor(3), y=ow.tensor(3)))
def nan_(x, y):
    """Leave NaN, which does not equal itself."""
    x.copy_(torch.zeros_like(y) / 0)


def blend(y, x, w=0.25):
    return y.copy_((1 - w) * y + w * x)


BLEND = "(Tensor(a!) y, Tensor x, float w=0.25) -> Tensor(a!)"
PAIR = {"shapes": {"y": "*s", "x": "*s"}, "samples": [ow.sample(y=ow.tensor(4), x=ow.tensor(4))]}
for each in ("scales_before_it_reads_", "reads_before_it_scales_", "refuses_one_tensor_"):
    live.operator(each + BLEND, **PAIR)(blend)


@kernel("aclnnScalesBeforeItReads(aclTensor *yRef, const aclTensor *x, double w)")
def scales_before_it_reads(y, x, w):
    y.mul_(1 - w)
    y.add_(x, alpha=w)


@kernel("aclnnReadsBeforeItScales(aclTensor *yRef, const aclTensor *x, double w)")
def reads_before_it_scales(y, x, w):
    y.copy_(y * (1 - w) + x * w)


@kernel("aclnnRefusesOneTensor(aclTensor *yRef, const aclTensor *x, double w)")
def refuses_one_tensor(y, x, w):
    if y.numel() and y.data_ptr() == x.data_ptr():
        raise ValueError("y and x must be two tensors")
    scales_before_it_reads(y, x, w)


# The reference itself reads what it wrote: nothing says what is right for one tensor.
@operator(
    "turned_by_(Tensor(a!) y, Tensor x) -> ()", ow.sample(y=ow.tensor(2, 2), x=ow.tensor(2, 2))
)
def turned_by_(y, x):
    if x.device != y.device:
        raise ValueError("x and y must be on one device")
    y.mul_(2)
    y.add_(x.flip(0))


@live.operator(
    "scaled_(Tensor(a!) x, float factor=2.0) -> Tensor(a!)",
    aclnn="aclnnCorpusScaled(x, float factor)",
    samples=[ow.sample(x=ow.tensor(2, 3))],
)
def scaled_(x, factor=2.0):
    return x.mul_(factor)
