"""The core of Ascend C: blocks, cores, waiting, tiling data, printing, faults."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from tests.ascendc.kernels import KernelError, run

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = [pytest.mark.torch, pytest.mark.build]

KERNELS = Path(__file__).with_name("core_kernels.cpp")
VECTOR, CUBE, MIX_1_1 = 0, 1, 4  # KernelKind of core/machine.h


@pytest.mark.parametrize("blocks", [1, 2, 8, 40])
@pytest.mark.parametrize(("elements", "tile"), [(1, 8), (1000, 64), (4099, 512), (16384, 2048)])
@pytest.mark.parametrize("checks", [False, True])
def test_add_custom_is_the_sum(blocks: int, elements: int, tile: int, *, checks: bool) -> None:
    x, y = torch.randn(2, elements, generator=torch.Generator().manual_seed(elements))
    z = torch.full_like(x, torch.nan)
    run(KERNELS, "add_custom", [x, y, z, elements, tile], blocks=blocks, checks=checks)
    assert torch.equal(z, x + y)


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        (VECTOR, [[0, 3, 1, 2], [1, 3, 1, 2], [2, 3, 1, 2]]),
        (CUBE, [[0, 3, 1, 1], [1, 3, 1, 1], [2, 3, 1, 1]]),
    ],
)
def test_numbers_of_cores(kind: int, rows: list[list[int]]) -> None:
    out = torch.zeros(3, 4, dtype=torch.int64)
    run(KERNELS, "numbers", [out], blocks=3, kind=kind)
    assert out.tolist() == rows


@pytest.mark.parametrize("checks", [False, True])
def test_cube_and_vector_cores_wait_for_each_other(*, checks: bool) -> None:
    out = torch.zeros(40, 4, 16, dtype=torch.int32)
    run(KERNELS, "mixed", [out], blocks=40, checks=checks)
    assert out[..., 0].tolist() == [[7, 7, 17, 24]] * 40


@pytest.mark.parametrize("checks", [False, True])
def test_a_cube_core_waits_for_each_of_its_vector_cores(*, checks: bool) -> None:
    out = torch.zeros(6, 16, dtype=torch.int32)
    run(KERNELS, "ahead", [out], checks=checks)
    assert out[:, 0].tolist() == [1, 1, 1, 1, 2, 2]


@pytest.mark.parametrize("blocks", [1, 5, 48])
@pytest.mark.parametrize("checks", [False, True])
def test_any_number_of_blocks_meets(blocks: int, *, checks: bool) -> None:
    out = torch.zeros(blocks, 16, dtype=torch.int32)
    run(KERNELS, "meetings", [out], blocks=blocks, checks=checks)
    assert out[:, 0].tolist() == [blocks * (blocks + 1) // 2] * blocks


@pytest.mark.parametrize("key", [0, 5])
def test_tiling_data_and_key(key: int) -> None:
    out = torch.zeros(4, dtype=torch.int32)
    run(KERNELS, "tilings", [out, torch.tensor([3, 4, 5], dtype=torch.int32)], tiling_key=key)
    assert out.tolist() == [3, 5, 4, int(key == 5)]


@pytest.mark.parametrize("bytes_sent", [4, 8])
def test_tiling_data_that_is_too_short_is_refused(bytes_sent: int) -> None:
    tiling = torch.tensor([3, 4, 5], dtype=torch.int32)[: bytes_sent // 4].clone()
    with pytest.raises(KernelError, match="GET_TILING_DATA, tiling") as caught:
        run(KERNELS, "tilings", [torch.zeros(4, dtype=torch.int32), tiling])
    assert f"12 bytes at offset 0 of {bytes_sent}" in str(caught.value)


@pytest.mark.parametrize(
    ("kernel", "taken"), [("buffer_below_zero", 1 << 32), ("queue_below_zero", 1 << 33)]
)
def test_a_buffer_of_less_than_nothing_is_refused(kernel: str, taken: int) -> None:
    with pytest.raises(KernelError, match=f"{taken} bytes more than the 0 in use do not fit"):
        run(KERNELS, kernel, [torch.zeros(1), 0])


def _list_of(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return a list of tensors as dynamic inputs pass it."""
    descriptions = [
        word
        for index, tensor in enumerate(tensors)
        for word in (tensor.dim() | index << 32, *tensor.shape)
    ]
    words = [8 * (1 + len(descriptions)), *descriptions, *(tensor.data_ptr() for tensor in tensors)]
    return torch.frombuffer(bytearray(struct.pack(f"<{len(words)}Q", *words)), dtype=torch.int64)


