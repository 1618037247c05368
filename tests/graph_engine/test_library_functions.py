"""GE types that libopapi computes, in max-autotune: what the engine answers is eager's."""

from __future__ import annotations

import pytest

from opwright.graph_engine import lookup
from opwright.graph_engine.library_functions import COUNTS, DTYPES, FLAGS, FUNCTIONS
from opwright.graph_engine.prototypes import of_torchair
from tests.graph_engine.agreement import COMPILE
from tests.twin.on_twin import output

pytestmark = pytest.mark.twin

COMPARE = """
import functools

drawn = functools.partial(drawn, dtype=torch.bfloat16)

def int32(*values):
    return torch.tensor(values, dtype=torch.int32).npu()

def flat(value):
    if value is None:
        return []
    many = isinstance(value, (tuple, list))
    return [one for each in value for one in flat(each)] if many else [value]

# All results, and what was written in place.
def compare(name, function, *given, dynamic=(False, True)):
    copy = lambda: [[t.clone() for t in g] if isinstance(g, list) else g.clone() for g in given]
    before = copy()
    wanted = flat(function(*before))
    for sizes in dynamic:
        after = copy()
        got = flat(compiled(function, sizes)(*after))
        for ours, theirs in zip(got + flat(after), wanted + flat(before), strict=True):
            assert torch.equal(ours, theirs), (name, sizes)
    print(name)
"""

CACHES = """
kv, gamma = drawn(2, 1, 5, 160), drawn(96)
angles = drawn(2, 1, 5, 64), drawn(2, 1, 5, 64)
index = torch.tensor([3, -1, 0, 20, 7, 9, 1, 2, 5, 4]).npu()
pages = drawn(4, 8, 1, 64), drawn(4, 8, 1, 96)
compare("latent cache", lambda *given: torch_npu.npu_kv_rmsnorm_rope_cache(
    *given, cache_mode="PA", is_output_kv=True), kv, gamma, *angles, index, *pages)

token = drawn(6, 8 * 64), drawn(64), drawn(64), drawn(6, 64), drawn(6, 64)
blocks = drawn(4, 8, 32, 16), drawn(4, 8, 32, 16)
compare("joint projection", lambda *given: torch_npu.npu_qkv_rms_norm_rope_cache(
    *given, [2, 3, 8, 64], [4, 2, 2], is_output_qkv=True, cache_mode="PA_NZ"),
    *token, index[:6].contiguous(), drawn(6, 256), *blocks, dynamic=[False])

def without_projection(*given):  # whose values nobody computes, neither here nor in eager
    torch_npu.npu_qkv_rms_norm_rope_cache(*given, [2, 3, 8, 64], [4, 2, 2], cache_mode="PA_NZ")
    return given[0] + 1

compare("without projection", without_projection, *token, index[:6].contiguous(), drawn(6, 256),
        *blocks, dynamic=[False])

whole = [torch.zeros(3, 12, 2, 16, dtype=torch.int8).npu() for _ in range(2)]
compare("quantised cache", lambda *given: torch_npu.npu_rope_quant_kvcache(
    *given, [64, 32, 32], kv_output=True),
    drawn(2, 3, 128), drawn(2, 3, 1, 16), drawn(2, 3, 1, 16), *whole, int32(2, 5),
    *(drawn(2, 16, dtype=torch.float32) for _ in range(2)))

compare("pages", lambda key, value, a, b, slots: torch_npu.npu_scatter_pa_kv_cache(
    key, value, a, b, slots, cache_mode="Norm"),
    drawn(9, 2, 32), drawn(9, 2, 48), drawn(4, 8, 2, 32), drawn(4, 8, 2, 48),
    int32(3, -1, 0, 20, 7, 9, 1, 2, 5))
"""

PROLOGS = """
weights = (drawn(2, 3, 64), drawn(64, 48) / 8, drawn(48, 144) / 8, drawn(3, 16, 32) / 4,
           drawn(64, 64) / 8, drawn(48), drawn(32), drawn(2, 3, 32), drawn(2, 3, 32))
cache = drawn(5, 4, 1, 32), drawn(5, 4, 1, 32)
slots = torch.tensor([[3, 9, 0], [11, 2, 5]]).npu()
compare("version 2", lambda *given: torch_npu.npu_mla_prolog_v2(*given, cache_mode="PA_BSND")[:4],
        *weights, slots, *cache)
compare("version 3", lambda *given: torch_npu.npu_mla_prolog_v3(
    *given[:-1], cache_index=given[-1], query_norm_flag=True)[:2], *weights, *cache, slots)
compare("version 3 without norms", lambda *given: torch_npu.npu_mla_prolog_v3(
    *given[:-1], cache_index=given[-1])[:2], *weights, *cache, slots)
"""

