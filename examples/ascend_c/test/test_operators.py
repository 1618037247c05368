"""The device kernels, through the wheel and torch_npu, against the references of operators.py."""

import pytest
import torch

import ascend_c_ops
import operators

# Tails: no multiple of 32 bytes, of a tile, of the number of cores; one element; none.
SHAPES = [(1,), (7,), (16,), (33,), (8, 2048), (3, 5, 7), (40, 1000), (100003,), (0, 4)]


@pytest.fixture(params=[1, 2, 8, 40], ids="{} cores".format)
def cores(request):
    """Run on so many vector cores, and half as many cube cores, as a limit of the stream."""
    stream = torch.npu.current_stream()
    torch.npu.set_stream_limit(stream, max(request.param // 2, 1), request.param)
    yield request.param
    torch.npu.reset_stream_limit(stream)


def some(shape, dtype, seed=0):
    """Return numbers that any of the types has."""
    numbers = torch.randint(-8, 8, shape, generator=torch.Generator().manual_seed(seed))
    return (numbers / 4).to(dtype) if dtype.is_floating_point else numbers.to(dtype)


@pytest.mark.usefixtures("cores")
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int32])
def test_add(dtype):
    for shape in SHAPES:
        x, y = some(shape, dtype), some(shape, dtype, 1)
        assert torch.equal(ascend_c_ops.add_custom(x.npu(), y.npu()).cpu(), x + y)


@pytest.mark.usefixtures("cores")
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_axpy_in_place(dtype):
    for shape in SHAPES:
        y, x = some(shape, dtype), some(shape, dtype, 1)
        on_device = y.npu()
        assert ascend_c_ops.axpy_(on_device, x.npu(), alpha=0.5) is on_device
        assert torch.equal(on_device.cpu(), operators.axpy_.reference(y, x, alpha=0.5))


@pytest.mark.usefixtures("cores")
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_rms_norm(dtype):
    for shape in [(1, 1), (3, 7), (41, 64), (2, 5, 100), (1, 4096), (0, 8)]:
        x, gamma = some(shape, dtype), some(shape[-1:], dtype, 1)
        y, rstd = ascend_c_ops.rms_norm(x.npu(), gamma.npu(), eps=1e-5)
        expected = operators.rms_norm.reference(x, gamma, eps=1e-5)
        torch.testing.assert_close(y.cpu(), expected[0])
        torch.testing.assert_close(rstd.cpu(), expected[1])


@pytest.mark.usefixtures("cores")
def test_matmul():
    for rows, inner, columns in [
        (1, 1, 1),
        (16, 16, 16),
        (33, 70, 45),
        (128, 256, 200),
        (257, 64, 31),
    ]:
        a, b = some((rows, inner), torch.float16), some((inner, columns), torch.float16, 1)
        bias = some((columns,), torch.float32, 2)
        c = ascend_c_ops.matmul(a.npu(), b.npu(), bias.npu())
        torch.testing.assert_close(c.cpu(), operators.matmul.reference(a, b, bias))


def test_views():
    x, y = some((6, 4), torch.float32), some((4, 6), torch.float32, 1)
    assert torch.equal(ascend_c_ops.add_custom(x.npu().t(), y.npu()).cpu(), x.t() + y)
    a, b = some((33, 7), torch.float16), some((9, 7), torch.float16, 1)
    bias = some((18,), torch.float32, 2)
    c = ascend_c_ops.matmul(a.npu(), b.npu().t(), bias.npu()[::2])
    torch.testing.assert_close(c.cpu(), operators.matmul.reference(a, b.t(), bias[::2]))
    row = x.npu()
    ascend_c_ops.axpy_(row.t(), y.npu())
    assert torch.equal(row.cpu(), x + y.t())
