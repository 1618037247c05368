"""REG_OP and OpDef -> aclnn functions. The rules are opbuild's; its names are in the examples."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pytest

from opwright.aclnn.op_def import parse_op_def
from opwright.aclnn.prototype import Port, Prototype, PrototypeError, derive
from opwright.aclnn.reg_op import parse_reg_op
from opwright.aclnn.signature import SignatureError
from opwright.twin.user_kernels.source import read_source

if TYPE_CHECKING:
    from pathlib import Path

ADD = """
// custom_reg_op.h
#include "operator_reg.h"
namespace ge {
REG_OP(AddCustom)
    .INPUT(x, ge::TensorType::ALL())
    .INPUT(y, ge::TensorType({DT_FLOAT16, DT_FLOAT}))  /* the .other( operand */
    .OUTPUT(z, ge::TensorType::ALL())
    .OP_END_FACTORY_REG(AddCustom);
}
"""

ATTENTION = """
REG_OP(PagedAttention)
    .INPUT(query, "T1")
    .OPTIONAL_INPUT(block_table, TensorType(UnaryDataType))
    .DYNAMIC_INPUT(key_cache, TensorType:ALL())
    .OUTPUT(attention, "T1")
    .DYNAMIC_OUTPUT(log_sum, TensorType({DT_FLOAT}))
    .REQUIRED_ATTR(num_heads, Int)
    .ATTR(scale, Float, 1.5e-1f)
    .ATTR(layout, String, "B\\"S(H)")
    .ATTR(pads, ListInt, {1, -2})
    .ATTR(flags, ListBool, {})
    .DATATYPE(T1, TensorType({DT_FLOAT16, DT_BF16}))
    .OP_END_FACTORY_REG(PagedAttention)
"""

PROJECT = """
#include "register/op_def_registry.h"
namespace ops {
class ScatterCustom : public OpDef {
 public:
    explicit ScatterCustom(const char *name) : OpDef(name)
    {
        this->Input("var").ParamType(REQUIRED).DataType({ge::DT_FLOAT, ge::DT_FLOAT16});
        this->Input("sizes").DataType({ge::DT_INT64, ge::DT_INT32}).ValueDepend(REQUIRED);
        this->Input("value").Scalar();
        this->Input("mask").ParamType(OPTIONAL).Version(1);
        this->Output("var");
        this->Output("old_value");
        this->Attr("axis").AttrType(OPTIONAL).Int(-1);
        this->Attr("mode").AttrType(OPTIONAL).String("add").Version(1);
        OpAICoreConfig config;
        config.Input("var").ParamType(DYNAMIC);
        this->AICore().AddConfig("ascend910b", config);
    }
};
OP_ADD(ScatterCustom);
}
"""


def functions(text: str) -> list[str]:
    return [str(function) for function in read_source(text, None, where="ops.py:7").functions]


def test_reg_op() -> None:
    assert functions(ADD) == [
        "aclnnAddCustom(const aclTensor *x, const aclTensor *y, aclTensor *out)"
    ]


def test_reg_op_with_all_kinds_of_ports_and_attributes() -> None:
    assert functions(ATTENTION) == [
        (
            "aclnnPagedAttention(const aclTensor *query, const aclTensor *blockTableOptional, "
            "const aclTensorList *keyCache, int64_t numHeads, double scale, char *layoutOptional, "
            "const aclIntArray *padsOptional, const aclBoolArray *flagsOptional, "
            "aclTensor *attentionOut, aclTensorList *logSumOut)"
        )
    ]


def test_defaults_of_attributes() -> None:
    assert dict(read_source(ATTENTION, None, where="").defaults) == {
        "scale": 0.15,
        "layoutOptional": 'B"S(H)',
        "padsOptional": (1, -2),
        "flagsOptional": (),
    }


def test_op_def_with_versions_refs_and_values() -> None:
    old = "aclTensor *varRef, const aclIntArray *sizes, const aclScalar *value, "
    new = f"{old}const aclTensor *maskOptional, int64_t axis, char *modeOptional, "
    assert functions(PROJECT) == [
        f"aclnnScatterCustom({old}int64_t axis, aclTensor *oldValueOut)",
        f"aclnnScatterCustomV1({new}aclTensor *oldValueOut)",
        f"aclnnScatterCustomV1Tensor({new}aclTensor *oldValueOut)".replace(
            "aclIntArray", "aclTensor"
        ),
    ]
    interface = read_source(PROJECT, None, where="")
    assert interface.parameters == interface.functions[1].parameters
    assert dict(interface.defaults) == {"axis": -1, "modeOptional": "add"}


def test_an_input_that_is_called_ref_is_written() -> None:
    prototype = Prototype(op_type="F", inputs=(Port(name="cache_ref"),), outputs=())
    assert str(derive(prototype).functions[0]) == "aclnnF(aclTensor *cacheRef)"


def test_files_and_the_choice_among_several(tmp_path: Path) -> None:
    header = tmp_path / "ops.h"
    header.write_text(ADD + ATTENTION)
    chosen = read_source(header, "AddCustom", where="ops.py:7")
    assert chosen == read_source(str(header), "AddCustom", where="ops.py:7")
    assert chosen.functions[0].name == "aclnnAddCustom"
    with pytest.raises(PrototypeError) as caught:
        read_source(header, "AddCustm", where="ops.py:7")
    assert str(caught.value) == (
        "OPW-K002 not a prototype that aclnn functions can be derived from\n"
        f"  where:   {header}\n"
        "  got:     op='AddCustm'\n"
        "  allowed: AddCustom, PagedAttention\n"
        "  fix:     choose one with op="
    )


def test_a_header_of_aclnn_functions(tmp_path: Path) -> None:
    header = tmp_path / "aclnn_neg.h"
    end = "uint64_t *workspaceSize, aclOpExecutor **executor);"
    header.write_text(
        textwrap.dedent(f"""
        aclnnStatus aclnnNegGetWorkspaceSize(const aclTensor *x, const aclTensor *out, {end}
        aclnnStatus aclnnNeg(void *workspace, uint64_t size, aclOpExecutor *e, aclrtStream s);
        aclnnStatus aclnnInplaceNegGetWorkspaceSize(aclTensor *selfRef, {end}
        """)
    )
    chosen = read_source(header, "aclnnNeg", where="")
    assert [str(f) for f in chosen.functions] == ["aclnnNeg(const aclTensor *x, aclTensor *out)"]
    with pytest.raises(SignatureError, match="2 operators and no choice"):
        read_source(header, None, where="")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "REG_OP(A)\n  .INPUT(x, T)\n  .OP_END_FACTORY_REG(B)",
            (
                "  where:   f.h:3, operator A\n"
                "  got:     an end with OP_END_FACTORY_REG(B)\n"
                "  allowed: OP_END_FACTORY_REG(A)\n"
                "  fix:     end the prototype as it begins"
            ),
        ),
        (
            "REG_OP(A)\n  .INPUTS(x, T)\n  .OP_END_FACTORY_REG(A)",
            (
                "  where:   f.h:2, operator A\n"
                "  got:     INPUTS\n"
                "  allowed: INPUT, ATTR, DATATYPE, DYNAMIC_GRAPH, DYNAMIC_INPUT, DYNAMIC_OUTPUT, "
                "GRAPH, OPTIONAL_INPUT, OPTIONAL_OUTPUT, OUTPUT, REQUIRED_ATTR\n"
                "  fix:     correct the prototype, or give the aclnn signature itself"
            ),
        ),
        (
            "REG_OP(A)\n  .ATTR(t, Tipe, DT_FLOAT)\n  .OP_END_FACTORY_REG(A)",
            (
                "  where:   f.h:2, attribute t\n"
                "  got:     type 'Tipe'\n"
                "  allowed: Type, AscendString, Bool, Bytes, Float, Int, ListAscendString, "
                "ListBool, ListFloat, ListInt, ListListInt, ListNamedAttrs, ListString, "
                "ListTensor, ListType, NamedAttrs, String, Tensor\n"
                "  fix:     use an attribute type of operator_reg.h"
            ),
        ),
        (
            "REG_OP(A)\n  .INPUT(x, T(\n",
            "  where:   f.h:2\n  got:     a parenthesis that is not closed\n  fix:     close it",
        ),
    ],
)
def test_mistakes_in_reg_op(text: str, message: str) -> None:
    with pytest.raises(PrototypeError) as caught:
        parse_reg_op(text, where="f.h")
    title = "OPW-K002 not a prototype that aclnn functions can be derived from\n"
    assert str(caught.value) == title + message


def test_an_attribute_that_no_aclnn_function_takes() -> None:
    (prototype,) = parse_reg_op(
        "REG_OP(A).ATTR(t, Type, ge::DT_FLOAT).OP_END_FACTORY_REG(A)", where="f.h"
    )
    assert prototype.attributes[0].default == "DT_FLOAT"
    with pytest.raises(PrototypeError) as caught:
        derive(prototype)
    assert caught.value.got == "type 'Type'"


@pytest.mark.parametrize(
    ("body", "got"),
    [
        ("", "neither Input nor Output"),
        ('this->Input("x").ParamType(SOME);', "ParamType(SOME)"),
        ('this->Output("y").OutputShapeDependOnCompute();', "OutputShapeDependOnCompute"),
        ('this->Input("x"); this->Attr("a");', "no type"),
        ('this->Input("x"); this->Attr("a").ListListInt();', "ListListInt"),
        (
            'this->Input("x").DataType({ge::DT_FLOAT, ge::DT_INT64}).ValueDepend(REQUIRED);',
            "ValueDepend with DT_FLOAT, DT_INT64",
        ),
    ],
)
def test_mistakes_in_op_def(body: str, got: str) -> None:
    with pytest.raises(PrototypeError) as caught:
        parse_op_def(f"class A : public OpDef {{ A(const char *n) {{ {body} }} }};", where="a.cpp")
    assert caught.value.got == got
