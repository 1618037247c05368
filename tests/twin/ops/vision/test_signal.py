"""Signal transforms: native/opapi/ops/vision/signal.cpp."""

from __future__ import annotations

import pytest
import torch

from tests.twin.aclnn_calls import AclnnError, call
from tests.twin.ops.compare import agree, check, copied, layouts
from tests.twin.ops.samples import some


@pytest.mark.parametrize(("code", "norm"), [(1, "backward"), (2, "forward"), (3, "ortho")])
@pytest.mark.parametrize("n", [4, 3, 9])
def test_rfft(n: int, code: int, norm: str) -> None:
    """torch_npu composes torch.fft.rfft from matrix products; the function is called directly."""
    for x in layouts(lambda shape: some(shape, torch.float32)):
        if not x.numel():
            continue
        for dim in range(x.dim()):
            expected = torch.view_as_real(torch.fft.rfft(x, n, dim, norm))
            out = torch.zeros(expected.shape, device="npu")
            call("aclRfft1D", copied(x, "npu"), n, dim, code, out)
            agree(out, expected)


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")  # torch_npu's
def test_fft_through_torch_npu() -> None:
    x = some((3, 8), torch.float32)
    check(torch.fft.rfft, x)
    check(torch.fft.fft, x)
    check(torch.fft.ifft, torch.fft.fft(x))


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("onesided", [False, True])
def test_stft(center: bool, normalized: bool, onesided: bool) -> None:  # noqa: FBT001
    options = {"center": center, "normalized": normalized, "onesided": onesided}
    window = torch.hann_window(12)
    for x in (some((100,), torch.float32), some((3, 80), torch.float32)):
        check(torch.stft, x, 16, return_complex=True, window=torch.ones(16), **options)
        check(torch.stft, x, 16, 5, 12, window, return_complex=True, **options)


def test_stft_as_pairs_and_in_double() -> None:
    x = some((2, 50), torch.float64)
    check(torch.stft, x, 16, window=torch.ones(16).double(), return_complex=True)
    x = x.float()
    out = torch.zeros(2, 9, 9, 2, device="npu")
    call("aclStft", x.to("npu"), None, out, 16, 4, 16, False, True, False)  # noqa: FBT003
    spectrum = torch.stft(x, 16, 4, 16, torch.ones(16), center=False, return_complex=True)
    agree(out, torch.view_as_real(spectrum))


def test_wrong_values_are_refused() -> None:
    x, out = torch.ones(8, device="npu"), torch.zeros(5, 2, device="npu")
    with pytest.raises(AclnnError, match=r"aclRfft1D\w*: norm is 7; allowed: 1"):
        call("aclRfft1D", x, 8, 0, 7, out)
    with pytest.raises(AclnnError, match="'out' is null"):
        call("aclRfft1D", x, 8, 0, 1, None)
