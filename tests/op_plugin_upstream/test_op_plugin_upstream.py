"""The runner of op-plugin's tests, on a small checkout that is made here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.op_plugin_upstream import KINDS, REVIEWED
from tests.op_plugin_upstream.pool import modules, run_modules
from tests.upstream import reviewed

if TYPE_CHECKING:
    from pathlib import Path

TESTS = """
import os
import unittest

import numpy as np
import torch
import torch_npu
from hypothesis import given, strategies
from torch_npu.testing.testcase import TestCase, run_tests


PREPARED = []


class Small(TestCase):
    def test_a_sum(self):
        self.assertRtolEqual((torch.ones(2).npu() + 1).cpu(), torch.full((2,), 2.0))

    def test_b_end(self):
        os._exit(7)

    def test_c_difference(self):
        self.assertRtolEqual(torch.ones(1), torch.zeros(1))

    def test_d_late_error(self):
        torch.ones(4).npu().index_select(0, torch.tensor([9]).npu())

    @unittest.skip("never")
    def test_e_skipped(self):
        pass

    @given(strategies.integers(0, 3))
    def test_f_examples(self, number):
        self.assertEqual(torch.full((1,), number).npu().item(), number)

    def test_f_names_of_an_older_numpy(self):
        self.assertEqual(torch.zeros(2).npu().cpu().numpy().astype(np.int).tolist(), [0, 0])

    def test_g_after_the_preparation_of_the_program(self):
        self.assertEqual(PREPARED, ["seed"])


if __name__ == "__main__":
    PREPARED.append("seed")
    run_tests()
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name, text in {"small_ops": TESTS, "other_ops": "import no_such_package"}.items():
        folder = tmp_path / "test" / name
        folder.mkdir(parents=True)
        (folder / "test_small.py").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.twin
@pytest.mark.slow
def test_each_test_has_its_result_whatever_it_does(checkout: Path) -> None:
    names = modules(checkout)
    assert names == ["other_ops.test_small", "small_ops.test_small"]
    found = [result for part in run_modules(checkout, names) for result in part]
    outcomes = {each.test.rpartition(".")[2]: each.outcome for each in found}
    assert outcomes == {
        "(before the first test)": "ended",
        "test_a_sum": "passed",
        "test_b_end": "ended",
        "test_c_difference": "failed",
        "test_d_late_error": "failed",
        "test_e_skipped": "skipped",
        "test_f_examples": "passed",
        "test_f_names_of_an_older_numpy": "passed",
        "test_g_after_the_preparation_of_the_program": "passed",
    }
    messages = {each.test: each.message for each in found}
    assert "no_such_package" in messages["other_ops.test_small.(before the first test)"]
    ended = messages["small_ops.test_small.Small.test_b_end"]
    assert ended.startswith("the process ended with 7")


def test_a_folder_without_tests_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="give a checkout of op-plugin's repository"):
        modules(tmp_path)


def test_the_list_has_a_reason_for_each_test() -> None:
    entries = reviewed.read(REVIEWED, KINDS).values()
    assert all(len(entry.why.split()) >= 3 for entry in entries)
