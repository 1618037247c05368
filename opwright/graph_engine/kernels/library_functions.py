"""GE types that the twin's own aclnn functions compute (libopapi), as they do in eager.

For operators that are no composition of ATen's, or that write caches: their kernel is there once,
in C++. A row has the names in the type's prototype of the function's parameters, in their order.
Shapes of outputs come from Meta. Where a kernel has to do more, it uses `call_aclnn`.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from opwright.aclnn.known import find_known_parameters
from opwright.aclnn.prototype import plain_interface
from opwright.aclnn.signature import AclnnSignature, CType, Parameter
from opwright.graph_engine.calls.aclnn import LIBRARY, library
from opwright.graph_engine.calls.slots import Served, Slot
from opwright.graph_engine.kernels.available import require_one_of
from opwright.graph_engine.prototypes.cann import of_torchair

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opwright.aclnn.prototype import Prototype

__all__ = ["COUNTS", "DTYPES", "FLAGS", "FUNCTIONS", "find_library_served"]

PROLOG_WEIGHTS = """
token_x weight_dq weight_uq_qr weight_uk weight_dkv_kr rmsnorm_gamma_cq rmsnorm_gamma_ckv
rope_sin rope_cos
"""
PROLOG_SCALES = """
dequant_scale_x dequant_scale_w_dq dequant_scale_w_uq_qr dequant_scale_w_dkv_kr quant_scale_ckv
quant_scale_ckr smooth_scales_cq
"""
PROLOG_NUMBERS = "rmsnorm_epsilon_cq rmsnorm_epsilon_ckv cache_mode"
CONVOLVE = """
query_start_loc cache_indices initial_state_mode bias num_accepted_tokens num_computed_tokens
block_idx_first_scheduled_token block_idx_last_scheduled_token initial_state_idx activation_mode
pad_slot_id run_mode max_query_len residual_connection block_size conv_mode
"""

# GE type -> aclnn function, and what each of its parameters is in the prototype.
FUNCTIONS: Mapping[str, tuple[str, str]] = {
    "AttentionUpdate": (
        "AttentionUpdate",
        "lse go update_type output lse_m",
    ),
    "DequantRopeQuantKvcache": (
        "DequantRopeQuantKvcache",
        """x cos sin k_cache v_cache indices scale_k scale_v offset_k offset_v weight_scale
        activation_scale bias size_splits quant_mode layout kv_output cache_mode q k v""",
    ),
    "FusedInferAttentionScore": (
        "FusedInferAttentionScoreV5",
        """query key value pse_shift atten_mask actual_seq_lengths actual_seq_lengths_kv
        dequant_scale1 quant_scale1 dequant_scale2 quant_scale2 quant_offset2
        antiquant_scale antiquant_offset block_table query_padding_size kv_padding_size
        key_antiquant_scale key_antiquant_offset value_antiquant_scale
        value_antiquant_offset key_shared_prefix value_shared_prefix
        actual_shared_prefix_len query_rope key_rope key_rope_antiquant_scale
        dequant_scale_query learnable_sink q_start_idx kv_start_idx num_heads scale
        pre_tokens next_tokens input_layout num_key_value_heads sparse_mode inner_precise
        block_size antiquant_mode softmax_lse_flag key_antiquant_mode value_antiquant_mode
        query_quant_mode pse_type attention_out softmax_lse""",
    ),
    "FusedCausalConv1d": (
        "FusedCausalConv1d",
        f"x weight conv_states {CONVOLVE} y",
    ),
    "IncreFlashAttention": (
        "IncreFlashAttentionV4",
        """query key value pse_shift atten_mask actual_seq_lengths dequant_scale1 quant_scale1
        dequant_scale2 quant_scale2 quant_offset2 antiquant_scale antiquant_offset
        block_table kv_padding_size num_heads scale_value input_layout num_key_value_heads
        block_size inner_precise attention_out""",
    ),
    "InplaceFusedCausalConv1d": (
        "InplaceFusedCausalConv1d",
        f"x weight conv_states {CONVOLVE}",
    ),
    "KvRmsNormRopeCache": (
        "KvRmsNormRopeCacheV2",
        """kv gamma cos sin index k_cache ckv_cache k_rope_scale c_kv_scale k_rope_offset
        c_kv_offset v epsilon cache_mode is_output_kv k_rope c_kv""",
    ),
    "MaskedCausalConv1d": (
        "MaskedCausalConv1d",
        "input weight mask output",
    ),
    "MlaPrologV2": (
        "MlaPrologV2WeightNz",
        f"""{PROLOG_WEIGHTS} cache_index kv_cache kr_cache {PROLOG_SCALES} {PROLOG_NUMBERS} query
        query_rope dequant_scale_q_nope""",
    ),
    "MlaPrologV3": (
        "MlaPrologV3WeightNz",
        f"""{PROLOG_WEIGHTS} kv_cache kr_cache cache_index {PROLOG_SCALES} actual_seq_len
        k_nope_clip_alpha {PROLOG_NUMBERS} weight_quant_mode kv_cache_quant_mode
        query_quant_mode ckvkr_repo_mode quant_scale_repo_mode tile_size qc_qr_scale
        kc_scale query query_rope dequant_scale_q_nope query_norm dequant_scale_q_norm""",
    ),
    "PromptFlashAttention": (
        "PromptFlashAttentionV3",
        """query key value pse_shift atten_mask actual_seq_lengths actual_seq_lengths_kv deq_scale1
        quant_scale1 deq_scale2 quant_scale2 quant_offset2 num_heads scale_value
        pre_tokens next_tokens input_layout num_key_value_heads sparse_mode inner_precise
        attention_out""",
    ),
    "QkvRmsNormRopeCache": (
        "QkvRmsNormRopeCache",
        """qkv q_gamma k_gamma cos sin index q_out k_cache v_cache k_scale v_scale k_offset v_offset
        qkv_size head_nums epsilon cache_mode q_out_before_quant k_out_before_quant
        v_out_before_quant""",
    ),
    "RecurrentGatedDeltaRule": (
        "RecurrentGatedDeltaRule",
        """query key value beta state actual_seq_lengths ssm_state_indices g gk num_accepted_tokens
        scale_value out""",
    ),
    "ScatterPaKvCache": (
        "ScatterPaKvCache",
        """key key_cache slot_mapping value value_cache compress_lens compress_seq_offset seq_lens
        cache_mode scatter_mode strides offsets""",
    ),
}
# Outputs that the function gets only where an attribute of the node is set.
FLAGS: Mapping[str, Mapping[str, str]] = {
    "AttentionUpdate": {"lse_m": "update_type"},
    "MlaPrologV3": dict.fromkeys(("query_norm", "dequant_scale_q_norm"), "query_norm_flag"),
    "QkvRmsNormRopeCache": dict.fromkeys(
        ("q_out_before_quant", "k_out_before_quant", "v_out_before_quant"), "is_output_qkv"
    ),
}
# Attributes that say again how many tensors an input has; another number is refused.
COUNTS: Mapping[str, Mapping[str, str]] = {"AttentionUpdate": {"sp": "lse"}}
# Attributes that say again which dtype an output has: the function reads it from the tensor.
DTYPES: Mapping[str, Mapping[str, str]] = {
    "FusedInferAttentionScore": {"out_dtype": "attention_out"}
}


def find_library_served(op_type: str) -> Served | None:
    """Return how libopapi serves a type; None for one that is not in the table."""
    prototype = of_torchair(op_type) if op_type in FUNCTIONS else None
    return None if prototype is None else serve(op_type, prototype)


@functools.cache
def serve(op_type: str, prototype: Prototype) -> Served:
    """Return how the row of a type serves it."""
    from opwright.twin.user_kernels.cpp_kernels import call  # noqa: PLC0415 - importing the twin arms it
    from opwright.twin.user_kernels.registry import Registration, registry  # noqa: PLC0415 - as above

    function, text = FUNCTIONS[op_type]
    names = text.split()
    flags, counts = FLAGS.get(op_type, {}), COUNTS.get(op_type, {})
    others = sorted({*flags.values(), *counts} - {*names})  # attributes that only `run` takes
    signature = AclnnSignature(
        name=f"aclnn{function}", parameters=parameters_of(f"aclnn{function}", names, prototype)
    )
    ctypes = {each.name: each.ctype for each in prototype.attributes}
    attributes = [Parameter(name=name, ctype=ctypes[name] or CType.INT64) for name in others]

    def run(*arguments: Any) -> None:  # noqa: ANN401 - tensors, lists and numbers
        given = dict(zip((*names, *others), arguments, strict=True))
        for attribute, port in counts.items():
            require_one_of(attribute, given[attribute], len(given[port]))
        for output, attribute in flags.items():
            given[output] = given[output] if given[attribute] else None
        call(library(), signature, [given[name] for name in names])

    return Served(
        prototype=prototype,
        parameters=(*signature.parameters, *attributes),
        slots=tuple(map(Slot, (*names, *others))),
        registration=Registration(
            interface=plain_interface(signature), function=run, owner=registry, library=LIBRARY
        ),
        leaves_out=True,
    )


def parameters_of(
    function: str, names: Sequence[str], prototype: Prototype
) -> tuple[Parameter, ...]:
    """Return the parameters of a function of CANN that these inputs, attributes and outputs are."""
    known = find_known_parameters(function)
    assert known is not None, function
    read = {port.name for port in prototype.inputs}
    written = {port.name for port in prototype.outputs}
    return tuple(
        Parameter(
            name=f"{name}Ref" if name in read & written else name,
            ctype=each.ctype,
            const=each.ctype.is_pointer and name not in written,
        )
        for name, each in zip(names, known, strict=True)
    )
