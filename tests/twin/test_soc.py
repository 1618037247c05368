"""The chips that the twin names: each loads; Ascend950 is strict about missing aclnn functions."""

from __future__ import annotations

import pytest

from tests.twin import on_twin

pytestmark = pytest.mark.twin

SCRIPT = """
    print(torch.npu.get_device_name(0))
    x = torch.arange(6.0).npu()
    assert (x.view(2, 3) @ x.view(3, 2)).cpu().tolist() == [[10, 13], [28, 40]]
    assert (x.bfloat16() * 2).cpu().tolist() == [0, 2, 4, 6, 8, 10]
    assert torch.npu.is_bf16_supported()
"""


@pytest.mark.parametrize("name", ["Ascend910_9391", "Ascend310B1", "Ascend950DT_95A1"])
def test_operators_run(name: str) -> None:
    assert on_twin.output(SCRIPT, OPWRIGHT_SOC=name).split() == [name]


LEGACY = """
    boxes = torch.rand(4, 4).npu()
    means, widths = (0.0, 0.0, 0.0, 0.0), (0.1, 0.1, 0.2, 0.2)
    try:
        torch_npu.npu_bounding_box_encode(boxes, boxes, *means, *widths).cpu()
    except RuntimeError as error:
        print(error)
    assert (torch.ones(2).npu() + 1).cpu().tolist() == [2, 2]
"""


def test_ascend950_has_no_legacy_path() -> None:
    strict = on_twin.output(LEGACY, OPWRIGHT_SOC="Ascend950")
    assert "only support aclnn operator" in strict
    assert "npu_bounding_box_encode do not have aclnn implementation" in strict


def test_unknown_chip() -> None:
    done = on_twin.run("torch.ones(2).npu()", OPWRIGHT_SOC="Ascend910B9")
    assert done.returncode == 1
    assert "OPWRIGHT_SOC='Ascend910B9' cannot be used; allowed: Ascend910PremiumA, " in done.stderr
