"""Operators of PyTorch on chips for which torch_npu calls legacy operators (aclop)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.twin import on_twin

SCRIPT = Path(__file__).with_name("cases.py")
NAMES = re.findall(r'^    "([\w ]+)": lambda|^    "(written)"', SCRIPT.read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    """Return what went wrong with each case; they share a process."""
    run = f"import runpy; runpy.run_path({str(SCRIPT)!r}, run_name='__main__')"
    found: dict[str, str] = json.loads(on_twin.output(run, OPWRIGHT_SOC="Ascend910A"))
    return found


@pytest.mark.parametrize("name", [first or second for first, second in NAMES])
def test_as_on_the_cpu(outcomes: dict[str, str], name: str) -> None:
    assert outcomes[name] == ""


def test_every_case_has_a_test(outcomes: dict[str, str]) -> None:
    assert set(outcomes) == {first or second for first, second in NAMES}


ERRORS = """
    def words(function):
        try:
            function()
            torch.npu.synchronize()
        except RuntimeError as error:
            return str(error)
        return "nothing"

    x = torch.ones(4).npu()
    boxes = torch.rand(4, 4, device="npu")
    text = words(lambda: torch_npu.npu_rotated_overlaps(boxes[None, :, :], boxes[None, :, :]))
    assert "OPW-N002" in text and "(RotatedOverlaps)" in text, text
    text = words(lambda: x.index_select(0, torch.tensor([9]).npu()))
    assert "OPW-N004" in text and "(GatherV2)" in text and "out of range" in text, text
    # An operator that fails is one error; those behind it work.
    assert (x + 1).cpu().tolist() == [2, 2, 2, 2]

    # In order on the stream, and never before what was queued earlier.
    big = torch.ones(512, 512).npu()
    for _ in range(3):
        big = (big @ big) / 512
    assert big.cpu().unique().tolist() == [1.0]
    side = torch.npu.Stream()
    with torch.npu.stream(side):
        y = big * 3
    torch.npu.current_stream().wait_stream(side)
    assert (y + 1).cpu().unique().tolist() == [4.0]

    # Outputs are as large as their values say.
    assert torch.nonzero(torch.tensor([0, 3, 0, 4]).npu()).cpu().tolist() == [[1], [3]]

    # The register that loss scaling reads.
    from torch_npu.npu.utils import clear_npu_overflow_flag, get_npu_overflow_flag
    clear_npu_overflow_flag()
    (x * 2).cpu()
    assert not get_npu_overflow_flag()
    (x / 0).cpu()
    assert get_npu_overflow_flag()
    clear_npu_overflow_flag()
    assert not get_npu_overflow_flag()
    # So does one that writes its result over an operand.
    x[1:3] = torch.full((2,), 3e38, device="npu")
    assert not get_npu_overflow_flag()
    x.index_put_((torch.tensor([1]).npu(),), torch.full((1,), 3e38).npu(), accumulate=True)
    assert x.cpu()[1] == torch.inf and get_npu_overflow_flag()
"""


def test_errors_order_and_shapes() -> None:
    on_twin.output(ERRORS, OPWRIGHT_SOC="Ascend310P3", TASK_QUEUE_ENABLE="0")


COMPILED = """
    torch.npu.set_compile_mode(jit_compile=True)
    x = torch.linspace(-1, 1, 12).reshape(3, 4)
    layer = torch.nn.Linear(4, 2)
    wanted = layer(x).relu().detach()
    found = layer.npu()(x.npu()).relu()
    assert torch.allclose(found.cpu(), wanted, atol=1e-6)
    found.sum().backward()
    assert layer.weight.grad.shape == (2, 4)
    torch.npu.set_compile_mode(jit_compile=False)
    assert torch.allclose(layer(x.npu()).relu().cpu(), wanted, atol=1e-6)
    # Kernels that have a legacy operator only run on every chip.
    anchors = torch.tensor([[1.0, 2, 3, 4]]).npu()
    found = torch_npu.npu_bounding_box_encode(anchors, anchors + 1, 0, 0, 0, 0, 1, 1, 1, 1)
    assert torch.allclose(found.cpu(), torch.tensor([[1 / 3, 1 / 3, 0, 0]]))
"""


def test_new_chips_with_jit_compile() -> None:
    on_twin.output(COMPILED)
