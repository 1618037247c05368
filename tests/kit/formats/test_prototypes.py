"""REG_OP, OpDef and msOpGen's JSON -> declarations."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

import pytest

from opwright.aclnn.reg_op import snake_case
from opwright.errors import OpwrightError
from opwright.kit.declare.place import Place
from opwright.kit.declare.rules import DtypeSet, SameDtype
from opwright.kit.formats.files import read_text
from opwright.kit.formats.module_text import declaration_module
from opwright.kit.validate import validate
from tests.kit.formats.test_module_text import executed, formatted, without_place

if TYPE_CHECKING:
    from opwright.kit.formats.imported import Imported

ATTENTION = """
namespace ge {
REG_OP(TinyAttention)
    .INPUT(query, "T")
    .INPUT(key, "T")
    .OPTIONAL_INPUT(mask, TensorType({DT_BOOL, DT_UINT8}))
    .DYNAMIC_INPUT(value, "T")
    .OUTPUT(out, "T")
    .OUTPUT(log_sum, TensorType({DT_FLOAT}))
    .REQUIRED_ATTR(num_heads, Int)
    .ATTR(scale, Float, 0.5)
    .ATTR(layout, String, "B'S")
    .ATTR(window, ListInt, {-1, 2})
    .ATTR(from, Bool, true)
    .ATTR(out_type, Type, DT_FLOAT16)
    .DATATYPE(T, TensorType({DT_FLOAT16, DT_BF16}))
    .OP_END_FACTORY_REG(TinyAttention)
}
"""


def read(text: str) -> Imported:
    return read_text(text, where="ops.h", namespace="my_ops")


def reg_op(body: str) -> Imported:
    return read(f"REG_OP(TinyOp)\n{body}\n.OP_END_FACTORY_REG(TinyOp)\n")


def test_a_prototype_becomes_an_operator() -> None:
    imported = read(ATTENTION)
    (attention,) = imported.declarations[0].operators
    assert str(attention.schema) == (
        "tiny_attention(Tensor query, Tensor key, Tensor? mask, Tensor[] value, int num_heads, "
        'float scale=0.5, str layout="B\'S", int[] window=[-1, 2], bool from_=True, '
        "ScalarType? out_type=None) -> (Tensor out, Tensor log_sum)"
    )
    assert attention.dtypes == {
        "query": DtypeSet(("float16", "bfloat16")),
        "key": SameDtype("query"),
        "mask": DtypeSet(("bool", "uint8")),
        "value": SameDtype("query"),
        "out": SameDtype("query"),
        "log_sum": DtypeSet(("float32",)),
    }
    assert attention.place == Place("ops.h", 3)
    assert [(note.subject, note.detail) for note in imported.notes] == [
        ("reserved word as a name", "from, now from_")
    ]


@pytest.mark.parametrize("text", [ATTENTION])
def test_the_module_of_a_prototype(text: str) -> None:
    (declaration,) = read(text).declarations
    module = declaration_module(declaration)
    assert formatted(module) == module
    found = executed(module).freeze()
    assert [*map(without_place, found.operators)] == [*map(without_place, declaration.operators)]


@pytest.mark.parametrize(
    ("body", "schema"),
    [
        (
            ".INPUT(x, TensorType::ALL()).OUTPUT(y, TensorType::ALL())",
            "tiny_op(Tensor x) -> Tensor",
        ),
        (
            (
                ".INPUT(x, TensorType::ALL()).OPTIONAL_INPUT(y, TensorType::ALL())"
                ".OUTPUT(x, TensorType::ALL()).OUTPUT(z, TensorType::ALL())"
            ),
            "tiny_op(Tensor(a!) x, Tensor? y=None) -> Tensor",
        ),
        (
            ".INPUT(x, TensorType::ALL()).OUTPUT(x, TensorType::ALL())",
            "tiny_op(Tensor(a!) x) -> ()",
        ),
        (
            (
                ".INPUT(x, TensorType::ALL()).ATTR(a, Int, 1).REQUIRED_ATTR(b, Int)"
                ".OUTPUT(y, TensorType::ALL())"
            ),
            "tiny_op(Tensor x, *, int a=1, int b) -> Tensor",
        ),
        (
            (
                ".INPUT(x, TensorType::ALL()).DYNAMIC_OUTPUT(y, TensorType::ALL())"
                '.ATTR(names, ListString, {"a", "b"})'
            ),
            "tiny_op(Tensor x, str[] names=['a', 'b']) -> Tensor[]",
        ),
        (
            (
                ".INPUT(x, TensorType::ALL()).OUTPUT(x_out, TensorType::ALL())"
                ".OUTPUT(x1, TensorType::ALL()).ATTR(x1, Int, 3)"
            ),
            "tiny_op(Tensor x, int x1=3) -> (Tensor, Tensor)",
        ),
    ],
)
def test_schemas(body: str, schema: str) -> None:
    (operator,) = reg_op(body).declarations[0].operators
    assert str(operator.schema) == schema


def test_what_a_schema_cannot_say_is_noted() -> None:
    imported = reg_op(
        ".INPUT(x, TensorType({DT_STRING})).OUTPUT(y, TensorType({DT_INT8, DT_BOOL}))"
        ".ATTR(t, Tensor, Tensor()).ATTR(d, Int, kDefault).GRAPH(body)"
    )
    (operator,) = imported.declarations[0].operators
    assert str(operator.schema) == "tiny_op(Tensor x, int d) -> Tensor"
    assert [(note.subject, note.detail) for note in imported.notes] == [
        ("attribute without a type left out", "t (Tensor)"),
        ("subgraph left out", "body"),
        ("default that is no literal left out", "d"),
        ("dtypes of x left out", "DT_STRING"),
        ("which dtype an output has is not said", "out: bool int8"),
    ]


def test_an_operator_that_a_schema_cannot_say_is_left_out() -> None:
    imported = reg_op(".INPUT(x, TensorType::ALL()).REQUIRED_ATTR(pads, ListListInt)")
    assert imported.declarations[0].operators == ()
    assert [str(note) for note in imported.notes] == [
        (
            "ops.h:1, TinyOp: left out, a required attribute has no type in a schema: "
            "pads (ListListInt)"
        )
    ]


PROJECT = """
class ClampRows : public OpDef {
 public:
  explicit ClampRows(const char *name) : OpDef(name) {
    this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT, ge::DT_FLOAT16});
    this->Input("rows").ParamType(REQUIRED).DataType({ge::DT_INT64}).ValueDepend(REQUIRED);
    this->Input("low").Scalar();
    this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT, ge::DT_FLOAT16});
    this->Attr("axis").AttrType(OPTIONAL).Int(-1);
  }
};
"""


def test_an_op_def_with_what_the_host_reads() -> None:
    (clamp,) = read(PROJECT).declarations[0].operators
    assert str(clamp.schema) == (
        "clamp_rows(Tensor x, int[] rows, Scalar low, int axis=-1) -> Tensor"
    )
    assert clamp.dtypes == {
        "x": DtypeSet(("float32", "float16")),
        "out": SameDtype("x"),
    }
    assert clamp.prototype == "ClampRows"
    module = declaration_module(read(PROJECT).declarations[0])
    call = (
        "aclnnClampRows(aclTensor x, aclIntArray rows, aclScalar low, int64_t axis, aclTensor out)"
    )
    assert f'    aclnn=(\n        "{call}"\n    ),\n' in module
    assert [*validate(executed(module).freeze())] == []


JSON = [
    {
        "op": "TinyAdd",
        "language": "cpp",
        "input_desc": [
            {
                "name": "x",
                "param_type": "required",
                "format": ["ND", "ND"],
                "type": ["fp16", "float"],
            },
            {"name": "y", "param_type": "optional", "format": "NCHW", "type": ["fp16", "float"]},
            {"name": "z", "param_type": "dynamic", "format": ["ND", "ND"], "type": "int32"},
        ],
        "output_desc": [
            {"name": "out", "format": ["ND", "ND"], "type": ["fp16", "float"]},
        ],
        "attr": [
            {"name": "axes", "param_type": "optional", "type": "list_int", "default_value": [0]},
            {"name": "alpha", "param_type": "optional", "type": "float", "default_value": "1"},
            {"name": "flag", "param_type": "optional", "type": "bool", "default_value": "False"},
            {"name": "mode", "param_type": "required", "type": "string"},
        ],
    }
]


def test_a_definition_for_msopgen() -> None:
    imported = read_text(json.dumps(JSON, indent=1), where="add.json", namespace="my_ops")
    (add,) = imported.declarations[0].operators
    assert str(add.schema) == (
        "tiny_add(Tensor x, Tensor? y, Tensor[] z, *, int[] axes=[0], float alpha=1.0, "
        "bool flag=False, str mode) -> Tensor"
    )
    assert add.dtypes == {
        "x": DtypeSet(("float16", "float32")),
        "y": SameDtype("x"),
        "z": DtypeSet(("int32",)),
        "out": SameDtype("x"),
    }
    assert [note.detail for note in imported.notes] == ["y: NCHW"]
    module = declaration_module(imported.declarations[0])
    assert formatted(module) == module
    assert without_place(executed(module).freeze().operators[0]) == without_place(add)
    assert dataclasses.replace(add.place, file="") == Place("", 3)


def changed(**fields: object) -> str:
    """Return the definition with some fields replaced."""
    return json.dumps([{**JSON[0], **fields}])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[{"op": }]',
            (
                "  where:   add.json:1\n"
                "  got:     Expecting value\n"
                "  fix:     correct the JSON at this line"
            ),
        ),
        (
            "[{}]",
            (
                "  where:   add.json\n"
                "  got:     {}\n"
                '  fix:     write an object with "op": "NameOfTheOperator"'
            ),
        ),
        (
            changed(inputs=[]),
            (
                "  where:   add.json, operator TinyAdd\n"
                "  got:     key 'inputs'\n"
                "  allowed: input_desc, attr, language, op, output_desc\n"
                "  fix:     correct the definition"
            ),
        ),
        (
            changed(output_desc=[]),
            (
                "  where:   add.json, operator TinyAdd\n"
                "  got:     no output_desc\n"
                "  fix:     describe the outputs"
            ),
        ),
        (
            changed(output_desc=[{"name": "y", "type": ["fp16", "fp32", "int8"]}]),
            (
                "  where:   add.json, operator TinyAdd\n"
                "  got:     type lists of 2 and 3 elements\n"
                "  fix:     give every port as many types: those at one index go together"
            ),
        ),
        (
            changed(attr=[{"name": "a", "type": "int", "default_value": "x"}]),
            None,
        ),
        (
            changed(
                attr=[
                    {"name": "a", "type": "int", "param_type": "optional", "default_value": "one"}
                ]
            ),
            (
                "  where:   add.json, operator TinyAdd, attribute a, default_value\n"
                "  got:     'one'\n"
                "  fix:     write a value of type Int"
            ),
        ),
        (
            changed(attr=[{"name": "a", "type": "int", "param_type": "needed"}]),
            (
                "  where:   add.json, operator TinyAdd, attribute a, param_type\n"
                "  got:     'needed'\n"
                "  allowed: dynamic, optional, required\n"
                "  fix:     correct the definition"
            ),
        ),
    ],
)
def test_mistakes_in_json(text: str, message: str | None) -> None:
    if message is None:
        assert read_text(text, where="add.json", namespace="x").declarations[0].operators
        return
    with pytest.raises(OpwrightError) as caught:
        read_text(text, where="add.json", namespace="x")
    assert str(caught.value) == f"OPW-S004 not an operator definition of msOpGen\n{message}"


def test_an_unknown_dtype_names_the_nearest() -> None:
    text = changed(output_desc=[{"name": "y", "type": "flaot16"}])
    with pytest.raises(OpwrightError) as caught:
        read_text(text, where="add.json", namespace="x")
    assert caught.value.allowed[0] == "float16"


@pytest.mark.parametrize(
    ("op_type", "name"),
    [
        ("RmsNorm", "rms_norm"),
        ("MatMulV3", "mat_mul_v3"),
        ("FFN", "ffn"),
        ("NPUAdd2D", "npu_add2_d"),
    ],
)
def test_names(op_type: str, name: str) -> None:
    assert snake_case(op_type) == name
