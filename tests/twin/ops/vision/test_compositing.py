"""Images over each other, and triangles: native/opapi/ops/vision/compositing.cpp."""

from __future__ import annotations

import pytest
import torch

from tests.twin.aclnn_calls import AclnnError, call
from tests.twin.ops.compare import agree

HEIGHT, WIDTH = 6, 7
GENERATOR = torch.Generator().manual_seed(4)


def pixels(channels: int) -> torch.Tensor:
    shape = (HEIGHT, WIDTH, channels)
    return torch.randint(0, 256, shape, dtype=torch.uint8, generator=GENERATOR)


def drawn(function: str, *operands: torch.Tensor) -> torch.Tensor:
    out = torch.full_like(operands[0], 9).to("npu")
    call(function, *(operand.to("npu") for operand in operands), out)
    return out.cpu()


def test_a_background_is_replaced() -> None:
    image, background = pixels(3), pixels(3)
    mask = torch.rand(HEIGHT, WIDTH, 1, generator=GENERATOR).half()
    expected = background * (1 - mask.float()) + image * mask.float()
    assert torch.equal(
        drawn("aclnnBackgroundReplace", background, image, mask), expected.round().byte()
    )
    images = [image.half(), background.half()]
    agree(drawn("aclnnBackgroundReplace", images[1], images[0], mask), expected.half())


def test_images_of_an_opacity() -> None:
    image, frame, alpha = pixels(3), pixels(3), pixels(1)
    part = alpha.float() / 255
    expected = image * part + frame * (1 - part)
    assert torch.equal(
        drawn("aclnnBlendImagesCustom", image, alpha, frame), expected.round().byte()
    )
    assert torch.equal(drawn("aclnnMrgbaCustom", image, alpha), (image * part).floor().byte())
    with pytest.raises(AclnnError, match="it must have one channel"):
        drawn("aclnnMrgbaCustom", image, frame)


def pixel_by_pixel(
    vertices: list[list[float]], faces: list[list[int]]
) -> tuple[torch.Tensor, torch.Tensor]:
    index = torch.zeros(HEIGHT, WIDTH, dtype=torch.int32)
    shares = torch.zeros(HEIGHT, WIDTH, 3)
    screen = [
        ((x / w / 2 + 0.5) * (WIDTH - 1) + 0.5, (y / w / 2 + 0.5) * (HEIGHT - 1) + 0.5, z / w)
        for x, y, z, w in vertices
    ]

    def area(a: tuple[float, ...], b: tuple[float, ...], c: tuple[float, ...]) -> float:
        return (c[0] - a[0]) * (b[1] - a[1]) - (b[0] - a[0]) * (c[1] - a[1])

    for row in range(HEIGHT):
        for column in range(WIDTH):
            point, nearest = (column + 0.5, row + 0.5), float("inf")
            for number, face in enumerate(faces):
                a, b, c = (screen[i] for i in face)
                whole = area(a, b, c)
                if whole == 0:
                    continue
                beta, gamma = area(a, point, c) / whole, area(a, b, point) / whole
                parts = (1 - beta - gamma, beta, gamma)
                depth = sum(p * corner[2] for p, corner in zip(parts, (a, b, c), strict=True))
                if min(parts) < 0 or depth >= nearest:
                    continue
                nearest, index[row, column] = depth, number + 1
                scaled = torch.tensor(
                    [p / vertices[i][3] for p, i in zip(parts, face, strict=True)]
                )
                shares[row, column] = scaled / scaled.sum()
    return index, shares


def test_triangles_nearest_to_the_screen() -> None:
    """Two that cut each other, one behind them, and one without an area."""
    vertices = [
        [-0.83, -0.71, 0.1, 1.0],
        [0.9, -0.6, 0.6, 1.5],
        [0.11, 0.93, 0.2, 1.1],
        [-0.7, 0.77, 0.5, 1.2],
        [0.75, 0.81, 0.1, 0.9],
        [0.03, -0.97, 0.3, 1.0],
        [-0.9, 0.1, 0.9, 1.0],
    ]
    faces = [[6, 1, 4], [0, 1, 2], [3, 4, 5], [0, 0, 1]]
    index = torch.full((HEIGHT, WIDTH), 9, dtype=torch.int32).to("npu")
    shares = torch.full((HEIGHT, WIDTH, 3), 9.0).to("npu")
    given = [torch.tensor(vertices).to("npu"), torch.tensor(faces, dtype=torch.int32).to("npu")]
    call("aclnnRasterizer", *given, None, WIDTH, HEIGHT, 0.0, 0, index, shares)
    expected = pixel_by_pixel(vertices, faces)
    assert set(expected[0].flatten().tolist()) >= {0, 2, 3}
    assert torch.equal(index.cpu(), expected[0])
    torch.testing.assert_close(shares.cpu(), expected[1], rtol=1e-3, atol=1e-3)
