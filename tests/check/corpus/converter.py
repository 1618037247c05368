"""Converters that drifted from their schemas and prototypes, and sound ones."""

from __future__ import annotations

import functools

import torch
from torch._subclasses.functional_tensor import FunctionalTensorMode
from torch.library import register_torch_dispatch

import opwright as ow

BROKEN = {
    "sinks": "converter/parameters",  # op-plugin's sparse flash attention, 2026-06
    "one_too_many": "converter/parameters",  # the PytorchInvocation sample
    "other_order": "converter/parameters",
    "drops_epsilon": "converter/argument-ignored",  # the prolog converter
    "return_value": "converter/node",  # the attribute is return_values
    "float_for_int": "converter/node",
    "no_such_type": "converter/unknown-type",
    "for_the_packet": "converter/never-called",
    "forgets_factor_": "converter/argument-ignored",  # of the operator that graphs have for it
}

# Its converters add GE types that nothing computes: they are read, not run.
NOT_FOR = ("compiled",)

library = torch.library.Library("corpus_converter_lib", "DEF")
foreign = ow.OperatorSet("corpus_converter_lib", existing=True)
ONE = [ow.sample(x=ow.tensor(3, 4))]
PROTOTYPE = """REG_OP(CorpusScale)
    .INPUT(x, TensorType({DT_FLOAT}))
    .OPTIONAL_INPUT(y, TensorType({DT_FLOAT}))
    .OUTPUT(z, TensorType({DT_FLOAT}))
    .ATTR(factor, Float, 2.0)
    .ATTR(return_values, Bool, true)
    .OP_END_FACTORY_REG(CorpusScale)"""


def custom_op(*args, **kwargs):
    raise NotImplementedError  # TorchAir's


class attr:  # noqa: N801 - as TorchAir calls it
    Bool = Float = Int = None


def fake_like(x, *_, **__):
    return x.new_empty(x.shape)


