"""State of the process: what changed is named, and set back where that can be done."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

import opwright.twin  # before torch, which loads torch_npu

# isort: split
import torch
import torch_npu  # noqa: F401

import opwright as ow
from opwright.check.examine import examine_operator
from opwright.check.observe.probes import PROBES
from opwright.check.observe.process_state import read_state, undo_changes
from opwright.check.rows import row
from opwright.check.subject import Subject
from opwright.check.target import subjects_of_namespace, subjects_of_set

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.twin

NAMESPACE = "opwright_test_state"
npu: Any = torch.get_device_module("npu")
LIBRARY: Any = torch.library.Library(NAMESPACE, "DEF")  # type: ignore[no-untyped-call]


def subject_that(name: str, change: Callable[[], object], *, has_reference: bool = True) -> Subject:
    """Return an operator that changes something and doubles its argument."""
    LIBRARY.define(f"{name}(Tensor x) -> Tensor")

    def kernel(x: torch.Tensor) -> torch.Tensor:
        change()
        return x * 2

    for key in ("PrivateUse1", "Meta"):
        LIBRARY.impl(name, kernel, key)
    if not has_reference:
        (found,) = (
            each
            for each in subjects_of_namespace(NAMESPACE)
            if isinstance(each, Subject) and each.operator.name == name
        )
        return found
    ops = ow.OperatorSet(NAMESPACE, existing=True)
    ops.operator(f"{name}(Tensor x) -> Tensor", samples=[ow.sample(x=ow.tensor(3))])(double)
    (subject,) = subjects_of_set(ops)
    return subject


def double(x: torch.Tensor) -> torch.Tensor:
    """Return what the operators return."""
    return x * 2


def test_nothing_changes_by_looking() -> None:
    assert len({each.name for each in PROBES}) == len(PROBES)
    stream = npu.Stream()
    with npu.stream(stream):
        torch.ones(3, device="npu").add_(1)  # its thread begins here
    usual = read_state()
    with npu.stream(stream):
        before = read_state()
        assert before["the current stream"] == {"npu:0": stream}
        assert undo_changes(before) == []
        assert npu.current_stream() == stream
    assert undo_changes(usual) == []


def test_changes_are_named_and_set_back() -> None:
    before = read_state()
    torch.set_default_dtype(torch.float64)
    torch.set_flush_denormal(True)
    os.environ["OPWRIGHT_TEST_STATE"] = "yes"
    changes = undo_changes(before)
    assert undo_changes(before) == []
    assert "OPWRIGHT_TEST_STATE" not in os.environ
    texts = [str(each) for each in changes]
    assert texts[0] == "torch.get_default_dtype(): torch.float32, then torch.float64"
    assert texts[1].startswith("floating-point control word")
    assert texts[2] == "the environment: OPWRIGHT_TEST_STATE: None, then yes"


def test_a_stream_of_another_device_is_no_change_of_its_generator() -> None:
    with npu.device(1):
        torch.ones(3, device="npu").add_(1)
    before = read_state()
    stream = npu.Stream(device=1)
    npu.set_stream(stream)
    changes = {each.probe.name: str(each) for each in undo_changes(before)}
    assert changes.keys() == {"the current NPU", "the current stream"}
    assert changes["the current stream"].startswith("the current stream: npu:1: None, then ")
    assert npu.current_device() == 0
    assert npu.current_stream(1) == npu.default_stream(1)


def test_what_an_operator_leaves_changes_no_other_row() -> None:
    subject = subject_that("turns_gradients_off", lambda: torch.set_grad_enabled(False))
    numerics, state = (
        list(examine_operator(subject, [row(name)])) for name in ("numerics", "state")
    )
    assert torch.is_grad_enabled()
    assert not any(each.findings for each in numerics)
    (finding,) = state[0].findings
    assert finding.got == "torch.is_grad_enabled(): True, then False"
    assert "assert torch.is_grad_enabled() == before" in finding.script[-1]


def leave_folder() -> None:
    """Change the working directory, always to the same one."""
    os.chdir(os.sep)


def seed_by_number() -> None:
    """Seed the generators, always with the same number."""
    torch.manual_seed(1234)


CHANGES = {"os.getcwd()": leave_folder, "torch.initial_seed()": seed_by_number}


@pytest.mark.parametrize("has_reference", [True, False])
@pytest.mark.parametrize("expression", CHANGES)
def test_a_change_is_found_though_earlier_calls_made_it(
    expression: str, *, has_reference: bool
) -> None:
    change = CHANGES[expression]
    name = f"{change.__name__}_{has_reference}".lower()
    subject = subject_that(name, change, has_reference=has_reference)
    before = os.getcwd(), torch.initial_seed()  # noqa: PTH109 - as the probe has it
    outcomes = list(examine_operator(subject, [row("numerics"), row("state")]))
    (finding,) = (found for each in outcomes for found in each.findings)
    assert finding.kind.name == "changed"
    assert expression in finding.got
    assert finding.script[-1] == f"assert {expression} == before, {expression}"
    assert (os.getcwd(), torch.initial_seed()) == before  # noqa: PTH109 - as the probe has it
