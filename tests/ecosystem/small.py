"""Sizes that make a model of transformers small, whatever its configuration calls them."""

from __future__ import annotations

from typing import Any

__all__ = ["TOKENS", "shrink"]

TOKENS = 512

WIDTH = 64
LAYERS = 2
HEADS = 4
SIZES = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "embedding_size"), WIDTH),
    **dict.fromkeys(
        ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers"), LAYERS
    ),
    **dict.fromkeys(("decoder_layers", "num_decoder_layers"), LAYERS),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads"), HEADS),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), HEADS),
    "num_key_value_heads": HEADS // 2,
    **dict.fromkeys(("head_dim", "d_kv"), WIDTH // HEADS),
    **dict.fromkeys(("intermediate_size", "ffn_dim", "d_ff", "n_inner", "hidden_dim"), 2 * WIDTH),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), 2 * WIDTH),
    **dict.fromkeys(("max_position_embeddings", "n_positions"), 128),
    **dict.fromkeys(("num_local_experts", "num_experts", "n_routed_experts"), 8),
    **dict.fromkeys(("num_experts_per_tok", "num_experts_per_token", "moe_top_k", "top_k"), 2),
    **dict.fromkeys(("n_group", "topk_group"), 1),
    "moe_intermediate_size": WIDTH // 2,
    "image_size": 64,
    "patch_size": 16,
    **dict.fromkeys(("vocab_size", "unpadded_vocab_size"), TOKENS),
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 0,
}
PER_LAYER = ("layer_types", "mlp_layer_types", "layers_block_type")


def shrink(config: Any, configuration: type) -> None:  # noqa: ANN401 - a class of transformers
    """Make a configuration small, with those that it contains of the same kind."""
    for name, size in SIZES.items():
        value = getattr(config, name, None)
        if isinstance(value, int) and not isinstance(value, bool):
            setattr(config, name, size)
    if getattr(config, "is_encoder_decoder", False):
        config.decoder_start_token_id = 0  # T5 leaves it to the tokenizer
    for name, value in list(vars(config).items()):
        if isinstance(value, configuration):
            shrink(value, configuration)
        elif name in PER_LAYER and isinstance(value, list):
            setattr(config, name, kinds_of_layers(value))


def kinds_of_layers(kinds: list[str]) -> list[str]:
    """Return as many kinds as there are layers, different ones if there are."""
    return [*dict.fromkeys(kinds), *kinds][:LAYERS]
