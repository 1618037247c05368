"""The runner of TorchAir's system tests, on a small checkout that is made here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from opwright.aclnn.reg_op import parse_reg_op
from tests.torchair_upstream import KINDS, REVIEWED
from tests.torchair_upstream.operators import write_package
from tests.torchair_upstream.pool import modules, run_modules
from tests.upstream import reviewed

if TYPE_CHECKING:
    from pathlib import Path

REGISTERED = """
REG_OP(Registered)
    .INPUT(x, TensorType({DT_FLOAT}))
    .OUTPUT(y, TensorType({DT_FLOAT}))
    .OP_END_FACTORY_REG(Registered);
"""
LISTED = """
ge::Status GetRegisteredIrDef(const char *op_type) {
  if (std::string(op_type) == "Listed"){
    inputs.emplace_back(ge::AscendString("x"), ge::AscendString("dynamic"));
    attrs.emplace_back(ge::AscendString("n"), ge::AscendString("VT_INT"));
    outputs.emplace_back(ge::AscendString("y"), ge::AscendString("required"));
  }
  if (std::string(op_type) == "Unknown"){
    return ge::FAILED;
  }
"""
TESTS = """
import os
import unittest

import torch
import _privateuse1_backend
from torchair_st_stub_aclgraph_utils import patch_torch_npu_module
from torchair_st_utils import register_is_npu

register_is_npu()
torch._register_device_module("npu", None)


class Small(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kept = patch_torch_npu_module(None)

    def test_a_device(self):
        x = torch.ones(2).to(_privateuse1_backend.npu_device())
        self.assertEqual((x + 1).cpu().tolist(), [2, 2])
        self.assertEqual(self.kept.__name__, "torch_npu")

    def test_b_end(self):
        os._exit(7)

    def test_c_difference(self):
        self.assertEqual(1, 2)

    def test_d_new_tensors(self):
        self.assertEqual(torch.ones(1).device.type, "npu")

    def test_d_late_error(self):
        torch.ones(4).npu().index_select(0, torch.tensor([9]).npu())

    @unittest.skip("never")
    def test_e_skipped(self):
        pass

    def test_f_types(self):
        import torchair
        from torchair.core._backend import initialize_graph_engine
        from torchair.ge._ge_graph import GeGraph

        initialize_graph_engine()
        with GeGraph():
            torchair.ge.custom_op("Named", inputs={}, outputs=["y"])
"""
STUBS = "".join(
    f"def {name}(*_):\n    raise AssertionError('a stub')\n"
    for name in ("patch_ops_npu_module", "patch_torch_point_npu_module", "patch_torch_npu_module")
)
UTILS = "def register_is_npu():\n    raise AssertionError('a stub')\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    texts = {
        "tests/reg_op_stub/reg_op_stub.cpp": REGISTERED,
        "cmake/graph_engine/ge_stub.cpp": LISTED,
        "tests/st/small_st.py": TESTS,
        "tests/st/torchair_st_stub_aclgraph_utils.py": STUBS,
        "tests/st/torchair_st_utils.py": UTILS,
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_operators_of_the_tests_are_a_package(checkout: Path, tmp_path: Path) -> None:
    write_package(checkout, tmp_path / "package")
    header = tmp_path / "package" / "op_proto" / "inc" / "op_proto.h"
    found = {each.op_type: each for each in parse_reg_op(header.read_text("utf-8"), where="here")}
    assert found.keys() == {"Registered", "Listed", "Named"}
    assert [port.presence for port in found["Listed"].inputs] == ["dynamic"]
    assert [each.type_name for each in found["Listed"].attributes] == ["Int"]
    assert not found["Named"].inputs


@pytest.mark.twin
@pytest.mark.slow
def test_each_test_has_its_result_whatever_it_does(checkout: Path) -> None:
    names = modules(checkout)
    on_device = ["small_st.Small.test_d_new_tensors"]
    (found,) = run_modules(checkout, names, on_device=on_device)
    outcomes = {each.test.rpartition(".")[2]: each.outcome for each in found}
    assert outcomes == {
        "test_a_device": "passed",
        "test_b_end": "ended",
        "test_c_difference": "failed",
        "test_d_new_tensors": "passed",
        "test_d_late_error": "failed",
        "test_e_skipped": "skipped",
        "test_f_types": "passed",
    }
    ended = next(each for each in found if each.outcome == "ended")
    assert ended.message.startswith("the process ended with 7")
    (chosen,) = run_modules(checkout, names, patterns=["small_st.*.test_c*"])
    assert [each.outcome for each in chosen] == ["failed"]


def test_a_folder_without_tests_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="give a checkout of TorchAir's repository"):
        modules(tmp_path)


def test_the_list_has_a_reason_for_each_test() -> None:
    entries = reviewed.read(REVIEWED, KINDS).values()
    assert all(len(entry.why.split()) >= 3 for entry in entries)
