"""Behaviour of the stable build beyond both_checks.py."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.kit.emit.cpp.behaviour.both_checks import demo


def test_a_private_format_is_refused() -> None:
    torch_npu.npu.config.allow_internal_format = True
    options = {"dtype": torch.float16, "device": "npu", "acl_format": 29}
    tensor = torch_npu.empty_with_format([32, 32], **options)
    with pytest.raises(RuntimeError, match="private format 29"):
        demo.scale_add(tensor, tensor)
