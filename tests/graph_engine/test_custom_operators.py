"""Custom operators in GE graphs: the user's kernel serves the type of the same name."""

from __future__ import annotations

import pytest

import opwright as ow
from opwright.aclnn.prototype import Prototype
from opwright.graph_engine.user_kernels.types import names_of, slot_of
from opwright.kit.derive import derive
from tests.twin.on_twin import output

PRELUDE = """
import torchair
from opwright import twin
from torchair import register_fx_node_ge_converter
from torchair.ge import attr, custom_op

def compiled(function, dynamic=False):
    torch._dynamo.reset()
    backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
    return torch.compile(function, backend=backend, dynamic=dynamic)

library = torch.library.Library("my", "DEF")
"""

OPERATORS = '''
@twin.kernel("""REG_OP(MyOp)
    .INPUT(x, TensorType({DT_FLOAT}))
    .OPTIONAL_INPUT(y, TensorType({DT_FLOAT}))
    .DYNAMIC_INPUT(z, TensorType({DT_FLOAT}))
    .OUTPUT(out, TensorType({DT_FLOAT}))
    .REQUIRED_ATTR(attr1, Float)
    .REQUIRED_ATTR(attr2, Int)
    .OP_END_FACTORY_REG(MyOp)""")
def my_op(x, y, z, attr1, attr2, out):
    result = x.numpy() * attr1 + attr2  # numpy: the kernel is not traced
    for each in z if y is None else [y, *z]:
        result = result + each.numpy()
    out.copy_(torch.from_numpy(result))

@twin.kernel("""REG_OP(MyInplace)
    .INPUT(x, TensorType({DT_FLOAT}))
    .INPUT(y, TensorType({DT_FLOAT}))
    .OUTPUT(x, TensorType({DT_FLOAT}))
    .OUTPUT(z, TensorType({DT_FLOAT}))
    .OP_END_FACTORY_REG(MyInplace)""")
def my_inplace(x, y, z):
    x.add_(y)
    z.copy_(y * 2)

library.define("my_op(Tensor x, Tensor? y, Tensor[] z, float attr1, int attr2) -> Tensor")
library.define("my_inplace(Tensor(a!) x, Tensor y) -> Tensor")
library.impl("my_op", lambda x, *_: torch.empty_like(x), "Meta")
library.impl("my_inplace", lambda x, y: torch.empty_like(y), "Meta")
'''

CONVERTERS = {
    "automatic": "",
    "positional": """
@register_fx_node_ge_converter(torch.ops.my.my_op.default)
def convert(x, y, z, attr1, attr2, meta_outputs=None):
    return custom_op("MyOp", x, y, z, attr1, attr2)

@register_fx_node_ge_converter(torch.ops.my.my_inplace.default)
def convert(x, y, meta_outputs=None):
    return custom_op("MyInplace", x, y)[1]
""",
    "named": """
@register_fx_node_ge_converter(torch.ops.my.my_op.default)
def convert(x, y, z, attr1, attr2, meta_outputs=None):
    attributes = {"attr1": attr.Float(attr1), "attr2": attr.Int(attr2)}
    return custom_op("MyOp", inputs={"x": x, "y": y, "z": z}, outputs=["out"], attrs=attributes)

@register_fx_node_ge_converter(torch.ops.my.my_inplace.default)
def convert(x, y, meta_outputs=None):
    return custom_op("MyInplace", inputs={"x": x, "y": y}, outputs=["x", "z"])[1]
""",
}

CHECKS = """
ops = torch.ops.my
functional = lambda x, y, z: (ops.my_op(x, None, z, 2.0, 5) + 1, ops.my_op(x, y, z, 2.5, -3))

def inplace(x, y):
    z = ops.my_inplace(x, y)
    return ops.my_inplace(x, z) + x

for dynamic, lengths in ((False, (2, 2)), (True, (2, 3, 5))):
    function = compiled(functional, dynamic)
    for length in lengths:
        x, y, a, b = (torch.randn(length, 4) for _ in range(4))
        first, second = function(x.npu(), y.npu(), [a.npu(), b.npu()])
        torch.testing.assert_close(first.cpu(), x * 2 + 5 + a + b + 1)
        torch.testing.assert_close(second.cpu(), x * 2.5 - 3 + y + a + b)
    function = compiled(inplace, dynamic)
    for length in lengths:
        x, y = (torch.randn(length, 4) for _ in range(2))
        written = x.npu()
        result = function(written, y.npu())
        torch.testing.assert_close(written.cpu(), x + 3 * y)
        torch.testing.assert_close(result.cpu(), 4 * y + x + 3 * y)
print("equal")
"""


@pytest.mark.parametrize("converter", CONVERTERS)
def test_functional_and_inplace_operators_with_every_kind_of_converter(converter: str) -> None:
    printed = output(PRELUDE + OPERATORS + CONVERTERS[converter] + CHECKS)
    assert printed.splitlines()[-1] == "equal"


