"""Storage formats in blocks: native/opapi/tiled_format.cpp."""

from __future__ import annotations

import ctypes
import io
from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu
from torch.nn.functional import pad

from tests.twin.aclnn_calls import ascendcl
from tests.twin.ops.compare import agree
from tests.twin.ops.shape.test_format import size_and_format

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ND, NCHW, NC1HWC0, FRACTAL_Z, FRACTAL_NZ, NDC1HWC0, FRACTAL_Z_3D = 2, 0, 3, 4, 29, 32, 33
DEVICE_TO_HOST = 2
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.int8, torch.int32)


@pytest.fixture(autouse=True)
def internal_formats() -> Iterator[None]:
    torch_npu.npu.config.allow_internal_format = True
    yield
    torch_npu.npu.config.allow_internal_format = False  # the default; it cannot be read


def memory_of(tensor: torch.Tensor) -> torch.Tensor:
    """The elements of a device tensor's storage in the order in which they lie there."""
    torch_npu.npu.synchronize()
    count = torch_npu.get_storage_size(tensor)
    result = torch.empty(count, dtype=tensor.dtype)
    size = count * tensor.itemsize
    source = ctypes.c_void_p(tensor.untyped_storage().data_ptr())
    target = ctypes.c_void_p(result.data_ptr())
    length = ctypes.c_size_t(size)
    assert ascendcl.aclrtMemcpy(target, length, source, length, DEVICE_TO_HOST) == 0
    return result


def filled(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return (torch.randn(shape) * 30).to(dtype)


def row(dtype: torch.dtype, target: int) -> int:
    """C0: what fits into 32 bytes. torch_npu asks for that of float16 for four-byte dtypes.

    Some of its releases ask for that of float16 for formats of images in all dtypes: it is there in
    the storage of a single channel.
    """
    if dtype.itemsize > 1 or target == FRACTAL_NZ:
        return 32 if dtype.itemsize == 1 else 16
    channel = torch.zeros(1, 1, 1, 1, dtype=dtype, device="npu")
    return int(torch_npu.get_storage_size(torch_npu.npu_format_cast(channel, NC1HWC0)))


def blocks(x: torch.Tensor, dim: int, size: int) -> torch.Tensor:
    """Split a dimension into blocks, padded with zeros: [..., blocks, size, ...]."""
    missing = -x.size(dim) % size
    padding = [0, 0] * (x.dim() - 1 - dim) + [0, missing]
    padded = pad(x, padding)
    return padded.reshape(*x.shape[:dim], -1, size, *x.shape[dim + 1 :])


def nz(x: torch.Tensor, c0: int) -> torch.Tensor:
    """Columns of blocks; inside a column, blocks of 16 rows."""
    flat = x.reshape(-1, *x.shape[-2:])
    split = blocks(blocks(flat, 2, c0), 1, 16)  # batch, row block, row, column block, column
    return torch.einsum("brict->bcrit", split)


def nc1hwc0(x: torch.Tensor, c0: int) -> torch.Tensor:
    return torch.einsum("nckhw->nchwk", blocks(x, 1, c0))


def fractal_z(x: torch.Tensor, c0: int) -> torch.Tensor:
    return torch.einsum("nickhw->chwnik", blocks(blocks(x, 1, c0), 0, 16))


def ndc1hwc0(x: torch.Tensor, c0: int) -> torch.Tensor:
    return torch.einsum("nckdhw->ndchwk", blocks(x, 1, c0))


def fractal_z_3d(x: torch.Tensor, c0: int) -> torch.Tensor:
    return torch.einsum("nickdhw->dchwnik", blocks(blocks(x, 1, c0), 0, 16))


Layout = tuple[int, "Callable[[torch.Tensor, int], torch.Tensor]", tuple[int, ...]]
LAYOUTS: tuple[Layout, ...] = (
    (FRACTAL_NZ, nz, (33, 20)),
    (FRACTAL_NZ, nz, (16, 32)),
    (FRACTAL_NZ, nz, (2, 3, 17, 50)),
    (NC1HWC0, nc1hwc0, (2, 35, 3, 5)),
    (FRACTAL_Z, fractal_z, (18, 35, 3, 2)),
    (NDC1HWC0, ndc1hwc0, (2, 17, 3, 2, 5)),
    (FRACTAL_Z_3D, fractal_z_3d, (17, 3, 2, 3, 2)),
)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("target", "layout", "shape"), LAYOUTS)
def test_memory_holds_the_blocks(
    target: int,
    layout: Callable[[torch.Tensor, int], torch.Tensor],
    shape: tuple[int, ...],
    dtype: torch.dtype,
) -> None:
    x = filled(shape, dtype)
    cast = torch_npu.npu_format_cast(x.to("npu"), target)
    assert torch_npu.get_npu_format(cast) == target
    expected = layout(x.double(), row(dtype, target)).reshape(-1).to(dtype)
    assert torch.equal(memory_of(cast), expected)
    agree(cast, x)
    back = torch_npu.npu_format_cast(cast, ND)
    assert torch_npu.get_npu_format(back) != target
    agree(back, x)