def registered(name, rest="", **fields):
    """Define an operator that computes twice x, and register a converter as TorchAir does."""
    schema = f"{name}(Tensor x{rest}) -> Tensor"
    library.define(schema)
    library.impl(name, lambda x, *_, **__: (x * 2).contiguous(), "PrivateUse1")
    torch.library.register_fake(f"corpus_converter_lib::{name}", fake_like, lib=library)

    def twice(x, *_, **__):
        return x * 2

    foreign.operator(schema, dtypes="float32", samples=ONE, prototype=PROTOTYPE, **fields)(twice)

    def register(function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            return function(*args, **kwargs)

        packet = getattr(torch.ops.corpus_converter_lib, name)
        target = packet if name == "for_the_packet" else packet.default
        target._ge_converter = wrapped
        return function

    return register


NUMBER = ", *, float factor=2.0"
FLAG = ", *, float factor=2.0, bool return_value=True"


@registered("sinks", ", *, float factor=2.0, Tensor? sinks=None")
def _(x, *, factor=2.0, meta_outputs=None):
    return custom_op(
        "CorpusScale", inputs={"x": x}, outputs=["z"], attrs={"factor": attr.Float(factor)}
    )


@registered("one_too_many", NUMBER)
def _(x, y, *, factor=2.0):
    return custom_op(
        "CorpusScale", inputs={"x": x, "y": y}, outputs=["z"], attrs={"factor": attr.Float(factor)}
    )


@registered("other_order", ", Tensor? y=None, float factor=2.0")
def _(x, factor=2.0, y=None):
    return custom_op(
        "CorpusScale", inputs={"x": x, "y": y}, outputs=["z"], attrs={"factor": attr.Float(factor)}
    )


@registered("drops_epsilon", NUMBER)
def _(x, *, factor=2.0, meta_outputs=None):
    return custom_op("CorpusScale", inputs={"x": x}, outputs=["z"])


@registered("return_value", FLAG)
def _(x, *, factor=2.0, return_value=True):
    return custom_op(
        "CorpusScale",
        inputs={"x": x},
        outputs=["z"],
        attrs={"factor": attr.Float(factor), "return_value": attr.Bool(return_value)},
    )


@registered("float_for_int", NUMBER)
def _(x, *, factor=2.0):
    return custom_op(
        "CorpusScale", inputs={"x": x}, outputs=["z"], attrs={"factor": attr.Int(factor)}
    )


@registered("no_such_type", NUMBER)
def _(x, *, factor=2.0):
    return custom_op(
        "CorpusScaleV9", inputs={"x": x}, outputs=["z"], attrs={"factor": attr.Float(factor)}
    )


@registered("for_the_packet", NUMBER)
def _(x, *, factor=2.0):
    return custom_op(
        "CorpusScale", inputs={"x": x}, outputs=["z"], attrs={"factor": attr.Float(factor)}
    )


# Sound.


@registered("fits", FLAG)
def _(x, *, factor=2.0, return_value=True, meta_outputs=None):
    return custom_op(
        "CorpusScale",
        inputs={"x": x},
        outputs=["z"],
        attrs={"factor": attr.Float(factor), "return_values": attr.Bool(return_value)},
    )


@registered("refuses_the_rest", NUMBER)
def _(x, *, factor=2.0):
    if factor != 2.0:
        raise NotImplementedError("factor in graphs")
    return custom_op("CorpusScale", inputs={"x": x}, outputs=["z"])


@registered("takes_any", NUMBER)
def _(x, **kwargs):
    return custom_op("CorpusScale", inputs={"x": x}, outputs=["z"], attrs=dict(kwargs))


@registered("without_dtype", ", *, float factor=2.0, ScalarType? dtype=None")
def _(x, *, factor=2.0, dtype=None):
    return custom_op(
        "CorpusScale", inputs={"x": x}, outputs=["z"], attrs={"factor": attr.Float(factor)}
    )


@registered("of_several_nodes", NUMBER)
def _(x, *, factor=2.0):
    name = "Corpus" + "Scale"  # what is computed is not judged

    def node(value):
        return custom_op(
            name, inputs={"x": value}, outputs=["z"], attrs={"factor": attr.Float(factor)}
        )

    return node(node(x))


@registered("positional", ", Tensor? y=None, float factor=2.0")
def _(x, y=None, factor=2.0):
    return custom_op(
        "CorpusScale", inputs={"x": x, "y": y}, outputs=["z"], attrs={"factor": attr.Float(factor)}
    )


# Operators that write: graphs have others in their place, which return nothing.


def write(x, factor=2.0):
    x.mul_(factor)


def written(name, converter):
    """Define an operator that writes and returns x, and the one that has the converter."""
    form = f"{name}write"
    for each, result in ((name, "Tensor(a!)"), (form, "()")):
        library.define(f"{each}(Tensor(a!) x, float factor=2.0) -> {result}")
    library.impl(name, lambda x, factor=2.0: x.mul_(factor), "PrivateUse1")
    library.impl(form, write, "PrivateUse1")
    library.impl(name, lambda x, factor=2.0: x, "Meta")
    library.impl(form, lambda x, factor=2.0: None, "Meta")

    def functionalize(mode, operator, types, args=(), kwargs=None):
        with mode:
            getattr(torch.ops.corpus_converter_lib, form)(*args, **(kwargs or {}))
        return args[0]

    register_torch_dispatch(
        f"corpus_converter_lib::{name}", FunctionalTensorMode, functionalize, lib=library
    )
    getattr(torch.ops.corpus_converter_lib, form).default._ge_converter = converter
    foreign.operator(
        f"{name}(Tensor(a!) x, float factor=2.0) -> Tensor(a!)", dtypes="float32", samples=ONE
    )(lambda x, factor=2.0: x.mul_(factor))


NODE = "Corpus" + "ScaleWrite"
written("forgets_factor_", lambda x, factor=2.0: custom_op(NODE, inputs={"x": x}, outputs=["x"]))
written(
    "keeps_factor_",
    lambda x, factor=2.0: custom_op(
        NODE, inputs={"x": x}, outputs=["x"], attrs={"factor": attr.Float(factor)}
    ),
)


ops = ow.OperatorSet("corpus_converter")


@ops.operator("derived(Tensor x, *, float factor=2.0) -> Tensor", samples=ONE)
def derived(x, *, factor=2.0):
    return x * factor


@ops.operator("not_for_graphs(Tensor x) -> Tensor", prototype=False, samples=ONE)
def not_for_graphs(x):
    return x + 1