FAULTS = """
@twin.kernel("REG_OP(Twice).INPUT(x, TensorType::ALL()).OUTPUT(y, TensorType({DT_FLOAT}))"
             ".ATTR(factor, Float, 2.0).OP_END_FACTORY_REG(Twice)")
def twice(x, factor, y):
    y.copy_(x * factor)

from torchair._ge_concrete_graph.compat_ir import ge_op

like = torch.empty_like
longer = lambda x: x.new_empty(x.shape[0] + 1)
halves = lambda x: torch.empty_like(x, dtype=torch.float16)
make = lambda inputs, **attrs: lambda x: custom_op(
    "Twice", inputs={name: x for name in inputs}, outputs=["y"], attrs=attrs
)
relu = lambda x: ge_op("Relu", inputs={"x": x}, outputs=["y"])
cast = lambda x: ge_op("Cast", inputs={"x": x}, outputs=["y"], attrs={"dst_type": attr.Str("a")})
cases = {
    "an input that the prototype lacks": (like, make("w"), "an input 'w'"),
    "no input": (like, make(""), "no input 'x'"),
    "attribute of another type": (like, make("x", factor=attr.Str("a")), "attribute 'factor'"),
    "unknown attribute": (like, make("x", fact=attr.Float(1.0)), "an attribute 'fact'"),
    "attribute of CANN's operator": (like, cast, "attribute 'dst_type'"),
    "shape": (longer, relu, "float32[4] from Meta"),
    "dtype": (halves, relu, "float16[3] from Meta"),
    "dtype of a custom operator": (halves, make("x"), "torch.float16"),
}
def operator(name, meta, converter):
    library.define(f"{name}(Tensor x) -> Tensor")
    library.impl(name, meta, "Meta")
    overload = getattr(torch.ops.my, name).default
    register_fx_node_ge_converter(overload)(lambda x, meta_outputs=None: converter(x))
    return overload

wrong = []
good = operator("good", like, make("x"))
for index, (name, (meta, converter, text)) in enumerate(cases.items()):
    bad = operator(f"bad{index}", meta, converter)
    for dynamic in (False, True):
        try:
            compiled(lambda x: bad(x) + 1, dynamic)(torch.ones(3).npu())
            found = "no error"
        except RuntimeError as error:
            found = str(error)
        if not ("where:   node '" in found and text in found):
            wrong.append(f"{name}, dynamic {dynamic}: {found}")
        assert compiled(lambda x: good(x) + 1, dynamic)(torch.ones(3).npu()).tolist() == [3] * 3
print(wrong)
"""


def test_what_contradicts_a_prototype_or_meta_names_the_node_and_the_session_goes_on() -> None:
    assert output(PRELUDE + FAULTS).splitlines()[-1] == "[]"


DAMAGED = """
from opwright.graph_engine.errors import GraphFormError
from opwright.graph_engine.read import read_model
from torchair._ge_concrete_graph.ge_ir_pb2 import ModelDef

def model(*edges):
    made = ModelDef()
    graph = made.graph.add()
    for name, sources in edges:
        node = graph.op.add(name=name, type="Add")
        node.input.extend(sources)
        for index in range(len(sources)):
            node.input_desc.add(name=f"x{index + 1}")
        node.output_desc.add(name="y")
    return made.SerializeToString()

whole = model(("a", []), ("b", ["a:0", "a:0"]))
assert [node.name for node in read_model(whole).nodes] == ["a", "b"]
cases = {
    "cycle": (model(("a", ["b:0"]), ("b", ["a:0"])), "node 'b'", "a cycle through 'a'"),
    "dangling": (model(("b", ["nobody:0"])), "node 'b'", "'nobody'"),
    "output": (model(("a", []), ("b", ["a:1"])), "node 'b'", "output 1 of 'a'"),
    "twice": (model(("a", []), ("a", [])), "graph", "two nodes called 'a'"),
    "empty": (b"", "the serialized model", "no graph"),
    "corrupt": (b"zzz" + whole, "the serialized model", ""),
    **{
        f"truncated at {size}": (whole[:size], "", "")
        for size in range(1, len(whole))
    },
}
wrong = []
for name, (bytes_, where, got) in cases.items():
    try:
        read_model(bytes_)
        wrong.append(name)
    except GraphFormError as error:
        if not (where in str(error) and got in str(error)):
            wrong.append(f"{name}: {error}")
print(wrong)
"""


def test_a_damaged_model_is_refused_with_the_node_and_the_cause() -> None:
    assert output(PRELUDE + DAMAGED).splitlines()[-1] == "[]"


