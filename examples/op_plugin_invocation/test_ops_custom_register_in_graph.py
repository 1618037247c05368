"""npu_add_custom in graphs of TorchAir's max-autotune mode, compared with the CPU."""

import unittest

import torch
import torch_npu
import torchair

import add_custom  # noqa: F401 - the wheel that run_op_plugin.sh builds; it has Meta and converter


class Model(torch.nn.Module):
    def forward(self, x, y):
        return torch_npu.npu_add_custom(torch.relu(x), y) - x


class TestAddCustomInGraph(unittest.TestCase):
    def setUp(self):
        torch.compiler.reset()

    def compiled(self, *, dynamic):
        backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
        return torch.compile(Model().npu(), backend=backend, dynamic=dynamic, fullgraph=True)

    def compare(self, model, *shape):
        x, y = torch.randn(shape), torch.randn(shape)
        with torch.no_grad():
            out = model(x.npu(), y.npu())
        torch.testing.assert_close(out.cpu(), torch.relu(x) + y - x, rtol=0, atol=0)

    def test_meta(self):
        x = torch.empty(8, 2048, dtype=torch.float16, device="meta")
        out = torch_npu.npu_add_custom(x, x)
        self.assertEqual((out.shape, out.dtype, out.device), (x.shape, x.dtype, x.device))

    def test_static_shapes(self):
        model = self.compiled(dynamic=False)
        for _ in range(2):
            self.compare(model, 8, 2048)

    def test_dynamic_shapes(self):
        model = self.compiled(dynamic=True)
        for size in (4, 7, 12):
            self.compare(model, size, 16)


if __name__ == "__main__":
    unittest.main()
