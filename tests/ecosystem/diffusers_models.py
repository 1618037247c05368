"""Networks of diffusers, by name, each with the settings that make it small."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import torch

from tests.ecosystem import torchvision_operators
from tests.ecosystem.models import BATCH, Subject

torchvision_operators.define()

import diffusers  # noqa: E402
from diffusers.models import activations, normalization  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["MAKERS"]

CHANNELS = (32, 64)
TEXT = 32  # width of the embedded text
WORDS = 7
HEADS = {"attention_head_dim": 8, "num_attention_heads": 2, "num_layers": 2}


def image(channels: int = 4, size: int = 16) -> torch.Tensor:
    """Return noise in place of a latent image."""
    return torch.randn(BATCH, channels, size, size)


def video(channels: int = 4, frames: int = 4, size: int = 8) -> torch.Tensor:
    """Return noise in place of a latent video."""
    return torch.randn(BATCH, channels, frames, size, size)


def words(width: int = TEXT) -> torch.Tensor:
    """Return noise in place of an embedded text."""
    return torch.randn(BATCH, WORDS, width)


def steps() -> torch.Tensor:
    """Return a step of the diffusion for each image."""
    return torch.tensor([3, 500])


def stages(kinds: str, directions: str) -> tuple[str, ...]:
    """Return the names of blocks: `kinds` has a word for each."""
    return tuple(f"{kind}{directions}" for kind in kinds.split())


UNET: Mapping[str, Any] = {
    "sample_size": 16,
    "block_out_channels": CHANNELS,
    "layers_per_block": 1,
    "norm_num_groups": 8,
}
AUTOENCODER: Mapping[str, Any] = {
    "in_channels": 3,
    "out_channels": 3,
    "block_out_channels": CHANNELS,
    "norm_num_groups": 8,
    "down_block_types": stages("DownEncoder DownEncoder", "Block2D"),
    "up_block_types": stages("UpDecoder UpDecoder", "Block2D"),
}
CONDITIONED: Mapping[str, Any] = {
    **UNET,
    "cross_attention_dim": TEXT,
    "attention_head_dim": 8,
    "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
}
UP: Mapping[str, Any] = {"up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D")}

NETWORKS: dict[str, tuple[Mapping[str, Any], Callable[[], Mapping[str, Any]]]] = {
    "UNet2DModel": (
        {
            **UNET,
            "down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
            "up_block_types": ("AttnUpBlock2D", "UpBlock2D"),
        },
        lambda: {"sample": image(3), "timestep": steps()},
    ),
    "UNet2DConditionModel": (
        {**CONDITIONED, **UP},
        lambda: {"sample": image(), "timestep": steps(), "encoder_hidden_states": words()},
    ),
    "UNet1DModel": (
        {
            "sample_size": 64,
            "block_out_channels": (32, 32, 64),
            "in_channels": 2,
            "out_channels": 2,
            "extra_in_channels": 2 * 32,
        },
        lambda: {"sample": torch.randn(BATCH, 2, 64), "timestep": steps()},
    ),
    "UNet3DConditionModel": (
        {
            **UNET,
            "cross_attention_dim": TEXT,
            "attention_head_dim": 8,
            "down_block_types": ("CrossAttnDownBlock3D", "DownBlock3D"),
            "up_block_types": ("UpBlock3D", "CrossAttnUpBlock3D"),
        },
        lambda: {"sample": video(), "timestep": steps(), "encoder_hidden_states": words()},
    ),
    "AutoencoderKL": (AUTOENCODER, lambda: {"sample": image(3, 32)}),
    "AutoencoderTiny": (
        {
            "encoder_block_out_channels": CHANNELS[:1] * 4,
            "decoder_block_out_channels": CHANNELS[:1] * 4,
        },
        lambda: {"sample": image(3, 32)},
    ),
    "VQModel": (
        {**AUTOENCODER, "num_vq_embeddings": 32},
        lambda: {"sample": image(3, 32)},
    ),
    "DiTTransformer2DModel": (
        {**HEADS, "sample_size": 8, "in_channels": 4, "norm_num_groups": 4},
        lambda: {"hidden_states": image(4, 8), "timestep": steps(), "class_labels": steps()},
    ),
    "PixArtTransformer2DModel": (
        {
            **HEADS,
            "sample_size": 8,
            "caption_channels": TEXT,
            "cross_attention_dim": 16,
            "use_additional_conditions": False,
        },
        lambda: {
            "hidden_states": image(4, 8),
            "timestep": steps(),
            "encoder_hidden_states": words(),
            "added_cond_kwargs": {"resolution": None, "aspect_ratio": None},
        },
    ),
    "SD3Transformer2DModel": (
        {
            **HEADS,
            "sample_size": 8,
            "in_channels": 4,
            "out_channels": 4,
            "joint_attention_dim": TEXT,
            "caption_projection_dim": 16,
            "pooled_projection_dim": TEXT,
        },
        lambda: {
            "hidden_states": image(4, 8),
            "timestep": steps(),
            "encoder_hidden_states": words(),
            "pooled_projections": torch.randn(BATCH, TEXT),
        },
    ),
    "FluxTransformer2DModel": (
        {
            **HEADS,
            "num_single_layers": 2,
            "in_channels": 4,
            "joint_attention_dim": TEXT,
            "pooled_projection_dim": TEXT,
            "axes_dims_rope": (2, 2, 4),
        },
        lambda: {
            "hidden_states": torch.randn(BATCH, 16, 4),
            "timestep": torch.tensor([0.25, 0.5]),
            "encoder_hidden_states": words(),
            "pooled_projections": torch.randn(BATCH, TEXT),
            "img_ids": torch.randint(0, 4, (16, 3)).float(),
            "txt_ids": torch.zeros(WORDS, 3),
        },
    ),
    "SanaTransformer2DModel": (
        {
            **HEADS,
            "sample_size": 8,
            "in_channels": 4,
            "out_channels": 4,
            "num_cross_attention_heads": 2,
            "cross_attention_head_dim": 8,
            "cross_attention_dim": 16,
            "caption_channels": TEXT,
        },
        lambda: {
            "hidden_states": image(4, 8),
            "timestep": steps(),
            "encoder_hidden_states": words(),
        },
    ),
    "Lumina2Transformer2DModel": (
        {
            "sample_size": 8,
            "in_channels": 4,
            "hidden_size": 24,
            "num_layers": 2,
            "num_refiner_layers": 1,
            "num_attention_heads": 2,
            "num_kv_heads": 1,
            "multiple_of": 8,
            "axes_dim_rope": (4, 4, 4),
            "axes_lens": (32, 32, 32),
            "cap_feat_dim": TEXT,
        },
        lambda: {
            "hidden_states": image(4, 8),
            "timestep": torch.tensor([0.25, 0.5]),
            "encoder_hidden_states": words(),
            "encoder_attention_mask": torch.ones(BATCH, WORDS, dtype=torch.bool),
        },
    ),
    "AuraFlowTransformer2DModel": (
        {
            "sample_size": 8,
            "in_channels": 4,
            "out_channels": 4,
            "num_mmdit_layers": 1,
            "num_single_dit_layers": 1,
            "attention_head_dim": 8,
            "num_attention_heads": 2,
            "joint_attention_dim": TEXT,
            "caption_projection_dim": 16,
        },
        lambda: {
            "hidden_states": image(4, 8),
            "timestep": torch.tensor([0.25, 0.5]),
            "encoder_hidden_states": words(),
        },
    ),
    "CogVideoXTransformer3DModel": (
        {
            **HEADS,
            "in_channels": 4,
            "out_channels": 4,
            "time_embed_dim": 8,
            "text_embed_dim": TEXT,
            "sample_width": 8,
            "sample_height": 8,
            "sample_frames": 5,
            "max_text_seq_length": WORDS,
        },
        lambda: {
            "hidden_states": torch.randn(BATCH, 2, 4, 8, 8),
            "timestep": steps(),
            "encoder_hidden_states": words(),
        },
    ),
    "WanTransformer3DModel": (
        {
            "num_attention_heads": 2,
            "attention_head_dim": 12,
            "num_layers": 2,
            "in_channels": 4,
            "out_channels": 4,
            "text_dim": TEXT,
            "freq_dim": 16,
            "ffn_dim": 32,
        },
        lambda: {"hidden_states": video(), "timestep": steps(), "encoder_hidden_states": words()},
    ),
    "LTXVideoTransformer3DModel": (
        {
            **HEADS,
            "in_channels": 8,
            "out_channels": 8,
            "cross_attention_dim": 16,
            "caption_channels": TEXT,
        },
        lambda: {
            "hidden_states": torch.randn(BATCH, 2 * 4 * 4, 8),
            "timestep": torch.tensor([250, 500]),
            "encoder_hidden_states": words(),
            "encoder_attention_mask": torch.ones(BATCH, WORDS, dtype=torch.bool),
            "num_frames": 2,
            "height": 4,
            "width": 4,
        },
    ),
    "QwenImageTransformer2DModel": (
        {
            **HEADS,
            "in_channels": 16,
            "out_channels": 4,
            "joint_attention_dim": TEXT,
            "axes_dims_rope": (2, 2, 4),
        },
        lambda: {
            "hidden_states": torch.randn(BATCH, 16, 16),
            "timestep": torch.tensor([0.25, 0.5]),
            "encoder_hidden_states": words(),
            "encoder_hidden_states_mask": torch.ones(BATCH, WORDS, dtype=torch.int64),
            "img_shapes": [[(1, 4, 4)]] * BATCH,
        },
    ),
}


def make_network(name: str) -> Subject:
    """Make a network with small settings."""
    settings, inputs = NETWORKS[name]
    return Subject(getattr(diffusers, name)(**settings), inputs(), without_npu_operators)


@contextmanager
def without_npu_operators() -> Iterator[None]:
    """Let networks compute by PyTorch's operators: diffusers asks for torch_npu, not for a device.

    Beside torch_npu its GEGLU and RMSNorm call operators for the NPU on tensors of the CPU, too.
    """
    with ExitStack() as stack:
        for module in (activations, normalization):
            stack.enter_context(patch.object(module, "is_torch_npu_available", lambda: False))
        yield


MAKERS = {"network": make_network}