KIT = """
import opwright as ow

declared = ow.OperatorSet("kit", version="1.0")

@declared.operator(
    "scaled(Tensor x, Tensor? y, Tensor[] z, float alpha, int times=2) -> (Tensor out, Tensor sum)",
    shapes={"x": "N, D", "out": "2*N, D", "sum": "N"},
    dtypes={"x": "float32 float16", "sum": "float32"},
)
def scaled(x, y, z, alpha, times=2):
    result = torch.cat([x, x]) * alpha + times
    for each in z if y is None else [y, *z]:
        result = result + each.sum()
    return result, x.float().sum(1)

declared.load()
scaled = torch.ops.kit.scaled
function = lambda x, y, z: (scaled(x, None, z, 2.5), scaled(x, y, [], 1.5, 3))
for dynamic, lengths in ((False, (2,)), (True, (2, 3, 5))):
    graph = compiled(function, dynamic)
    for length in lengths:
        x, y, z = (torch.randn(length, 4).npu() for _ in range(3))
        torch.testing.assert_close(graph(x, y, [y, z]), function(x, y, [y, z]))
print("equal")
"""


def test_operators_of_the_kit_need_no_converter() -> None:
    assert output(PRELUDE + KIT).splitlines()[-1] == "equal"


ATTRIBUTES = """
@twin.kernel("REG_OP(Attributes).INPUT(x, TensorType::ALL())"
             ".DYNAMIC_OUTPUT(parts, TensorType::ALL()).OUTPUT(last, TensorType::ALL())"
             ".ATTR(a, Int, 3).ATTR(b, Float, 0.5).ATTR(c, Bool, true).ATTR(d, String, \\"s\\")"
             ".ATTR(e, ListInt, {1, 2}).ATTR(f, ListFloat, {0.5}).ATTR(g, ListBool, {true})"
             ".OP_END_FACTORY_REG(Attributes)")
def attributes(x, a, b, c, d, e, f, g, parts, last):
    print(a, b, c, d, e, f, g, flush=True)
    for index, part in enumerate(parts):
        part.copy_(x * index)
    last.fill_(a)

library.define("attributes(Tensor x, bool given) -> (Tensor[], Tensor)")
library.impl(
    "attributes", lambda x, given: ([torch.empty_like(x) for _ in range(3)], x.new_empty(1)), "Meta"
)

@register_fx_node_ge_converter(torch.ops.my.attributes.default)
def convert(x, given, meta_outputs=None):
    values = {
        "a": attr.Int(7), "b": attr.Float(1.5), "c": attr.Bool(False), "d": attr.Str("hi"),
        "e": attr.ListInt([4]), "f": attr.ListFloat([0.25, 2.0]), "g": attr.ListBool([False, True]),
    }
    outputs = [("parts", 3), "last"]
    return custom_op(
        "Attributes", inputs={"x": x}, outputs=outputs, attrs=values if given else {}
    )

function = compiled(lambda x: (torch.ops.my.attributes(x, True), torch.ops.my.attributes(x, False)))
(parts, last), (_, default) = function(torch.ones(2).npu())
print([part.tolist() for part in parts], last.tolist(), default.tolist())
"""


def test_attributes_of_every_kind_and_a_dynamic_output() -> None:
    lines = output(PRELUDE + ATTRIBUTES).splitlines()
    assert sorted(lines[-3:-1]) == [
        "3 0.5 True s [1, 2] [0.5] [True]",
        "7 1.5 False hi [4] [0.25, 2.0] [False, True]",
    ]
    assert lines[-1] == "[[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]] [7.0] [3.0]"


IN_A_LIST = """
@twin.kernel("aclnnShift(aclTensorList *xRef, int64_t byOptional, aclTensorList *out)")
def shift(x, by, out):
    x[1].add_(x[0] + by)
    torch.mul(x[1], 2, out=out[0])

library.define("shift(Tensor x, Tensor(a!) cache, int by) -> Tensor")
library.define("shift_undeclared(Tensor x, Tensor cache, int by) -> Tensor")
for name in ("shift", "shift_undeclared"):
    library.impl(name, lambda x, cache, by: torch.empty_like(cache), "Meta")

    @register_fx_node_ge_converter(getattr(torch.ops.my, name).default)
    def convert(x, cache, by):
        return custom_op(
            "Shift", inputs={"x0": x, "x1": cache}, outputs=["y0"],
            attrs={"by": attr.Int(by)} if by else {},
        )

def step(operator, x, cache, by):
    before = cache * 1
    return operator(x, cache, by) + before, before

for operator in (torch.ops.my.shift, torch.ops.my.shift_undeclared):
    for by in (0, 3):
        run = compiled(lambda x, cache: step(operator, x, cache, by))
        x, cache = torch.randn(4).npu(), torch.zeros(4).npu()
        wanted = torch.zeros(4)
        for _ in range(3):
            out, before = run(x, cache)
            torch.testing.assert_close(before.cpu(), wanted)
            wanted += x.cpu() + by
            torch.testing.assert_close(cache.cpu(), wanted)
            torch.testing.assert_close(out.cpu(), 2 * wanted + before.cpu())
print("equal")
"""


def test_a_kernel_writes_a_tensor_of_a_list_that_its_node_has_no_output_for() -> None:
    assert output(PRELUDE + IN_A_LIST).splitlines()[-1] == "equal"


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
