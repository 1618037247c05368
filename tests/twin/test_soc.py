"""The chips that the twin names: each loads; Ascend950 is strict about missing aclnn functions."""

from __future__ import annotations

import pytest

import opwright.twin  # noqa: F401  # before torch_npu

import torch  # isort: skip
import torch_npu  # isort: skip

from tests.twin import on_twin

pytestmark = pytest.mark.twin


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.isolated(OPWRIGHT_SOC=name))
        for name in ("Ascend910_9391", "Ascend310B1", "Ascend950DT_95A1")
    ],
)
def test_operators_run(name: str) -> None:
    assert torch_npu.npu.get_device_name(0) == name
    x = torch.arange(6.0).to("npu")
    assert (x.view(2, 3) @ x.view(3, 2)).cpu().tolist() == [[10, 13], [28, 40]]
    assert (x.bfloat16() * 2).cpu().tolist() == [0, 2, 4, 6, 8, 10]
    assert torch_npu.npu.is_bf16_supported()


@pytest.mark.filterwarnings("ignore:.*is deprecated and will be removed")
@pytest.mark.isolated(OPWRIGHT_SOC="Ascend950")
def test_ascend950_has_no_legacy_path() -> None:
    boxes = torch.rand(4, 4).to("npu")
    means, widths = (0.0, 0.0, 0.0, 0.0), (0.1, 0.1, 0.2, 0.2)
    with pytest.raises(RuntimeError, match="only support aclnn operator") as error:
        torch_npu.npu_bounding_box_encode(boxes, boxes, *means, *widths).cpu()
    assert "npu_bounding_box_encode do not have aclnn implementation" in str(error.value)
    assert (torch.ones(2).to("npu") + 1).cpu().tolist() == [2, 2]


def use_the_device() -> None:
    torch.ones(2).to("npu")


def test_unknown_chip() -> None:
    done = on_twin.run(use_the_device, OPWRIGHT_SOC="Ascend910B9")
    assert done.returncode == 1
    assert "OPWRIGHT_SOC='Ascend910B9' cannot be used; allowed: Ascend910PremiumA, " in done.stderr
