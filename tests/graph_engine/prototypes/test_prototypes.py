"""Prototypes of operator types: where they come from, and what TorchAir gets of them."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch_npu  # noqa: F401 - torchair is found by way of it
import torchair

from opwright import twin
from opwright.aclnn.prototype import PrototypeError
from opwright.graph_engine import kernels, table
from opwright.graph_engine.lookup import find_prototype
from opwright.graph_engine.prototypes.cann import GENERATED, attribute_type, texts
from opwright.graph_engine.table import load_kernels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.aclnn.prototype import Prototype

UPGRADE = "please upgrade cann version"
MY_OP = """REG_OP(MyOp)
    .INPUT(x, TensorType({DT_FLOAT}))
    .OPTIONAL_INPUT(y, TensorType({DT_FLOAT}))
    .DYNAMIC_INPUT(z, TensorType({DT_FLOAT}))
    .OUTPUT(out, TensorType({DT_FLOAT}))
    .REQUIRED_ATTR(attr1, Float)
    .ATTR(attr2, Int, 5)
    .OP_END_FACTORY_REG(MyOp)"""


def parts(prototype: Prototype | None) -> list[tuple[str, str]]:
    """Return the names with their words."""
    assert prototype is not None
    ports = (*prototype.inputs, *prototype.outputs)
    attributes = [(each.name, attribute_type(each.type_name)) for each in prototype.attributes]
    return [*((port.name, port.presence) for port in ports), *attributes]


def install(package: Path, text: str) -> None:
    """Write the header of an operator package."""
    header = package / "op_proto" / "inc" / "op_proto.h"
    header.parent.mkdir(parents=True)
    header.write_text(text)


def test_every_prototype_of_torchair_is_read() -> None:
    unread = [name for name in texts() if find_prototype(name) is None]
    assert len(texts()) > 1700
    assert unread == []


def written_by_torchair() -> Iterator[tuple[str, str, set[str]]]:
    """Yield type, "inputs" or "attrs", and the names that TorchAir's function writes."""
    spec = importlib.util.find_spec("torch_npu")
    assert spec is not None
    assert spec.submodule_search_locations
    source = (Path(spec.submodule_search_locations[0]) / GENERATED).read_text(encoding="utf-8")
    for function in source.split("\ndef ")[1:]:
        name, whole = function.partition("(")[0], function.replace("\n", " ")
        for kind, names in re.findall(r" (inputs|attrs) = \{(.*?)\}  ", whole):
            yield name, kind, set(re.findall(r'"(\w+)": ', names))
        yield name, "attrs", set(re.findall(r'op\.attr\["(\w+)"\]', function))


def test_kernels_take_what_torchair_writes() -> None:
    """Prototypes that are printed there do not always have the names that its code writes."""
    load_kernels(kernels)
    unknown = []
    compared = set()
    for op_type, kind, names in written_by_torchair():
        kernel = table.TABLE.get(op_type)
        if kernel is not None:
            compared.add(op_type)
            known = kernel.inputs if kind == "inputs" else kernel.attributes
            unknown += [f"{op_type}: {name} of {kind}" for name in sorted(names - known.keys())]
    assert len(compared) > 300, len(compared)
    assert unknown == []


@pytest.mark.parametrize(
    ("op_type", "expected"),
    [
        ("Add", [("x1", "required"), ("x2", "required"), ("y", "required")]),
        ("Cast", [("x", "required"), ("y", "required"), ("dst_type", "VT_INT")]),
        (
            "ConcatV2",
            [
                ("x", "dynamic"),
                ("concat_dim", "required"),
                ("y", "required"),
                ("N", "VT_INT"),
            ],
        ),
        # A text whose attribute has the misprinted type `int`.
        (
            "GeluQuant",
            [
                ("x", "required"),
                ("input_scale", "optional"),
                ("input_offset", "optional"),
                ("y", "required"),
                ("out_scale", "required"),
                ("approximate", "VT_STRING"),
                ("quant_mode", "VT_STRING"),
                ("dst_type", "VT_INT"),
                ("round_mode", "VT_STRING"),
            ],
        ),
    ],
)
def test_the_parts_of_a_prototype_of_torchair(
    op_type: str, expected: list[tuple[str, str]]
) -> None:
    assert parts(find_prototype(op_type)) == expected


