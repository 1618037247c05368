"""Calls that do not come back: the corpus has none, since each costs what the row waits."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import opwright.twin  # before torch, which loads torch_npu

# isort: split
import torch
import torch_npu  # noqa: F401

import opwright as ow
from opwright.check.examine import examine_operator
from opwright.check.rows import concurrency, row
from opwright.check.target import subjects_of_set

pytestmark = pytest.mark.twin

LIBRARY: Any = torch.library.Library("opwright_test_waits", "DEF")  # type: ignore[no-untyped-call]
SCHEMA = "doubled(Tensor x) -> Tensor"


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def test_calls_that_do_not_come_back_are_reported_with_their_stacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(concurrency, "TIMEOUT", 1.0)
    main, is_over = threading.current_thread(), threading.Event()

    def waits_in_threads(x: torch.Tensor) -> torch.Tensor:
        if threading.current_thread() is not main:
            is_over.wait()
        return x * 2

    LIBRARY.define(SCHEMA)
    LIBRARY.impl("doubled", waits_in_threads, "PrivateUse1")
    ops = ow.OperatorSet("opwright_test_waits", existing=True)
    ops.operator(SCHEMA, samples=[ow.sample(x=ow.tensor(3))])(doubled)
    (subject,) = subjects_of_set(ops)
    try:
        outcomes = {each.column: each for each in examine_operator(subject, [row("concurrency")])}
    finally:
        is_over.set()
        for thread in threading.enumerate():
            if thread.name.startswith("caller "):
                thread.join()
    (finding,) = outcomes["threads"].findings
    assert finding.kind.name == "deadlock"
    assert "in waits_in_threads" in finding.got
    assert outcomes["streams"].status == "passed"