PARTS = """
sums = [drawn(7, dtype=torch.float32) for _ in range(3)]
compare("update", lambda sums, outs: torch_npu.npu_attention_update(sums, outs, 0)[0],
        sums, [drawn(7, 64) for _ in range(3)], dynamic=[False])
compare("update with sums", lambda sums, outs: torch_npu.npu_attention_update(sums, outs, 1),
        sums, [drawn(7, 64) for _ in range(3)], dynamic=[False])
"""

RECURRENCES = """
compare("masked", lambda x, w, m: torch_npu.npu_masked_causal_conv1d(x, w, mask=m),
        drawn(6, 2, 64), drawn(3, 64), torch.rand(2, 6).npu() > 0.4)
compare("convolution", lambda x, w, states, starts, lines: torch_npu.npu_fused_causal_conv1d(
    x, w, states, query_start_loc=starts, cache_indices=lines, residual_connection=1),
    drawn(10, 64), drawn(3, 64), drawn(5, 2, 64), int32(0, 4, 5, 8, 10), int32(2, 0, 4, 1))
unit = lambda *sizes: torch.nn.functional.normalize(drawn(*sizes), dim=-1)
compare("delta rule", lambda q, k, v, state, beta, g, lengths, places:
    torch_npu.npu_recurrent_gated_delta_rule(
        q, k, v, state, beta=beta, scale=0.5, g=g, actual_seq_lengths=lengths,
        ssm_state_indices=places),
    unit(6, 2, 16), unit(6, 2, 16), drawn(6, 4, 16), drawn(8, 4, 16, 16),
    drawn(6, 4).sigmoid(), -drawn(6, 4, dtype=torch.float32).abs(), int32(1, 3, 2),
    int32(5, 0, 7, 2, 1, 4))
"""


@pytest.mark.parametrize(
    ("script", "count"),
    [
        pytest.param(CACHES, 5, id="caches"),
        pytest.param(PROLOGS, 3, id="prologs"),
        pytest.param(PARTS, 2, id="parts"),
        pytest.param(RECURRENCES, 3, id="recurrences"),
    ],
)
def test_library_functions_answer_in_graphs_what_eager_does(script: str, count: int) -> None:
    assert len(output(COMPILE + COMPARE + script).splitlines()) >= count


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_row_leaves_out_no_name_of_its_prototype(name: str) -> None:
    """Of an attribute that is no parameter of the function a table says what becomes of it."""
    prototype = of_torchair(name)
    assert prototype is not None
    assert lookup.find_kernel(name) is not None
    ports = {port.name for port in (*prototype.inputs, *prototype.outputs)}
    attributes = {attribute.name for attribute in prototype.attributes}
    row = set(FUNCTIONS[name][1].split())
    handled = {*FLAGS.get(name, {}).values(), *COUNTS.get(name, {}), *DTYPES.get(name, {})}
    assert row <= ports | attributes
    assert ports <= row
    assert attributes - row <= handled <= attributes


def test_a_number_of_tensors_that_is_not_theirs_is_refused_by_name() -> None:
    printed = output(
        COMPILE
        + COMPARE
        + """
from torchair._ge_concrete_graph import ge_apis as ge

library = torch.library.Library("sums", "DEF")
library.define("join(Tensor[] lse, Tensor[] parts) -> (Tensor, Tensor)")
library.impl("join", lambda lse, parts: (parts[0].clone(), lse[0].clone()),
             "CompositeExplicitAutograd")

@torchair.register_fx_node_ge_converter(torch.ops.sums.join.default)
def convert(lse, parts, meta_outputs=None):
    return ge.AttentionUpdate(lse, parts, update_type=1, sp=5)

sums, parts = [drawn(7, dtype=torch.float32)] * 2, [drawn(7, 64)] * 2
try:
    compiled(torch.ops.sums.join, False)(sums, parts)
    torch.npu.synchronize()
except RuntimeError as error:
    print(" ".join(str(error).split()))
"""
    )
    assert "sp 5 is not available; available: 2" in printed