def test_an_unknown_type_has_none() -> None:
    assert find_prototype("NobodyDeclaresThis") is None


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("Int", "VT_INT"),
        ("Type", "VT_DATA_TYPE"),
        ("ListType", "VT_LIST_DATA_TYPE"),
        ("ListFloat", "VT_LIST_FLOAT"),
        ("AscendString", "VT_STRING"),
        ("ListString", "VT_LIST_STRING"),
        ("ListListInt", "VT_LIST_LIST_INT"),
        ("NamedAttrs", "VT_NAMED_ATTRS"),
    ],
)
def test_attribute_types_have_the_graph_engines_names(kind: str, name: str) -> None:
    assert attribute_type(kind) == name


def test_a_package_declares_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "vendors" / "me", MY_OP)
    monkeypatch.delenv("ASCEND_CUSTOM_OPP_PATH", raising=False)
    monkeypatch.setenv("ASCEND_OPP_PATH", str(tmp_path))
    expected = [
        ("x", "required"),
        ("y", "optional"),
        ("z", "dynamic"),
        ("out", "required"),
        ("attr1", "VT_FLOAT"),
        ("attr2", "VT_INT"),
    ]
    assert parts(find_prototype("MyOp")) == expected
    monkeypatch.setenv("ASCEND_OPP_PATH", str(tmp_path / "nowhere"))
    assert find_prototype("MyOp") is None


def test_a_package_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "REG_OP(MyOp).INPUTS(x, TensorType::ALL()).OP_END_FACTORY_REG(MyOp)")
    monkeypatch.setenv("ASCEND_CUSTOM_OPP_PATH", str(tmp_path))
    with pytest.raises(PrototypeError, match=r"op_proto\.h"):
        find_prototype("MyOp")


def test_a_kernel_declares_a_type_as_long_as_it_is_there() -> None:
    with twin.kernel(MY_OP)(lambda *_: None).registration:
        assert parts(find_prototype("MyOp"))[1:3] == [("y", "optional"), ("z", "dynamic")]
    assert find_prototype("MyOp") is None


def test_a_kernel_with_a_signature_has_the_type_that_corresponds_to_it() -> None:
    signature = (
        "aclnnSigned(aclTensor *cacheRef, const aclTensor *maskOptional, const aclTensorList *x,"
        " const aclIntArray *axes, int64_t mode, aclDataType dtype, aclTensor *zOut)"
    )
    with twin.kernel(signature)(lambda *_: None).registration:
        assert parts(find_prototype("Signed")) == [
            ("cache", "required"),
            ("mask", "optional"),
            ("x", "dynamic"),
            ("cache", "required"),
            ("z", "required"),
            ("axes", "VT_LIST_INT"),
            ("mode", "VT_INT"),
            ("dtype", "VT_DATA_TYPE"),
        ]


@pytest.mark.isolated
def test_torchair_gets_the_answers() -> None:
    asked = torchair.core._torchair  # noqa: SLF001 - not public
    asked.InitializeGraphEngine({"ge.exec.deviceId": "0", "ge_run_with_torch_npu": "1"})
    twin.kernel(MY_OP)(lambda *_: None)
    assert asked.get_registered_ir_def("MyOp") == (
        "SUCCESS",
        [("x", "required"), ("y", "optional"), ("z", "dynamic")],
        [("out", "required")],
        [("attr1", "VT_FLOAT"), ("attr2", "VT_INT")],
    )
    assert asked.get_registered_ir_def("NobodyDeclaresThis") == ("ERROR", [], [], [])
    assert asked.check_cann_compat("MyOp", ["y"], ["attr2"]) == ""
    assert asked.check_cann_compat("MyOp", ["w"], ["attr3"]) == (
        f"optype MyOp unsupported optional input [w], optional attr [attr3], {UPGRADE}."
    )
    assert asked.check_cann_compat("NobodyDeclaresThis", [], []) == (
        f"OperatorFactory find optype NobodyDeclaresThis failed, maybe you need {UPGRADE[7:]}."
    )
