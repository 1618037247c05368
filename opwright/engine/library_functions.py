"""GE types that the twin's own aclnn functions compute (libopapi), as they do in eager.

For operators that are no composition of ATen's, or that write caches: their kernel is there once,
in C++. A row says the function's parameters in order, in the notation of native/opapi, with the
names of the type's prototype. Shapes of outputs come from Meta.
"""

from __future__ import annotations

import ctypes
import functools
from typing import TYPE_CHECKING

from opwright.aclnn.prototype import plain_interface
from opwright.aclnn.signature import AclnnSignature
from opwright.engine.custom import Served, Slot
from opwright.engine.prototypes import of_torchair

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FUNCTIONS", "library_served"]

LIBRARY = "libopapi.so"
PROLOG_WEIGHTS = """
(In, token_x)(In, weight_dq)(In, weight_uq_qr)(In, weight_uk)(In, weight_dkv_kr)
(In, rmsnorm_gamma_cq)(In, rmsnorm_gamma_ckv)(In, rope_sin)(In, rope_cos)
"""
PROLOG_SCALES = """
(In, dequant_scale_x)(In, dequant_scale_w_dq)(In, dequant_scale_w_uq_qr)
(In, dequant_scale_w_dkv_kr)(In, quant_scale_ckv)(In, quant_scale_ckr)(In, smooth_scales_cq)
"""
PROLOG_NUMBERS = "(Double, rmsnorm_epsilon_cq)(Double, rmsnorm_epsilon_ckv)(Text, cache_mode)"
CONVOLVE = """
(In, query_start_loc)(In, cache_indices)(In, initial_state_mode)(In, bias)
(In, num_accepted_tokens)(In, num_computed_tokens)(In, block_idx_first_scheduled_token)
(In, block_idx_last_scheduled_token)(In, initial_state_idx)
(Int, activation_mode)(Int, pad_slot_id)(Int, run_mode)(Int, max_query_len)
(Int, residual_connection)(Int, block_size)(Int, conv_mode)
"""

