"""Prototypes of the sparse attention operators, which TorchAir's generated module does not have.

Source: op_host of ops-transformer, attention/ (2026-06), with the inputs that TorchAir's
converters pass besides: `sinks`, and no `value`.
"""

from __future__ import annotations

__all__ = ["SPARSE_ATTENTION"]

LAYOUTS = """
.ATTR({query}, String, "BSND").ATTR({key}, String, "BSND")
"""
WINDOW = """
.ATTR(sparse_mode, Int, 3).ATTR(pre_tokens, Int, 9223372036854775807)
.ATTR(next_tokens, Int, 9223372036854775807)
"""

SPARSE_ATTENTION = f"""
#define HALVES TensorType({{DT_FLOAT16, DT_BF16}})
#define QUANTIZED TensorType({{DT_INT8, DT_FLOAT8_E4M3FN, DT_HIFLOAT8}})
#define WEIGHTS TensorType({{DT_FLOAT16, DT_BF16, DT_FLOAT}})
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
"""
