"""Metas and converters of the library in csrc: some sound, some broken on purpose."""
import torch
from torch.library import Library, impl, register_fake
from torchair import attr, register_fx_node_ge_converter
from torchair.ge import custom_op

NAMESPACE = "lab"
library = Library(NAMESPACE, "IMPL", "Meta")


def register_meta(name, function, overload=""):
    if overload != "":
        name = name + "." + overload
    library.impl(name, function)


@impl(library, "rotate")
def rotate_meta(x, cos):
    return torch.empty_like(x)


@register_fake(f"{NAMESPACE}::attend")
def attend_fake(q, cache, scale=0.5):
    rows, columns = q.shape
    return q.new_empty(int(rows / 2), columns)


def twice_meta(x):
    return torch.empty_like(x)


def shift_meta(x, by):
    return torch.empty_like(x)


register_meta("twice", twice_meta)
register_meta("shift", function=shift_meta)


@register_fx_node_ge_converter(torch.ops.lab.gate.default)
def convert_gate(x, k=8, meta_outputs=None):
    return custom_op("Gate", inputs={"x": x}, attrs={"k": attr.Int(k)}, outputs=["y"])


@register_fx_node_ge_converter(torch.ops.lab.attend.default)
def convert_attend(q, cache, softmax=False, meta_outputs=None):
    return custom_op("Attend", inputs={"q": q, "cache": cache}, outputs=["out"])


@torch.library.custom_op("lab_py::clamp_", mutates_args=("x",))
def clamp_(x: torch.Tensor, low: float, high: float) -> None:
    x.clamp_(low, high)


@torch.library.custom_op("lab_py::bias", mutates_args=())
def bias(x: torch.Tensor, b: torch.Tensor | None = None) -> torch.Tensor:
    y = x.view(-1)
    y += 1 if b is None else b
    return x.clone()


@bias.register_fake
def _(x, b=None):
    return torch.empty_like(x)
