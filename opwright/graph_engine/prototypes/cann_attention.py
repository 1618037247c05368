"""Prototypes of attention operators that TorchAir's generated module does not have, or not whole.

Source: op_host of ops-transformer, attention/ (2026-06), with the inputs that TorchAir's
converters pass besides: `sinks`, and no `value`.
"""

from __future__ import annotations

__all__ = ["ATTENTION"]

LAYOUTS = """
.ATTR({query}, String, "BSND").ATTR({key}, String, "BSND")
"""
WINDOW = """
.ATTR(sparse_mode, Int, 3).ATTR(pre_tokens, Int, 9223372036854775807)
.ATTR(next_tokens, Int, 9223372036854775807)
"""

ATTENTION = f"""
#define HALVES TensorType({{DT_FLOAT16, DT_BF16}})
#define QUANTIZED TensorType({{DT_INT8, DT_FLOAT8_E4M3FN, DT_HIFLOAT8}})
#define WEIGHTS TensorType({{DT_FLOAT16, DT_BF16, DT_FLOAT}})
#define VALUES TensorType::ALL()
#define INT32 TensorType({{DT_INT32}})

REG_OP(LightningIndexer).INPUT(query, HALVES).INPUT(key, HALVES).INPUT(weights, WEIGHTS)
.OPTIONAL_INPUT(actual_seq_lengths_query, INT32).OPTIONAL_INPUT(actual_seq_lengths_key, INT32)
.OPTIONAL_INPUT(block_table, INT32)
.OUTPUT(sparse_indices, INT32).OUTPUT(sparse_values, HALVES)
{LAYOUTS.format(query="layout_query", key="layout_key")}
.ATTR(sparse_count, Int, 2048)
{WINDOW}
.ATTR(return_values, Bool, false)
.OP_END_FACTORY_REG(LightningIndexer)

REG_OP(QuantLightningIndexer).INPUT(query, QUANTIZED).INPUT(key, QUANTIZED).INPUT(weights, HALVES)
.INPUT(query_dequant_scale, WEIGHTS).INPUT(key_dequant_scale, WEIGHTS)
.OPTIONAL_INPUT(actual_seq_lengths_query, INT32).OPTIONAL_INPUT(actual_seq_lengths_key, INT32)
.OPTIONAL_INPUT(block_table, INT32)
.OUTPUT(sparse_indices, INT32)
.REQUIRED_ATTR(query_quant_mode, Int).REQUIRED_ATTR(key_quant_mode, Int)
{LAYOUTS.format(query="layout_query", key="layout_key")}
.ATTR(sparse_count, Int, 2048)
{WINDOW}
.OP_END_FACTORY_REG(QuantLightningIndexer)

REG_OP(SparseFlashAttention).INPUT(query, HALVES).INPUT(key, HALVES).OPTIONAL_INPUT(value, HALVES)
.INPUT(sparse_indices, INT32).OPTIONAL_INPUT(block_table, INT32)
.OPTIONAL_INPUT(actual_seq_lengths_query, INT32).OPTIONAL_INPUT(actual_seq_lengths_kv, INT32)
.OPTIONAL_INPUT(query_rope, HALVES).OPTIONAL_INPUT(key_rope, HALVES)
.OPTIONAL_INPUT(sinks, TensorType({{DT_FLOAT}}))
.OUTPUT(attention_out, HALVES).OUTPUT(softmax_max, TensorType({{DT_FLOAT}}))
.OUTPUT(softmax_sum, TensorType({{DT_FLOAT}}))
.REQUIRED_ATTR(scale_value, Float).ATTR(sparse_block_size, Int, 1)
{LAYOUTS.format(query="layout_query", key="layout_kv")}
{WINDOW}
.ATTR(attention_mode, Int, 0).ATTR(return_softmax_lse, Bool, false)
.OP_END_FACTORY_REG(SparseFlashAttention)

REG_OP(KvQuantSparseFlashAttention).INPUT(query, HALVES).INPUT(key, QUANTIZED)
.INPUT(value, QUANTIZED).INPUT(sparse_indices, INT32)
.OPTIONAL_INPUT(key_dequant_scale, TensorType({{DT_FLOAT}}))
.OPTIONAL_INPUT(value_dequant_scale, TensorType({{DT_FLOAT}}))
.OPTIONAL_INPUT(block_table, INT32)
.OPTIONAL_INPUT(actual_seq_lengths_query, INT32).OPTIONAL_INPUT(actual_seq_lengths_kv, INT32)
.OPTIONAL_INPUT(sinks, TensorType({{DT_FLOAT}}))
.OUTPUT(attention_out, HALVES)
.REQUIRED_ATTR(scale_value, Float).REQUIRED_ATTR(key_quant_mode, Int)
.REQUIRED_ATTR(value_quant_mode, Int).ATTR(sparse_block_size, Int, 1)
{LAYOUTS.format(query="layout_query", key="layout_kv")}
{WINDOW}
.ATTR(attention_mode, Int, 0).ATTR(quant_scale_repo_mode, Int, 1).ATTR(tile_size, Int, 128)
.ATTR(rope_head_dim, Int, 64)
.OP_END_FACTORY_REG(KvQuantSparseFlashAttention)

REG_OP(DequantRopeQuantKvcache).INPUT(x, VALUES).INPUT(cos, VALUES).INPUT(sin, VALUES)
.INPUT(k_cache, VALUES).INPUT(v_cache, VALUES).INPUT(indices, INT32)
.INPUT(scale_k, VALUES).INPUT(scale_v, VALUES)
.OPTIONAL_INPUT(offset_k, VALUES).OPTIONAL_INPUT(offset_v, VALUES)
.OPTIONAL_INPUT(weight_scale, VALUES).OPTIONAL_INPUT(activation_scale, VALUES)
.OPTIONAL_INPUT(bias, VALUES)
.OUTPUT(q, VALUES).OUTPUT(k, VALUES).OUTPUT(v, VALUES)
.OUTPUT(k_cache, VALUES).OUTPUT(v_cache, VALUES)
.REQUIRED_ATTR(size_splits, ListInt).ATTR(quant_mode, String, "static")
.ATTR(layout, String, "BSND").ATTR(kv_output, Bool, false)
.ATTR(cache_mode, String, "contiguous")
.OP_END_FACTORY_REG(DequantRopeQuantKvcache)

REG_OP(InplaceFusedCausalConv1d).INPUT(x, VALUES).INPUT(weight, VALUES).INPUT(conv_states, VALUES)
.OPTIONAL_INPUT(query_start_loc, VALUES).OPTIONAL_INPUT(cache_indices, VALUES)
.OPTIONAL_INPUT(initial_state_mode, VALUES).OPTIONAL_INPUT(bias, VALUES)
.OPTIONAL_INPUT(num_accepted_tokens, VALUES).OPTIONAL_INPUT(num_computed_tokens, VALUES)
.OPTIONAL_INPUT(block_idx_first_scheduled_token, VALUES)
.OPTIONAL_INPUT(block_idx_last_scheduled_token, VALUES).OPTIONAL_INPUT(initial_state_idx, VALUES)
.OUTPUT(conv_states, VALUES).OUTPUT(x, VALUES)
.ATTR(activation_mode, Int, 0).ATTR(pad_slot_id, Int, -1).ATTR(run_mode, Int, 0)
.ATTR(max_query_len, Int, -1).ATTR(residual_connection, Int, 1).ATTR(block_size, Int, 128)
.ATTR(conv_mode, Int, 0)
.OP_END_FACTORY_REG(InplaceFusedCausalConv1d)

REG_OP(RecurrentGatedDeltaRule).INPUT(query, VALUES).INPUT(key, VALUES).INPUT(value, VALUES)
.INPUT(beta, VALUES).INPUT(state, VALUES).INPUT(actual_seq_lengths, INT32)
.INPUT(ssm_state_indices, INT32)
.OPTIONAL_INPUT(g, VALUES).OPTIONAL_INPUT(gk, VALUES).OPTIONAL_INPUT(num_accepted_tokens, INT32)
.OUTPUT(out, VALUES).OUTPUT(state, VALUES).ATTR(scale_value, Float, 1.0)
.OP_END_FACTORY_REG(RecurrentGatedDeltaRule)
"""
