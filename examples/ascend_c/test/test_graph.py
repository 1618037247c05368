"""The device kernels in graphs that TorchAir compiles: node by node, and captured."""

import pytest
import torch
import torchair

import ascend_c_ops


def compiled(model, mode, *, dynamic):
    """Return the model compiled by TorchAir."""
    torch.compiler.reset()
    config = torchair.CompilerConfig()
    config.mode = mode
    backend = torchair.get_npu_backend(compiler_config=config)
    return torch.compile(model, backend=backend, dynamic=dynamic, fullgraph=True)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("mode", ["max-autotune", "reduce-overhead"])
def test_a_model_of_two_kernels(mode, dynamic):
    def model(x, y, gamma):
        total = ascend_c_ops.add_custom(x * 2, y)
        return torch.relu(ascend_c_ops.rms_norm(total, gamma, eps=1e-5)[0]) - x

    call = compiled(model, mode, dynamic=dynamic)
    gamma = torch.linspace(-1, 1, 9)
    for rows in (5, 5, 41, 3) if dynamic else (5, 5):
        x, y = torch.randn(2, rows, 9, generator=torch.Generator().manual_seed(rows))
        with torch.no_grad():
            got = call(x.npu(), y.npu(), gamma.npu())
        total = x * 2 + y
        rstd = torch.rsqrt(total.square().mean(-1, keepdim=True) + 1e-5)
        torch.testing.assert_close(got.cpu(), torch.relu(total * rstd * gamma) - x)


@pytest.mark.parametrize("mode", ["max-autotune", "reduce-overhead"])
def test_a_matmul(mode):
    def model(a, b, bias):
        return ascend_c_ops.matmul(a + 1, b, bias).half()

    a, b = torch.randint(-4, 4, (2, 33, 33), generator=torch.Generator().manual_seed(2)).half()
    bias = torch.linspace(-1, 1, 33)
    got = compiled(model, mode, dynamic=False)(a.npu(), b.npu(), bias.npu())
    torch.testing.assert_close(got.cpu(), ((a + 1).float() @ b.float() + bias).half())


@pytest.mark.parametrize("mode", ["max-autotune", "reduce-overhead"])
def test_in_place(mode):
    def model(y, x):
        return ascend_c_ops.axpy_(y * 1, x, alpha=0.5) * 2

    y, x = torch.randn(2, 1001, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        got = compiled(model, mode, dynamic=False)(y.npu(), x.npu())
    torch.testing.assert_close(got.cpu(), (y + 0.5 * x) * 2)
