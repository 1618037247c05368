"""Numbers of cores that the chip does not have are reported, once each."""

from __future__ import annotations

import ctypes

import pytest
import torch
import torch_npu

from opwright.graph_engine.graph.model import GeGraph, Node
from opwright.graph_engine.options.cores import report_excess

pytestmark = pytest.mark.twin


def cores_of_chip() -> tuple[int, int]:
    """Return the chip's cube and vector cores, as torch_npu reads them."""
    torch.empty(1, device="npu")  # initializes the device
    found = torch_npu.npu.get_device_limit(0)
    return int(found["cube_core_num"]), int(found["vector_core_num"])


def limited(cubes: str, vectors: str) -> GeGraph:
    """Return a graph of one node in a scope with limits."""
    notes = {"_op_aicore_num": cubes, "_op_vectorcore_num": vectors}
    node = Node(name="f", type="Neg", inputs=(), outputs=(), attributes={}, notes=notes)
    return GeGraph(name="limited", nodes=(node,))


def test_more_cores_than_the_chip_has_are_reported_once(capsys: pytest.CaptureFixture[str]) -> None:
    cubes, vectors = cores_of_chip()
    name = ctypes.CDLL("libascendcl.so").aclrtGetSocName
    name.restype = ctypes.c_char_p
    chip = name().decode()
    for _ in range(2):
        report_excess(limited("1", str(vectors)), {"ge.aicoreNum": f"{cubes}|{vectors}"})
        report_excess(limited(str(cubes), "1000"), {"ge.aicoreNum": f"{cubes}|{vectors + 1}"})
        report_excess(limited("1", "1"), {"ge.aicoreNum": "900"})
    node = "torchair.scope.limit_core_num of node 'f' (Neg)"
    assert capsys.readouterr().err.splitlines() == [
        line_of("option 'ge.aicoreNum'", f"{vectors + 1} vector", chip, vectors),
        line_of(node, "1000 vector", chip, vectors),
        line_of("option 'ge.aicoreNum'", "900 cube", chip, cubes),
    ]


def line_of(place: str, wanted: str, chip: str, most: int) -> str:
    return f"opwright: {place} asks for {wanted} cores; {chip} has {most}, which count instead"
