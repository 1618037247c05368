"""Operators of reference section 8.5: images in other sizes, cells, quantization, attention."""

from __future__ import annotations

from typing import Final

from aie.tests.operator_rows import IMAGE, Row, Shape, X


def _upsample() -> list[Row]:
    rows: list[Row] = []
    shapes: dict[int, Shape] = {1: (2, 3, 5), 2: (2, 3, 4, 5), 3: (2, 3, 3, 4, 2)}
    for rank, shape in shapes.items():
        size, scales = [7, 9, 4][:rank], [2.0, 1.5, 3.0][:rank]
        none = ", None" * rank
        linear = {1: "linear1d", 2: "bilinear2d", 3: "trilinear3d"}[rank]
        kinds = [(f"nearest{rank}d", ""), (linear, ", True"), (linear, ", False")]
        for kind, corners in kinds + ([("bicubic2d", ", False")] if rank == 2 else []):
            call = f"torch.ops.aten.upsample_{kind}"
            name = f"aten::upsample_{kind}"
            mode = kind[:-2]
            option = corners.replace(", ", ", align_corners=")
            rows += [
                Row(name, f"{call}(x, {size}{corners}{none})", (shape,)),
                Row(f"{name}.vec", f"{call}(x, None{corners}, {scales})", (shape,)),
                Row(f"{name}.vec", f"F.interpolate(x, {size}, mode='{mode}'{option})", (shape,)),
            ]
    return rows


OTHERS: Final = [
    *_upsample(),
    *(
        Row(
            "aten::grid_sampler",
            f"torch.grid_sampler(x, y, {mode}, {pad}, {align})",
            (IMAGE, "grid"),
        )
        for mode, pad, align in ((0, 0, True), (1, 1, False), (2, 2, False))
    ),
    Row(
        "aten::lstm_cell",
        "torch.lstm_cell(x, [y, y], z, torch.cat([z, z[:, :1]], 1), None, None)",
        ((2, 4), (2, 5), (20, 4)),
    ),
    Row("aten::gru_cell", "torch.gru_cell(x, y, z, z)", ((2, 4), (2, 4), (12, 4))),
    Row(
        "aten::fake_quantize_per_tensor_affine",
        "torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -128, 127)",
    ),
    Row(
        "aten::fake_quantize_per_tensor_affine.tensor_qparams",
        "torch.fake_quantize_per_tensor_affine(x, y, z, -128, 127)",
        (X, "scale", "zero"),
    ),
    Row(
        "aten::fake_quantize_per_channel_affine",
        "torch.fake_quantize_per_channel_affine(x, y, z, 1, -128, 127)",
        (X, "scales", "zeros"),
    ),
    Row(
        "aten::scaled_dot_product_attention",
        "F.scaled_dot_product_attention(x, y, y)",
        (X, (2, 5, 4)),
    ),
]
