"""Attention as torch_npu calls it on Ascend950: native/opapi/ops/attention/attention.cpp."""

from __future__ import annotations

from tests.twin.on_twin import output


def test_one_function_for_attention() -> None:
    """Forward and backward, a mask, dropout whose mask is made from a seed, and a refusal."""
    output(
        """
        generator = torch.Generator().manual_seed(0)
        host = [torch.randn(2, 4, 5, 16, generator=generator).half() for _ in range(3)]
        mask = torch.ones(5, 5, dtype=torch.bool).triu(1)
        leaves = [one.double().requires_grad_() for one in host]
        scores = (leaves[0] @ leaves[1].transpose(2, 3) * 0.3).masked_fill(mask, -torch.inf)
        expected = scores.softmax(3) @ leaves[2]
        torch.autograd.backward(expected.sum())
        device = [one.npu().requires_grad_() for one in host]
        attend = torch_npu.npu_fusion_attention
        out = attend(*device, 4, "BNSD", scale=0.3, atten_mask=mask.npu())[0]
        torch.autograd.backward(out.sum())
        torch.testing.assert_close(out.cpu(), expected.half(), rtol=1e-2, atol=2e-3)
        for one, other in zip(device, leaves):
            torch.testing.assert_close(one.grad.cpu(), other.grad.half(), rtol=2e-2, atol=5e-3)

        value = torch.eye(64).expand(1, 1, 64, 64).contiguous()
        inputs = [torch.zeros(1, 1, 64, 64).half().npu() for _ in range(2)]
        value = value.half().npu().requires_grad_()
        weights = attend(*inputs, value, 1, "BNSD", keep_prob=0.75)[0]
        torch.autograd.backward(weights.sum())
        kept = weights.detach().cpu().float() * 64 * 0.75  # each weight is 1 / 64 of keep_prob
        assert 0.7 < kept.mean() < 0.8, kept.mean()
        columns = weights.detach().sum(2).view(1, 1, 64, 1).expand(1, 1, 64, 64)
        torch.testing.assert_close(value.grad.cpu(), columns.cpu(), rtol=1e-2, atol=1e-2)

        packed = [torch.zeros(6, 2, 16).half().npu() for _ in range(3)]
        try:
            attend(*packed, 2, "TND", actual_seq_qlen=[2, 6], actual_seq_kvlen=[2, 6])
            torch_npu.npu.synchronize()
        except RuntimeError as error:
            assert "inputLayout" in str(error), error
        else:
            raise AssertionError("packed sequences are not refused")
        """,
        OPWRIGHT_SOC="Ascend950",
    )