@pytest.mark.parametrize("shape", [(5,), (4, 5), (3, 4, 5)])
def test_images_with_fewer_dimensions(shape: tuple[int, ...]) -> None:
    x = filled(shape, torch.float16)
    agree(torch_npu.npu_format_cast(x.to("npu"), NC1HWC0), x)


def test_casts_in_place_and_like_another() -> None:
    x = filled((20, 40), torch.float16)
    device = x.to("npu")
    torch_npu.npu_format_cast_(device, FRACTAL_NZ)
    assert torch_npu.get_npu_format(device) == FRACTAL_NZ
    agree(device, x)
    other = torch_npu.npu_format_cast(x.to("npu"), device)
    assert torch_npu.get_npu_format(other) == FRACTAL_NZ
    agree(other, x)


def test_a_tiled_tensor_in_a_file() -> None:
    x, file = filled((20, 40), torch.float16), io.BytesIO()
    torch.save(torch_npu.npu_format_cast(x.to("npu"), FRACTAL_NZ), file)
    file.seek(0)
    agree(torch.load(file), x)
    file.seek(0)
    assert torch.equal(torch.load(file, map_location="cpu"), x)


def test_a_vector_stays_as_it_is() -> None:
    x = filled((12,), torch.float32)
    cast = torch_npu.npu_format_cast(x.to("npu"), FRACTAL_NZ)
    assert torch_npu.get_npu_format(cast) == ND
    agree(cast, x)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_a_matrix_product_with_a_tiled_weight(dtype: torch.dtype) -> None:
    x, weight = filled((7, 40), dtype) / 30, filled((24, 40), dtype) / 30
    tiled = torch_npu.npu_format_cast(weight.to("npu"), FRACTAL_NZ)
    agree(torch.nn.functional.linear(x.to("npu"), tiled), torch.nn.functional.linear(x, weight))
    agree(x.to("npu") @ tiled.t(), x @ weight.t())


def test_a_quantised_product_with_a_tiled_weight() -> None:
    x = torch.randint(-8, 8, (5, 64), dtype=torch.int8)
    weight = torch.randint(-8, 8, (64, 48), dtype=torch.int8)
    scale = torch.rand(48)
    tiled = torch_npu.npu_format_cast(weight.to("npu"), FRACTAL_NZ)
    result = torch_npu.npu_quant_matmul(
        x.to("npu"), tiled, scale.to("npu"), output_dtype=torch.bfloat16
    )
    agree(result, ((x.long() @ weight.long()).float() * scale).bfloat16())


def test_a_copy_between_tiled_tensors() -> None:
    x = filled((20, 40), torch.float32)
    source = torch_npu.npu_format_cast(x.to("npu"), FRACTAL_NZ)
    target = torch_npu.npu_format_cast(torch.zeros(20, 40).to("npu"), FRACTAL_NZ)
    target.copy_(source)
    assert torch_npu.get_npu_format(target) == FRACTAL_NZ
    agree(target, x)


@pytest.mark.parametrize(
    ("additional", "c0"), [(-1, 8), (0, 8), (1, 16), (27, 16), (2, 32), (3, 8)]
)
def test_rows_are_as_long_as_the_additional_dtype_says(additional: int, c0: int) -> None:
    x = torch.randn(20, 40, device="npu")
    expected = [-(-40 // c0), 2, 16, c0]
    assert size_and_format(x, FRACTAL_NZ, additional) == (0, expected, FRACTAL_NZ)


def test_refusals_name_what_is_wrong() -> None:
    x = torch.randn(2, 3, 4, 5, 6, device="npu")
    for target, additional, message in (
        (NC1HWC0, -1, b"NC1HWC0 needs at most 4 dimensions, got 5"),
        (7, -1, b"storage format 7 is not available"),
        (FRACTAL_NZ, 99, b"parameter 'additionalDtype' is 99"),
    ):
        assert size_and_format(x, target, additional)[0] == 161002
        assert message in ascendcl.aclGetRecentErrMsg()


def test_a_part_of_a_tiled_tensor_is_cast_by_torch_npu() -> None:
    x = filled((32, 32), torch.float16)
    tiled = torch_npu.npu_format_cast(x.to("npu"), FRACTAL_NZ)
    agree(tiled[3:9].clone(), x[3:9])
    agree(tiled.t().contiguous(), x.t())
