"""npu_add_custom in eager mode, compared with the CPU."""

import unittest

import torch
import torch_npu

import add_custom  # noqa: F401 - the wheel that run_op_plugin.sh builds; adds the operator to torch_npu

SHAPES = [(), (7,), (8, 2048), (2, 3, 5), (0,)]


class TestAddCustom(unittest.TestCase):
    def test_add_custom(self):
        for dtype in (torch.float16, torch.float32):
            for shape in SHAPES:
                with self.subTest(dtype=dtype, shape=shape):
                    x, y = (torch.rand(shape).to(dtype) for _ in range(2))
                    out = torch_npu.npu_add_custom(x.npu(), y.npu())
                    self.assertEqual(out.device.type, "npu")
                    torch.testing.assert_close(out.cpu(), x + y, rtol=0, atol=0)

    def test_both_names_are_the_operator(self):
        self.assertIs(torch_npu.npu_add_custom, torch.ops.npu.npu_add_custom)
        schema = str(torch.ops.npu.npu_add_custom.default._schema)  # noqa: SLF001 - no public name
        self.assertEqual(schema, "npu::npu_add_custom(Tensor x, Tensor y) -> Tensor")

    def test_non_contiguous_tensors(self):
        x, y = torch.rand(6, 4), torch.rand(4, 6)
        out = torch_npu.npu_add_custom(x.npu().t(), y.npu())
        torch.testing.assert_close(out.cpu(), x.t() + y, rtol=0, atol=0)

    def test_shapes_that_differ_are_refused(self):
        x, y = torch.rand(8).npu(), torch.rand(4).npu()
        with self.assertRaisesRegex(RuntimeError, r"the same shape, got \[8\] and \[4\]"):
            torch_npu.npu_add_custom(x, y)


if __name__ == "__main__":
    unittest.main()
