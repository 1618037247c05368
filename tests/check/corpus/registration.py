"""Libraries that lack kernels, or have them for operators that are not there."""

from __future__ import annotations

import torch
from registering import IN_PLACE, kernel_of, meta_of

import opwright as ow

BROKEN = {
    "no_meta": "registration/no-meta",  # vllm-ascend: bgmv_shrink, swap_blocks
    "cpu_only": "registration/no-device-kernel",
    "moved_block": "registration/stale-implementation",  # vllm-ascend: store_kv_block_pre
    "returns_written": "registration/no-functionalize",
    "no_autocast": "registration/no-autocast",
    "no_autograd": "registration/no-autograd",
    "grid_size": "registration/unreachable",
    "composite_beside": "registration/composite-beside-kernel",
    "selects_nothing": "registration/no-device-kernel",
    "selects_the_cpu": "registration/no-device-kernel",
    "selects_without_meta": "registration/no-meta",
}

ops = ow.OperatorSet("corpus_registration", existing=True)
LIBRARY = torch.library.Library("corpus_registration", "DEF")
SAMPLES = [ow.sample(x=ow.tensor(2, 3))]
ALL = ("CPU", "PrivateUse1", "Meta")


def operator(schema, *, keys=ALL, samples=SAMPLES, tags=(), **fields):
    """Register the reference as the kernel of some keys, and describe it."""

    def declare(function):
        LIBRARY.define(schema, tags=tags)
        for key in keys:
            kernel = meta_of(schema) if key == "Meta" else kernel_of(schema, function)
            LIBRARY.impl(schema.partition("(")[0], kernel, key)
        return ops.operator(schema, samples=samples, **fields)(function)

    return declare


@operator("no_meta(Tensor x) -> Tensor", keys=("CPU", "PrivateUse1"))
def no_meta(x):
    return x + 1


@operator("cpu_only(Tensor x) -> Tensor", keys=("CPU", "Meta"))
def cpu_only(x):
    return x * 2


@operator("moved_block(Tensor x) -> Tensor")
def moved_block(x):
    return x - 1


LIBRARY.impl("moved_block_pre", lambda x: x - 1, "PrivateUse1")  # a Meta as well, in C++


@operator("returns_written(Tensor(a!) x) -> Tensor(a!)")
def returns_written(x):
    return x.add_(1)


@operator("no_autocast(Tensor x) -> Tensor", autocast="float16")
def no_autocast(x):
    return x * 1


@operator("no_autograd(Tensor x) -> Tensor", backward={"x": "grad * 2"})
def no_autograd(x):
    return x * 2


@operator(
    "grid_size(int n) -> Tensor",
    keys=("CPU", "PrivateUse1"),
    samples=[ow.sample(n=3)],
    shapes={"out": "n"},
    dtypes={"out": "float32"},
)
def grid_size(n):
    return torch.ones(n)


LIBRARY.impl("grid_size", lambda n: torch.ones(n, device="meta"), "Meta")


def select(name, *keys):
    """Register an operator that goes on to the kernel of a device, of which some have none."""

    @operator(
        f"{name}(int n, *, Device? device=None) -> Tensor",
        keys=keys,
        samples=[ow.sample(n=3)],
        shapes={"out": "n"},
        dtypes={"out": "float32"},
    )
    def ones(n, *, device=None):
        return torch.ones(n, device=device)

    def select_by_device(keys, n, *, device=None):
        key = torch._C._dispatch_key_for_device(torch.device(device or "cpu").type)
        return getattr(torch.ops.corpus_registration, name).default.redispatch(
            torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key)), n, device=device
        )

    LIBRARY.impl(name, select_by_device, "BackendSelect", with_keyset=True)


select("selects_nothing")
select("selects_the_cpu", "CPU")
select("selects_without_meta", "CPU", "PrivateUse1")


@operator("composite_beside(Tensor x) -> Tensor", keys=("CompositeImplicitAutograd", "PrivateUse1"))
def composite_beside(x):
    return x * 3


# Sound.


@operator("complete(Tensor x) -> Tensor")
def complete(x):
    return x + 1


@operator("composite(Tensor x) -> Tensor", keys=("CompositeImplicitAutograd",))
def composite(x):
    return x.contiguous() + 1


@operator("one_kernel(Tensor x) -> Tensor", keys=("CompositeExplicitAutograd",))
def one_kernel(x):
    return x.contiguous() + 1


if IN_PLACE:

    @operator("returns_tagged_(Tensor(a!) x) -> Tensor(a!)", tags=IN_PLACE)
    def returns_tagged_(x):
        return x.add_(1)


@operator("writes_alone_(Tensor(a!) x) -> ()")
def writes_alone_(x):
    x.add_(1)


@operator("casts(Tensor x) -> Tensor", autocast="float16")
def casts(x):
    return x * 1


def cast(x):
    """Call the operator with half precision."""
    with torch.autocast("npu", enabled=False):
        return torch.ops.corpus_registration.casts(x.half() if x.dtype is torch.float32 else x)


LIBRARY.impl("casts", cast, "AutocastPrivateUse1")


@operator(
    "filled(int n, *, Device? device=None) -> Tensor",
    keys=("CompositeExplicitAutograd",),
    samples=[ow.sample(n=3)],
    shapes={"out": "n"},
    dtypes={"out": "float32"},
)
def filled(n, *, device=None):
    return torch.ones(n, device=device)


@operator(
    "filled_by_device(int n, *, Device? device=None) -> Tensor",
    keys=("BackendSelect",),
    samples=[ow.sample(n=3)],
    shapes={"out": "n"},
    dtypes={"out": "float32"},
)
def filled_by_device(n, *, device=None):
    """Do the work where the dispatcher would choose a kernel."""
    return torch.ones(n, device=device)


@operator("only_writes_(Tensor(a!) x) -> ()", keys=("CPU", "PrivateUse1"))
def only_writes_(x):
    """Need no Meta: torch knows what returns nothing."""
    x.add_(1)


@operator("composite_differentiated(Tensor x) -> Tensor", backward={"x": "grad * 2"}, keys=ALL)
def composite_differentiated(x):
    return x * 2


torch.library.register_autograd(
    "corpus_registration::composite_differentiated", lambda _, grad: grad * 2, lib=LIBRARY
)


@operator("library_meta(Tensor x) -> Tensor", keys=("CPU", "PrivateUse1"))
def library_meta(x):
    return x - 2


torch.library.register_fake(
    "corpus_registration::library_meta", lambda x: x.new_empty(x.shape), lib=LIBRARY
)
