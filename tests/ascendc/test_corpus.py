"""Faulty kernels and sound ones: the checks find the first and leave the second alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from tests.ascendc.kernels import KernelError, run

pytestmark = [pytest.mark.torch, pytest.mark.build]

CORPUS = Path(__file__).parent / "corpus"
FAULTY = CORPUS / "faulty.cpp"
SOUND = CORPUS / "sound.cpp"
ELEMENTS = 256
BLOCKS_OF_CORES = 4  # of the kernels that work on several cores

_KERNEL = re.compile(r"^extern \"C\" __global__ __aicore__ void (\w+)\(", re.MULTILINE)
_FAULT = re.compile(r"// fault(-inside)?: (OPW-X\d{3})")


class Fault(NamedTuple):
    """The comment of a faulty kernel."""

    kernel: str
    id: str
    line: int
    inside: bool  # a function that the line calls does it


def _faults() -> list[Fault]:
    """Return one fault per kernel of the faulty file."""
    found: list[Fault] = []
    kernel = ""
    for number, line in enumerate(FAULTY.read_text().splitlines(), start=1):
        if match := _KERNEL.match(line):
            kernel = match[1]
        if match := _FAULT.search(line):
            found.append(Fault(kernel, match[2], number, inside=match[1] is not None))
    return found


FAULTS = _faults()
OF_CORES = {
    "initialised_by_one",
    "neighbours_in_a_line",
    "read_without_sync",
    "same_result_of_two",
    "sync_of_some",
}


def launch(source: Path, kernel: str, *, checks: bool = True) -> torch.Tensor:
    x = torch.arange(ELEMENTS, dtype=torch.float32)
    y = torch.zeros_like(x)
    blocks = BLOCKS_OF_CORES if kernel in OF_CORES else 1
    run(source, kernel, [x, y, ELEMENTS], blocks=blocks, checks=checks)
    return y


def test_the_corpus_is_complete() -> None:
    kernels = _KERNEL.findall(FAULTY.read_text())
    assert [fault.kernel for fault in FAULTS] == kernels
    assert _KERNEL.findall(SOUND.read_text()) == kernels


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.kernel)
def test_a_faulty_kernel_is_found(fault: Fault) -> None:
    with pytest.raises(KernelError) as caught:
        launch(FAULTY, fault.kernel)
    text = str(caught.value)
    findings = re.findall(r"(OPW-X\d{3}) .*\n  where:   (.*?), block", text)
    assert [found[0] for found in findings] == [fault.id], text
    if fault.inside:
        assert "/corpus/" in findings[0][1], text
    else:
        assert findings[0][1].endswith(f"/corpus/faulty.cpp:{fault.line}"), text


@pytest.mark.parametrize("kernel", [fault.kernel for fault in FAULTS])
def test_a_sound_kernel_is_not_blamed(kernel: str) -> None:
    assert torch.equal(launch(SOUND, kernel), launch(SOUND, kernel, checks=False))