def test_lists_of_tensors() -> None:
    tensors = [torch.full((2, 3), 5, dtype=torch.int32), torch.full((4,), 6, dtype=torch.int32)]
    out = torch.zeros(5, dtype=torch.int64)
    run(KERNELS, "lists", [_list_of(tensors), out])
    assert out.tolist() == [2, 202, 5, 401, 6]


def test_scalar_calls() -> None:
    out = torch.zeros(16, dtype=torch.int64)
    run(KERNELS, "scalars", [out])
    assert out.tolist() == [8, -1, 6, -1, 63, 56, 4, 1, 65504, 5, 1, 5, 4, 7, 43, 2]


def test_a_kernel_prints(capfd: pytest.CaptureFixture[str]) -> None:
    run(KERNELS, "prints", [torch.tensor([1, 2], dtype=torch.int32)])
    assert capfd.readouterr().out.splitlines() == [
        "block 0 of 1: 1.500000 text ff  1.50%",
        "DumpTensor: desc=5, addr=0x0, data_type=float16, position=UB, dump_size=4, block 0 of 1",
        "[0.000000, 0.500000, 1.000000, 1.500000]",
        "DumpTensor: desc=6, addr=0x0, data_type=float16, position=UB, dump_size=5, block 0 of 1",
        "[[0.000000,0.500000,1.000000],",
        "[1.500000,2.000000,-]]",
        "2",
    ]


def test_a_kernel_prints_what_a_format_asks_for(capfd: pytest.CaptureFixture[str]) -> None:
    run(KERNELS, "prints_formats", [torch.zeros(1)])
    said = capfd.readouterr().out
    assert said == f"[   42] [1.50   ] [%] 100% [%n] -1 %d\n{'a' * 700}|%"


@pytest.mark.parametrize("blocks", [1, 8])
@pytest.mark.parametrize(
    ("kernel", "title", "rest"),
    [
        (
            "recurses",
            "OPW-X002 the kernel has used up its stack",
            ["  allowed: small local variables, and no recursion without end: devices have 32 KiB"],
        ),
        ("aborts", "OPW-X002 the kernel called abort, or has overwritten its stack", []),
        (
            "overruns_an_array",
            "OPW-X002 the kernel made an invalid memory access",
            [
                "  got:     an address that no memory has; a local array may have been overrun",
                "  allowed: the kernel's tensors, and the local memory of its core",
            ],
        ),
        (
            "throws",
            "OPW-X003 the kernel threw an exception",
            ["  got:     an exception that is no std::exception"],
        ),
    ],
)
def test_what_ends_a_process_ends_the_launch_only(
    kernel: str, title: str, rest: list[str], blocks: int
) -> None:
    with pytest.raises(KernelError) as caught:
        run(KERNELS, kernel, [torch.zeros(1, dtype=torch.int32)], blocks=blocks)
    first, where, *others = str(caught.value).splitlines()
    assert first == f"{kernel}: {title}"
    assert where.startswith("  where:   ")
    assert others == rest


def test_an_assertion_ends_the_launch(capfd: pytest.CaptureFixture[str]) -> None:
    line = 1 + KERNELS.read_text().splitlines().index(
        '  assert(g.GetValue(0) == 1, "first is %d\\n", g.GetValue(0));'
    )
    with pytest.raises(KernelError) as caught:
        run(KERNELS, "prints", [torch.tensor([3, 2], dtype=torch.int32)])
    assert str(caught.value) == (
        "prints: OPW-X019 an assertion of the kernel does not hold\n"
        f"  where:   {KERNELS}:{line}, block 0 of 1\n"
        "  call:    assert(g.GetValue(0) == 1)\n"
        "  got:     first is 3\n"
    )
    said = capfd.readouterr().out.splitlines()[-1]
    assert said == f"[ASSERT] {KERNELS}:{line}: Assertion `g.GetValue(0) == 1' first is 3"


