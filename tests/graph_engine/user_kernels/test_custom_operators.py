"""Custom operators in GE graphs: the user's kernel serves the type of the same name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch_npu  # noqa: F401 - torchair is found by way of it
import torchair
from torchair._ge_concrete_graph.compat_ir import ge_op
from torchair.ge import attr, custom_op

import opwright as ow
from opwright import twin
from opwright.aclnn.prototype import Prototype
from opwright.graph_engine.user_kernels.types import names_of, slot_of
from opwright.kit.derive import derive
from tests.graph_engine.agreement import compiled, new_library

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Converter = Callable[[torch.Tensor], object]
    Meta = Callable[[torch.Tensor], torch.Tensor]

MY_OP = """REG_OP(MyOp)
    .INPUT(x, TensorType({DT_FLOAT}))
    .OPTIONAL_INPUT(y, TensorType({DT_FLOAT}))
    .DYNAMIC_INPUT(z, TensorType({DT_FLOAT}))
    .OUTPUT(out, TensorType({DT_FLOAT}))
    .REQUIRED_ATTR(attr1, Float)
    .REQUIRED_ATTR(attr2, Int)
    .OP_END_FACTORY_REG(MyOp)"""
MY_INPLACE = """REG_OP(MyInplace)
    .INPUT(x, TensorType({DT_FLOAT}))
    .INPUT(y, TensorType({DT_FLOAT}))
    .OUTPUT(x, TensorType({DT_FLOAT}))
    .OUTPUT(z, TensorType({DT_FLOAT}))
    .OP_END_FACTORY_REG(MyInplace)"""


def my_op(
    x: torch.Tensor,
    y: torch.Tensor | None,
    z: Sequence[torch.Tensor],
    attr1: float,
    attr2: int,
    out: torch.Tensor,
) -> None:
    result = x.numpy() * attr1 + attr2  # numpy: the kernel is not traced
    for each in z if y is None else [y, *z]:
        result = result + each.numpy()
    out.copy_(torch.from_numpy(result))


def my_inplace(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> None:
    x.add_(y)
    z.copy_(y * 2)


def define_operators() -> Any:  # noqa: ANN401 - torch does not type it
    """Return a library with a functional operator and one in place."""
    twin.kernel(MY_OP)(my_op)
    twin.kernel(MY_INPLACE)(my_inplace)
    library = new_library("my")
    library.define("my_op(Tensor x, Tensor? y, Tensor[] z, float attr1, int attr2) -> Tensor")
    library.define("my_inplace(Tensor(a!) x, Tensor y) -> Tensor")
    library.impl("my_op", lambda x, *_: torch.empty_like(x), "Meta")
    library.impl("my_inplace", lambda _, y: torch.empty_like(y), "Meta")
    return library


def convert_my_op_by_position(
    x: object, y: object, z: object, attr1: float, attr2: int, meta_outputs: object = None
) -> object:
    del meta_outputs  # TorchAir passes it to converters that take it
    return custom_op("MyOp", x, y, z, attr1, attr2)


def convert_my_inplace_by_position(x: object, y: object, meta_outputs: object = None) -> object:
    del meta_outputs
    return custom_op("MyInplace", x, y)[1]


def convert_my_op_by_name(x: object, y: object, z: object, attr1: float, attr2: int) -> object:
    attributes = {"attr1": attr.Float(attr1), "attr2": attr.Int(attr2)}
    return custom_op("MyOp", inputs={"x": x, "y": y, "z": z}, outputs=["out"], attrs=attributes)


def convert_my_inplace_by_name(x: object, y: object) -> object:
    return custom_op("MyInplace", inputs={"x": x, "y": y}, outputs=["x", "z"])[1]


CONVERTERS: dict[str, dict[str, Callable[..., object]]] = {
    "automatic": {},
    "positional": {
        "my_op": convert_my_op_by_position,
        "my_inplace": convert_my_inplace_by_position,
    },
    "named": {"my_op": convert_my_op_by_name, "my_inplace": convert_my_inplace_by_name},
}


def convert(name: str, converter: Callable[..., object]) -> None:
    """Let TorchAir convert an operator with a function."""
    torchair.register_fx_node_ge_converter(getattr(torch.ops.my, name).default)(converter)


def functional(
    x: torch.Tensor, y: torch.Tensor, z: list[torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor]:
    ops = torch.ops.my
    return ops.my_op(x, None, z, 2.0, 5) + 1, ops.my_op(x, y, z, 2.5, -3)


def inplace(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    z = torch.ops.my.my_inplace(x, y)
    result: torch.Tensor = torch.ops.my.my_inplace(x, z) + x
    return result


@pytest.mark.isolated
@pytest.mark.parametrize("converter", CONVERTERS)
def test_functional_and_inplace_operators_with_every_kind_of_converter(converter: str) -> None:
    _library = define_operators()
    for name, function in CONVERTERS[converter].items():
        convert(name, function)
    for dynamic, lengths in ((False, (2, 2)), (True, (2, 3, 5))):
        graph = compiled(functional, dynamic=dynamic)
        for length in lengths:
            x, y, a, b = (torch.randn(length, 4) for _ in range(4))
            first, second = graph(x.to("npu"), y.to("npu"), [a.to("npu"), b.to("npu")])
            torch.testing.assert_close(first.cpu(), x * 2 + 5 + a + b + 1)
            torch.testing.assert_close(second.cpu(), x * 2.5 - 3 + y + a + b)
        graph = compiled(inplace, dynamic=dynamic)
        for length in lengths:
            x, y = (torch.randn(length, 4) for _ in range(2))
            written = x.to("npu")
            result = graph(written, y.to("npu"))
            torch.testing.assert_close(written.cpu(), x + 3 * y)
            torch.testing.assert_close(result.cpu(), 4 * y + x + 3 * y)


TWICE = (
    "REG_OP(Twice).INPUT(x, TensorType::ALL()).OUTPUT(y, TensorType({DT_FLOAT}))"
    ".ATTR(factor, Float, 2.0).OP_END_FACTORY_REG(Twice)"
)


def twice(x: torch.Tensor, factor: float, y: torch.Tensor) -> None:
    y.copy_(x * factor)


def longer(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty(x.shape[0] + 1)


def in_half_precision(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x, dtype=torch.float16)


def to_twice(*inputs: str, **attributes: object) -> Converter:
    return lambda x: custom_op(
        "Twice", inputs=dict.fromkeys(inputs, x), outputs=["y"], attrs=attributes
    )


def to_relu(x: torch.Tensor) -> object:
    return ge_op("Relu", inputs={"x": x}, outputs=["y"])


def to_cast(x: torch.Tensor) -> object:
    return ge_op("Cast", inputs={"x": x}, outputs=["y"], attrs={"dst_type": attr.Str("a")})


def faults() -> dict[str, tuple[Meta, Converter, str]]:
    """Return Meta, a converter that contradicts it or a prototype, and a part of the error."""
    like = torch.empty_like
    return {
        "an input that the prototype lacks": (like, to_twice("w"), "an input 'w'"),
        "no input": (like, to_twice(), "no input 'x'"),
        "attribute of another type": (
            like,
            to_twice("x", factor=attr.Str("a")),
            "attribute 'factor'",
        ),
        "unknown attribute": (like, to_twice("x", fact=attr.Float(1.0)), "an attribute 'fact'"),
        "attribute of CANN's operator": (like, to_cast, "attribute 'dst_type'"),
        "shape": (longer, to_relu, "float32[4] from Meta"),
        "dtype": (in_half_precision, to_relu, "float16[3] from Meta"),
        "dtype of a custom operator": (in_half_precision, to_twice("x"), "torch.float16"),
    }


def error_of(operator: Callable[[torch.Tensor], torch.Tensor], *, dynamic: bool) -> str:
    """Return what a graph says that cannot be compiled."""
    try:
        compiled(plus_one(operator), dynamic=dynamic)(torch.ones(3).to("npu"))
    except RuntimeError as error:
        return str(error)
    return "no error"


def plus_one(operator: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., torch.Tensor]:
    return lambda x: operator(x) + 1


@pytest.mark.isolated
def test_what_contradicts_a_prototype_or_meta_names_the_node_and_the_session_goes_on() -> None:
    twin.kernel(TWICE)(twice)
    library = new_library("my")

    def operator(name: str, meta: Meta, converter: Converter) -> Any:  # noqa: ANN401 - an overload
        library.define(f"{name}(Tensor x) -> Tensor")
        library.impl(name, meta, "Meta")
        convert(name, converter)
        return getattr(torch.ops.my, name).default

    good = operator("good", torch.empty_like, to_twice("x"))
    wrong = []
    for index, (name, (meta, converter, text)) in enumerate(faults().items()):
        bad = operator(f"bad{index}", meta, converter)
        for dynamic in (False, True):
            found = error_of(bad, dynamic=dynamic)
            if not ("where:   node '" in found and text in found):
                wrong.append(f"{name}, dynamic {dynamic}: {found}")
            answer = compiled(plus_one(good), dynamic=dynamic)(torch.ones(3).to("npu"))
            assert answer.tolist() == [3] * 3
    assert wrong == []


KIT = ow.OperatorSet("kit", version="1.0")


@KIT.operator(
    "scaled(Tensor x, Tensor? y, Tensor[] z, float alpha, int times=2) -> (Tensor out, Tensor sum)",
    shapes={"x": "N, D", "out": "2*N, D", "sum": "N"},
    dtypes={"x": "float32 float16", "sum": "float32"},
)
def scaled(
    x: torch.Tensor,
    y: torch.Tensor | None,
    z: Sequence[torch.Tensor],
    alpha: float,
    times: int = 2,
) -> tuple[torch.Tensor, torch.Tensor]:
    result = torch.cat([x, x]) * alpha + times
    for each in z if y is None else [y, *z]:
        result = result + each.sum()
    return result, x.float().sum(1)


@pytest.mark.isolated
def test_operators_of_the_kit_need_no_converter() -> None:
    def function(x: torch.Tensor, y: torch.Tensor, z: list[torch.Tensor]) -> object:
        operator = torch.ops.kit.scaled
        return operator(x, None, z, 2.5), operator(x, y, [], 1.5, 3)

    KIT.load()
    for dynamic, lengths in ((False, (2,)), (True, (2, 3, 5))):
        graph = compiled(function, dynamic=dynamic)
        for length in lengths:
            x, y, z = (torch.randn(length, 4).to("npu") for _ in range(3))
            torch.testing.assert_close(graph(x, y, [y, z]), function(x, y, [y, z]))


ATTRIBUTES = (
    "REG_OP(Attributes).INPUT(x, TensorType::ALL())"
    ".DYNAMIC_OUTPUT(parts, TensorType::ALL()).OUTPUT(last, TensorType::ALL())"
    '.ATTR(a, Int, 3).ATTR(b, Float, 0.5).ATTR(c, Bool, true).ATTR(d, String, "s")'
    ".ATTR(e, ListInt, {1, 2}).ATTR(f, ListFloat, {0.5}).ATTR(g, ListBool, {true})"
    ".OP_END_FACTORY_REG(Attributes)"
)


@pytest.mark.isolated
def test_attributes_of_every_kind_and_a_dynamic_output() -> None:
    seen: list[tuple[object, ...]] = []

    @twin.kernel(ATTRIBUTES)
    def attributes(
        x: torch.Tensor,
        a: int,
        b: float,
        c: bool,  # noqa: FBT001 - as the prototype has it
        d: str,
        e: list[int],
        f: list[float],
        g: list[bool],
        parts: list[torch.Tensor],
        last: torch.Tensor,
    ) -> None:
        seen.append((a, b, c, d, e, f, g))
        for index, part in enumerate(parts):
            part.copy_(x * index)
        last.fill_(a)

    def converter(x: object, given: bool) -> object:  # noqa: FBT001 - as the schema has it
        values = {
            "a": attr.Int(7),
            "b": attr.Float(1.5),
            "c": attr.Bool(False),  # noqa: FBT003 - a value
            "d": attr.Str("hi"),
            "e": attr.ListInt([4]),
            "f": attr.ListFloat([0.25, 2.0]),
            "g": attr.ListBool([False, True]),
        }
        attrs = values if given else {}
        return custom_op("Attributes", inputs={"x": x}, outputs=[("parts", 3), "last"], attrs=attrs)

    def function(x: torch.Tensor) -> object:
        operator = torch.ops.my.attributes
        return operator(x, True), operator(x, False)  # noqa: FBT003 - a value

    library = new_library("my")
    library.define("attributes(Tensor x, bool given) -> (Tensor[], Tensor)")
    library.impl(
        "attributes", lambda x, _: ([torch.empty_like(x) for _ in range(3)], x.new_empty(1)), "Meta"
    )
    convert("attributes", converter)
    (parts, last), (_, default) = compiled(function)(torch.ones(2).to("npu"))
    assert [part.tolist() for part in parts] == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    assert (last.tolist(), default.tolist()) == ([7.0], [3.0])
    assert sorted(seen) == [
        (3, 0.5, True, "s", [1, 2], [0.5], [True]),
        (7, 1.5, False, "hi", [4], [0.25, 2.0], [False, True]),
    ]


def shift(x: Sequence[torch.Tensor], by: int, out: Sequence[torch.Tensor]) -> None:
    x[1].add_(x[0] + by)
    torch.mul(x[1], 2, out=out[0])


def convert_shift(x: object, cache: object, by: int) -> object:
    return custom_op(
        "Shift",
        inputs={"x0": x, "x1": cache},
        outputs=["y0"],
        attrs={"by": attr.Int(by)} if by else {},
    )


@pytest.mark.isolated
@pytest.mark.parametrize("name", ["shift", "shift_undeclared"])
def test_a_kernel_writes_a_tensor_of_a_list_that_its_node_has_no_output_for(name: str) -> None:
    twin.kernel("aclnnShift(aclTensorList *xRef, int64_t byOptional, aclTensorList *out)")(shift)
    library = new_library("my")
    library.define("shift(Tensor x, Tensor(a!) cache, int by) -> Tensor")
    library.define("shift_undeclared(Tensor x, Tensor cache, int by) -> Tensor")
    library.impl(name, lambda *given: torch.empty_like(given[1]), "Meta")
    convert(name, convert_shift)
    operator = getattr(torch.ops.my, name)

    def step_by(by: int) -> Callable[..., tuple[torch.Tensor, torch.Tensor]]:
        def step(x: torch.Tensor, cache: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            before = cache * 1
            return operator(x, cache, by) + before, before

        return step

    for by in (0, 3):
        run = compiled(step_by(by))
        x, cache = torch.randn(4).to("npu"), torch.zeros(4).to("npu")
        wanted = torch.zeros(4)
        for _ in range(3):
            out, before = run(x, cache)
            torch.testing.assert_close(before.cpu(), wanted)
            wanted += x.cpu() + by
            torch.testing.assert_close(cache.cpu(), wanted)
            torch.testing.assert_close(out.cpu(), 2 * wanted + before.cpu())


def test_seeds_and_offsets_have_the_attributes_of_their_generators() -> None:
    ops = ow.OperatorSet("test_custom_operators")
    schema = "f(Tensor x, int seed, *, Generator? g=None, Generator? h=None, int n) -> Tensor"
    reg_op = (
        "REG_OP(F).INPUT(x, TensorType::ALL()).OUTPUT(y, TensorType::ALL())"
        ".REQUIRED_ATTR(first, Int).REQUIRED_ATTR(g_seed, Int).REQUIRED_ATTR(g_offset, Int)"
        ".REQUIRED_ATTR(h_seed, Int).REQUIRED_ATTR(h_offset, Int).REQUIRED_ATTR(last, Int)"
        ".OP_END_FACTORY_REG(F)"
    )
    ops.declare(schema, prototype=reg_op)
    (facts,) = derive(ops.freeze()).operators
    assert isinstance(facts.operator.prototype, Prototype)
    assert facts.call is not None
    names = names_of(facts, facts.operator.prototype)
    assert [slot_of(each, names).name for each in facts.call.parameters] == [
        "x",
        "first",
        "g_seed",
        "g_offset",
        "h_seed",
        "h_offset",
        "last",
        "y",
    ]
