"""Prototypes of CANN's operator types: TorchAir's, and those that it has none of.

TorchAir's are the texts in the functions of its generated module, read without importing it (it has
85,000 lines). A type is parsed when it is first asked for.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import re
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.aclnn.prototype import PrototypeError
from opwright.aclnn.reg_op import parse_reg_op
from opwright.graph_engine.prototypes import cann_attention
from opwright.graph_engine.prototypes.cann_attention import ATTENTION
from opwright.graph_engine.prototypes.packages import installed_types

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.aclnn.prototype import Prototype

__all__ = ["attribute_type", "of_torchair", "types"]

GENERATED = "dynamo/torchair/_ge_concrete_graph/auto_generated_ge_raw_ops.py"
DOCUMENTED = re.compile(r'"""REG_OP\((\w+)\).*?"""', re.DOTALL)
END = "OP_END_FACTORY_REG"
# Types of CANN that the generated module has no functions for.
BASIC = """
#define FLOATS TensorType({DT_FLOAT, DT_FLOAT16, DT_BF16})
REG_OP(Data).INPUT(x, TensorType::ALL()).OUTPUT(y, TensorType::ALL()).ATTR(index, Int, 0)
.OP_END_FACTORY_REG(Data)
REG_OP(Const).OUTPUT(y, TensorType::ALL()).ATTR(value, Tensor, Tensor())
.OP_END_FACTORY_REG(Const)
REG_OP(Constant).OUTPUT(y, TensorType::ALL()).ATTR(value, Tensor, Tensor())
.OP_END_FACTORY_REG(Constant)
REG_OP(Cast).INPUT(x, TensorType::ALL()).OUTPUT(y, TensorType::ALL()).REQUIRED_ATTR(dst_type, Int)
.OP_END_FACTORY_REG(Cast)
REG_OP(GroupNormSwish).INPUT(x, FLOATS).INPUT(gamma, FLOATS).INPUT(beta, FLOATS)
.OUTPUT(y, FLOATS).OUTPUT(mean, FLOATS).OUTPUT(rstd, FLOATS)
.REQUIRED_ATTR(num_groups, Int).ATTR(data_format, String, "NCHW").ATTR(eps, Float, 0.00001)
.ATTR(activate_swish, Bool, true).ATTR(swish_scale, Float, 1.0)
.OP_END_FACTORY_REG(GroupNormSwish)
REG_OP(GroupNormSwishGrad).INPUT(dy, FLOATS).INPUT(mean, FLOATS).INPUT(rstd, FLOATS)
.INPUT(x, FLOATS).INPUT(gamma, FLOATS).INPUT(beta, FLOATS)
.OUTPUT(dx, FLOATS).OUTPUT(dgamma, FLOATS).OUTPUT(dbeta, FLOATS)
.REQUIRED_ATTR(num_groups, Int).ATTR(data_format, String, "NCHW").ATTR(swish_scale, Float, 1.0)
.ATTR(dgamma_is_require, Bool, true).ATTR(dbeta_is_require, Bool, true)
.OP_END_FACTORY_REG(GroupNormSwishGrad)
"""
# Some texts of the generated module are misprinted; names, presence and types can still be read.
PORT = re.compile(
    r"^\s*\.?((?:OPTIONAL_|DYNAMIC_)?(?:INPUT|OUTPUT))\(\s*(\w+)\s*,.*$", re.MULTILINE
)
MISPRINTS = {r"\bATRR\b": "ATTR", r",\s*int\b": ", Int"}


def types() -> tuple[str, ...]:
    """Return the operator types of installed packages, and CANN's.

    Raises
    ------
    PrototypeError
        OPW-K002: a header of an installed package cannot be read.
    """
    return tuple(dict.fromkeys((*installed_types(), *texts(), *find_basic())))


def attribute_type(kind: str) -> str:
    """Return the graph engine's name of an attribute type.

    >>> attribute_type("ListInt"), attribute_type("Type"), attribute_type("ListListInt")
    ('VT_LIST_INT', 'VT_DATA_TYPE', 'VT_LIST_LIST_INT')
    """
    words = re.findall(r"[A-Z][a-z]*", kind.replace("AscendString", "String"))
    return "VT_" + "_".join("DATA_TYPE" if word == "Type" else word.upper() for word in words)


@functools.cache
def of_torchair(op_type: str) -> Prototype | None:
    """Return CANN's prototype of a type, as TorchAir has it."""
    text = texts().get(op_type)
    if text is None or op_type in find_basic():
        return find_basic().get(op_type)
    plain = str(ast.literal_eval(text))
    if END not in plain:
        plain += f".{END}({op_type})"
    where = f"{GENERATED}, {op_type}"
    try:
        return single(plain, where=where)
    except PrototypeError:
        return single(repair(plain, op_type), where=where)


def single(text: str, *, where: str) -> Prototype:
    """Read the one prototype of a text."""
    return parse_reg_op(text, where=where)[0]


def repair(text: str, op_type: str) -> str:
    """Return a misprinted prototype so that it can be read; its dtypes are lost."""
    body = text.partition(END)[0].rstrip(". \n")
    for wrong, right in MISPRINTS.items():
        body = re.sub(wrong, right, body)
    return PORT.sub(r".\1(\2, TensorType::ALL())", body) + f"\n.{END}({op_type})"


@functools.cache
def find_basic() -> Mapping[str, Prototype]:
    """Return the prototypes that the generated module leaves out, or has without all attributes."""
    texts = {GENERATED: BASIC, cann_attention.__name__: ATTENTION}
    return {
        found.op_type: found
        for where, text in texts.items()
        for found in parse_reg_op(text, where=where)
    }


@functools.cache
def texts() -> Mapping[str, str]:
    """Return the documentation strings of the generated module by type, as they are written."""
    spec = importlib.util.find_spec("torch_npu")
    places = (spec and spec.submodule_search_locations) or ()
    files = [Path(place) / GENERATED for place in places]
    source = next((file.read_text(encoding="utf-8") for file in files if file.is_file()), "")
    return {match[1]: match[0] for match in DOCUMENTED.finditer(source)}