@pytest.mark.parametrize("blocks", [0, 65536])
def test_the_number_of_blocks_is_bounded(blocks: int) -> None:
    with pytest.raises(KernelError, match=f"{blocks} blocks; allowed are 1 to 65535"):
        run(KERNELS, "numbers", [torch.zeros(4, dtype=torch.int64)], blocks=blocks)


def test_a_library_of_other_headers_is_refused() -> None:
    with pytest.raises(KernelError, match="compiled with headers of another version"):
        run(KERNELS, "scalars", [torch.zeros(16, dtype=torch.int64)], interface=1)


def test_a_mix_kernel_counts_vector_cores() -> None:
    out = torch.zeros(2, 4, dtype=torch.int64)
    run(KERNELS, "numbers", [out], blocks=2, kind=MIX_1_1)
    assert out[:, :3].tolist() == [[0, 2, 1], [1, 2, 1]]


@pytest.mark.parametrize("checks", [False, True])
def test_a_group_waits_for_all_of_another_one(*, checks: bool) -> None:
    blocks, rounds, line = 8, 3, 16
    out = torch.zeros(rounds * blocks * line + 1, dtype=torch.int32)
    workspace = torch.zeros(512 * 6, dtype=torch.uint8)
    run(KERNELS, "groups", [workspace, out, rounds], blocks=blocks, kind=VECTOR, checks=checks)
    rows = out[:-1].view(rounds, blocks, line)[..., 0]
    assert rows.tolist() == [
        [10 * i + 1, 10 * i + 2, *[20 * i + 3] * (blocks - 2)] for i in range(rounds)
    ]
    assert out[-1] == workspace.numel()


def test_an_index_beyond_the_group_is_refused() -> None:
    with pytest.raises(KernelError, match="index 2 in a group of 2 cores"):
        run(KERNELS, "group_of_two", [torch.zeros(512, dtype=torch.uint8), 2], kind=VECTOR)


@pytest.mark.parametrize("checks", [False, True])
def test_a_pool_of_the_kernels_own(*, checks: bool) -> None:
    x = torch.arange(64, dtype=torch.float32)
    y, places = torch.zeros_like(x), torch.zeros(3, dtype=torch.int32)
    run(KERNELS, "own_pool", [x, y, places, 96, 1024], checks=checks)
    assert torch.equal(y, 2 * x)
    assert places.tolist() == [96, 96 + 512, 96]


def test_a_pool_of_the_kernels_own_ends_where_its_memory_does() -> None:
    x = torch.zeros(64)
    with pytest.raises(KernelError, match="address 608 outside of a pool of 320 bytes at 96"):
        run(KERNELS, "own_pool", [x, x, torch.zeros(3, dtype=torch.int32), 96, 320])


def test_pointers_are_dumped(capfd: pytest.CaptureFixture[str]) -> None:
    run(KERNELS, "dumps_of_pointers", [torch.arange(8, dtype=torch.float32)])
    lines = capfd.readouterr().out.splitlines()
    assert lines[0].startswith("DumpTensor: desc=1, addr=")
    assert "data_type=float32, position=GM, dump_size=2" in lines[0]
    assert lines[1] == "[0.000000, 1.000000]"
    assert "desc=3, addr=0x40, data_type=float32, position=L1, dump_size=4" in lines[2]
    assert lines[3] == "[0.000000, 1.000000, 2.000000, 3.000000]"


def test_layouts_say_where_elements_lie() -> None:
    rows, columns = 32, 64
    out = torch.zeros(7, dtype=torch.int64)
    run(KERNELS, "layouts", [out, rows, columns])
    fractal = 2 * 16 * rows + 256 + 5 * 16 + 7
    assert out.tolist() == [
        2 * columns + 3,
        2 * columns + 3,
        3 * rows + 2,
        fractal,
        fractal,
        rows * columns,
        2 * columns,
    ]


def test_modes_and_masks_by_their_older_names() -> None:
    out = torch.full((5,), 5)
    run(KERNELS, "overflow_modes", [out])
    assert out.tolist() == [1, 0, 31, 6, -1]


def test_outputs_are_initialised() -> None:
    out = torch.full((6,), 5.0)
    run(KERNELS, "initialised", [out])
    assert out.tolist() == [0, 0, 0, 7, 7, 5]