# GE type -> aclnn function, its parameters.
FUNCTIONS: Mapping[str, tuple[str, str]] = {
    "AttentionUpdate": (
        "AttentionUpdate",
        "(TensorList, lse)(TensorList, go)(Int, update_type)(Out, output)(Out, lse_m)",
    ),
    "DequantRopeQuantKvcache": (
        "DequantRopeQuantKvcache",
        """(In, x)(In, cos)(In, sin)(Ref, k_cache)(Ref, v_cache)(In, indices)(In, scale_k)
        (In, scale_v)(In, offset_k)(In, offset_v)(In, weight_scale)(In, activation_scale)
        (In, bias)(Ints, size_splits)(Text, quant_mode)(Text, layout)(Bool, kv_output)
        (Text, cache_mode)(Out, q)(Out, k)(Out, v)""",
    ),
    "FusedInferAttentionScore": (
        "FusedInferAttentionScoreV5",
        """(In, query)(TensorList, key)(TensorList, value)(In, pse_shift)(In, atten_mask)
        (Ints, actual_seq_lengths)(Ints, actual_seq_lengths_kv)(In, dequant_scale1)
        (In, quant_scale1)(In, dequant_scale2)(In, quant_scale2)(In, quant_offset2)
        (In, antiquant_scale)(In, antiquant_offset)(In, block_table)(In, query_padding_size)
        (In, kv_padding_size)(In, key_antiquant_scale)(In, key_antiquant_offset)
        (In, value_antiquant_scale)(In, value_antiquant_offset)(In, key_shared_prefix)
        (In, value_shared_prefix)(Ints, actual_shared_prefix_len)(In, query_rope)
        (In, key_rope)(In, key_rope_antiquant_scale)(In, dequant_scale_query)
        (In, learnable_sink)(Ints, q_start_idx)(Ints, kv_start_idx)(Int, num_heads)
        (Double, scale)(Int, pre_tokens)(Int, next_tokens)(Text, input_layout)
        (Int, num_key_value_heads)(Int, sparse_mode)(Int, inner_precise)(Int, block_size)
        (Int, antiquant_mode)(Bool, softmax_lse_flag)(Int, key_antiquant_mode)
        (Int, value_antiquant_mode)(Int, query_quant_mode)(Int, pse_type)
        (Out, attention_out)(Out, softmax_lse)""",
    ),
    "FusedCausalConv1d": (
        "FusedCausalConv1d",
        f"(In, x)(In, weight)(Ref, conv_states){CONVOLVE}(Out, y)",
    ),
    "IncreFlashAttention": (
        "IncreFlashAttentionV4",
        """(In, query)(TensorList, key)(TensorList, value)(In, pse_shift)(In, atten_mask)
        (Ints, actual_seq_lengths)(In, dequant_scale1)(In, quant_scale1)(In, dequant_scale2)
        (In, quant_scale2)(In, quant_offset2)(In, antiquant_scale)(In, antiquant_offset)
        (In, block_table)(In, kv_padding_size)(Int, num_heads)(Double, scale_value)
        (Text, input_layout)(Int, num_key_value_heads)(Int, block_size)(Int, inner_precise)
        (Out, attention_out)""",
    ),
    "InplaceFusedCausalConv1d": (
        "InplaceFusedCausalConv1d",
        f"(Ref, x)(In, weight)(Ref, conv_states){CONVOLVE}",
    ),
    "KvRmsNormRopeCache": (
        "KvRmsNormRopeCacheV2",
        """(In, kv)(In, gamma)(In, cos)(In, sin)(In, index)(Ref, k_cache)(Ref, ckv_cache)
        (In, k_rope_scale)(In, c_kv_scale)(In, k_rope_offset)(In, c_kv_offset)(In, v)
        (Double, epsilon)(Text, cache_mode)(Bool, is_output_kv)(Out, k_rope)(Out, c_kv)""",
    ),
    "MaskedCausalConv1d": (
        "MaskedCausalConv1d",
        "(In, input)(In, weight)(In, mask)(Out, output)",
    ),
    "MlaPrologV2": (
        "MlaPrologV2WeightNz",
        f"""{PROLOG_WEIGHTS}(In, cache_index)(Ref, kv_cache)(Ref, kr_cache){PROLOG_SCALES}
        {PROLOG_NUMBERS}(Out, query)(Out, query_rope)(Out, dequant_scale_q_nope)""",
    ),
    "MlaPrologV3": (
        "MlaPrologV3WeightNz",
        f"""{PROLOG_WEIGHTS}(Ref, kv_cache)(Ref, kr_cache)(In, cache_index){PROLOG_SCALES}
        (In, actual_seq_len)(In, k_nope_clip_alpha){PROLOG_NUMBERS}
        (Int, weight_quant_mode)(Int, kv_cache_quant_mode)(Int, query_quant_mode)
        (Int, ckvkr_repo_mode)(Int, quant_scale_repo_mode)(Int, tile_size)(Double, qc_qr_scale)
        (Double, kc_scale)(Out, query)(Out, query_rope)(Out, dequant_scale_q_nope)
        (Out, query_norm)(Out, dequant_scale_q_norm)""",
    ),
    "PromptFlashAttention": (
        "PromptFlashAttentionV3",
        """(In, query)(In, key)(In, value)(In, pse_shift)(In, atten_mask)
        (Ints, actual_seq_lengths)(Ints, actual_seq_lengths_kv)(In, deq_scale1)
        (In, quant_scale1)(In, deq_scale2)(In, quant_scale2)(In, quant_offset2)(Int, num_heads)
        (Double, scale_value)(Int, pre_tokens)(Int, next_tokens)(Text, input_layout)
        (Int, num_key_value_heads)(Int, sparse_mode)(Int, inner_precise)(Out, attention_out)""",
    ),
    "QkvRmsNormRopeCache": (
        "QkvRmsNormRopeCache",
        """(In, qkv)(In, q_gamma)(In, k_gamma)(In, cos)(In, sin)(In, index)(Ref, q_out)
        (Ref, k_cache)(Ref, v_cache)(In, k_scale)(In, v_scale)(In, k_offset)(In, v_offset)
        (Ints, qkv_size)(Ints, head_nums)(Double, epsilon)(Text, cache_mode)
        (Out, q_out_before_quant)(Out, k_out_before_quant)(Out, v_out_before_quant)""",
    ),
    "RecurrentGatedDeltaRule": (
        "RecurrentGatedDeltaRule",
        """(In, query)(In, key)(In, value)(In, beta)(Ref, state)(In, actual_seq_lengths)
        (In, ssm_state_indices)(In, g)(In, gk)(In, num_accepted_tokens)(Float, scale_value)
        (Out, out)""",
    ),
    "ScatterPaKvCache": (
        "ScatterPaKvCache",
        """(In, key)(Ref, key_cache)(In, slot_mapping)(In, value)(Ref, value_cache)
        (In, compress_lens)(In, compress_seq_offset)(In, seq_lens)(Text, cache_mode)
        (Text, scatter_mode)(Ints, strides)(Ints, offsets)""",
    ),
}
# Of outputs that the function refuses unless an attribute is set, that attribute.
UNWANTED: Mapping[str, Mapping[str, str]] = {"AttentionUpdate": {"lse_m": "update_type"}}


@functools.cache
def library_served(op_type: str) -> Served | None:
    """Return how libopapi serves a type; None for one that is not in the table."""
    from opwright.twin.kernels.compiled import PARAMETER, call, parameters_of  # noqa: PLC0415 - importing the twin arms it
    from opwright.twin.kernels.registry import Registration, registry  # noqa: PLC0415 - as above

    row = FUNCTIONS.get(op_type)
    prototype = of_torchair(op_type)
    if row is None or prototype is None:
        return None
    function, text = row
    parameters = parameters_of(text, where=f"{__name__}, {op_type}")
    signature = AclnnSignature(name=f"aclnn{function}", parameters=parameters)
    library = ctypes.CDLL(LIBRARY)
    names = [match["name"] for match in PARAMETER.finditer(text)]

    def run(*arguments: object) -> None:
        given = dict(zip(names, arguments, strict=True))
        for output, attribute in UNWANTED.get(op_type, {}).items():
            given[output] = given[output] if given[attribute] else None
        call(library, signature, [*given.values()])

    return Served(
        prototype=prototype,
        parameters=parameters,
        slots=tuple(map(Slot, names)),
        registration=Registration(
            interface=plain_interface(signature), function=run, owner=registry, library=LIBRARY
        ),
        leaves_out=True,
    )
