"""Findings of `opwright run --order`, as tests ask for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import opwright.twin  # noqa: F401  # before torch_npu

import torch_npu  # isort: skip

from opwright.twin.order import take_findings

if TYPE_CHECKING:
    from opwright.twin.order import Finding

# In a process of its own, whose order is checked.
checked = pytest.mark.isolated(OPWRIGHT_ORDER="1", TASK_QUEUE_ENABLE="0")


def functions_of(findings: list[Finding]) -> list[tuple[str, str]]:
    """Return the two functions of each finding."""
    return [(each.earlier.function, each.later.function) for each in findings]


def take_after_waiting() -> list[Finding]:
    """Wait for the device, then take what was found."""
    torch_npu.npu.synchronize()
    return take_findings()


def only_finding() -> Finding:
    """Return what was found, of which there must be one."""
    (finding,) = take_after_waiting()
    return finding
