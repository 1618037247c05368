"""GE types that libopapi computes, in max-autotune: what the engine answers is eager's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch_npu
import torchair
from torch.nn import functional

from opwright.graph_engine import lookup
from opwright.graph_engine.kernels.library_functions import COUNTS, DTYPES, FLAGS, FUNCTIONS
from opwright.graph_engine.prototypes.cann import of_torchair
from tests.graph_engine import agreement
from tests.graph_engine.agreement import compiled, new_library, run_to_the_end

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

pytestmark = pytest.mark.twin


@dataclass(frozen=True)
class Case:
    """A function, what it is called with, and with which kinds of shapes it is compiled."""

    function: Callable[..., object]
    given: Sequence[torch.Tensor | list[torch.Tensor]]
    dynamic: Sequence[bool] = (False, True)


def drawn(*sizes: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    return agreement.drawn(*sizes, dtype=dtype)


def drawn_whole(*sizes: int) -> torch.Tensor:
    return agreement.drawn(*sizes, dtype=torch.float32)


def int32(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32).to("npu")


def caches() -> dict[str, Case]:
    kv, gamma = drawn(2, 1, 5, 160), drawn(96)
    angles = drawn(2, 1, 5, 64), drawn(2, 1, 5, 64)
    index = torch.tensor([3, -1, 0, 20, 7, 9, 1, 2, 5, 4]).to("npu")
    pages = drawn(4, 8, 1, 64), drawn(4, 8, 1, 96)
    token = drawn(6, 8 * 64), drawn(64), drawn(64), drawn(6, 64), drawn(6, 64)
    blocks = drawn(4, 8, 32, 16), drawn(4, 8, 32, 16)
    whole = [torch.zeros(3, 12, 2, 16, dtype=torch.int8).to("npu") for _ in range(2)]
    projected: dict[str, Any] = {"cache_mode": "PA_NZ"}

    def without_projection(*given: torch.Tensor) -> torch.Tensor:
        # Nobody computes the projection's values, neither here nor in eager.
        torch_npu.npu_qkv_rms_norm_rope_cache(*given, [2, 3, 8, 64], [4, 2, 2], **projected)
        return given[0] + 1

    return {
        "latent cache": Case(
            lambda *given: torch_npu.npu_kv_rmsnorm_rope_cache(
                *given, cache_mode="PA", is_output_kv=True
            ),
            [kv, gamma, *angles, index, *pages],
        ),
        "joint projection": Case(
            lambda *given: torch_npu.npu_qkv_rms_norm_rope_cache(
                *given, [2, 3, 8, 64], [4, 2, 2], is_output_qkv=True, **projected
            ),
            [*token, index[:6].contiguous(), drawn(6, 256), *blocks],
            dynamic=[False],
        ),
        "without projection": Case(
            without_projection,
            [*token, index[:6].contiguous(), drawn(6, 256), *blocks],
            dynamic=[False],
        ),
        "quantised cache": Case(
            lambda *given: torch_npu.npu_rope_quant_kvcache(*given, [64, 32, 32], kv_output=True),
            [
                *(drawn(2, 3, 128), drawn(2, 3, 1, 16), drawn(2, 3, 1, 16)),
                *whole,
                int32(2, 5),
                *(drawn_whole(2, 16) for _ in range(2)),
            ],
        ),
        "pages": Case(
            lambda key, value, a, b, slots: torch_npu.npu_scatter_pa_kv_cache(
                key, value, a, b, slots, cache_mode="Norm"
            ),
            [
                *(drawn(9, 2, 32), drawn(9, 2, 48), drawn(4, 8, 2, 32), drawn(4, 8, 2, 48)),
                int32(3, -1, 0, 20, 7, 9, 1, 2, 5),
            ],
        ),
    }


def prologs() -> dict[str, Case]:
    weights = (
        *(drawn(2, 3, 64), drawn(64, 48) / 8, drawn(48, 144) / 8, drawn(3, 16, 32) / 4),
        *(drawn(64, 64) / 8, drawn(48), drawn(32), drawn(2, 3, 32), drawn(2, 3, 32)),
    )
    cache = drawn(5, 4, 1, 32), drawn(5, 4, 1, 32)
    slots = torch.tensor([[3, 9, 0], [11, 2, 5]]).to("npu")
    return {
        "version 2": Case(
            lambda *given: torch_npu.npu_mla_prolog_v2(*given, cache_mode="PA_BSND")[:4],
            [*weights, slots, *cache],
        ),
        "version 3": Case(
            lambda *given: torch_npu.npu_mla_prolog_v3(
                *given[:-1], cache_index=given[-1], query_norm_flag=True
            )[:2],
            [*weights, *cache, slots],
        ),
        "version 3 without norms": Case(
            lambda *given: torch_npu.npu_mla_prolog_v3(*given[:-1], cache_index=given[-1])[:2],
            [*weights, *cache, slots],
        ),
    }


def parts() -> dict[str, Case]:
    sums = [drawn_whole(7) for _ in range(3)]
    return {
        "update": Case(
            lambda sums, outs: torch_npu.npu_attention_update(sums, outs, 0)[0],
            [sums, [drawn(7, 64) for _ in range(3)]],
            dynamic=[False],
        ),
        "update with sums": Case(
            lambda sums, outs: torch_npu.npu_attention_update(sums, outs, 1),
            [sums, [drawn(7, 64) for _ in range(3)]],
            dynamic=[False],
        ),
    }


def recurrences() -> dict[str, Case]:
    def unit(*sizes: int) -> torch.Tensor:
        return functional.normalize(drawn(*sizes), dim=-1)

    return {
        "masked": Case(
            lambda x, w, m: torch_npu.npu_masked_causal_conv1d(x, w, mask=m),
            [drawn(6, 2, 64), drawn(3, 64), torch.rand(2, 6).to("npu") > 0.4],
        ),
        "convolution": Case(
            lambda x, w, states, starts, lines: torch_npu.npu_fused_causal_conv1d(
                *(x, w, states),
                query_start_loc=starts,
                cache_indices=lines,
                residual_connection=1,
            ),
            [
                *(drawn(10, 64), drawn(3, 64), drawn(5, 2, 64)),
                *(int32(0, 4, 5, 8, 10), int32(2, 0, 4, 1)),
            ],
        ),
        "delta rule": Case(
            lambda q, k, v, state, beta, g, lengths, places: (
                torch_npu.npu_recurrent_gated_delta_rule(
                    *(q, k, v, state),
                    beta=beta,
                    scale=0.5,
                    g=g,
                    actual_seq_lengths=lengths,
                    ssm_state_indices=places,
                )
            ),
            [
                *(unit(6, 2, 16), unit(6, 2, 16), drawn(6, 4, 16), drawn(8, 4, 16, 16)),
                *(drawn(6, 4).sigmoid(), -drawn_whole(6, 4).abs()),
                *(int32(1, 3, 2), int32(5, 0, 7, 2, 1, 4)),
            ],
        ),
    }


def flat(value: object) -> list[torch.Tensor]:
    if value is None:
        return []
    if isinstance(value, (tuple, list)):
        return [one for each in value for one in flat(each)]
    assert isinstance(value, torch.Tensor)
    return [value]


def copied(given: Sequence[torch.Tensor | list[torch.Tensor]]) -> list[Any]:
    return [[t.clone() for t in g] if isinstance(g, list) else g.clone() for g in given]


def error_of(case: Case, *, dynamic: bool) -> str:
    """Return why results, or what was written in place, are not those of eager; "" if they are."""
    try:
        before, after = copied(case.given), copied(case.given)
        wanted = flat(case.function(*before))
        got = flat(compiled(case.function, dynamic=dynamic)(*after))
        pairs = zip([*got, *flat(after)], [*wanted, *flat(before)], strict=True)
        differ = [index for index, pair in enumerate(pairs) if not torch.equal(*pair)]
    except Exception as error:  # noqa: BLE001 - whatever it is, it is reported
        return f"{type(error).__name__}: {error}"
    return f"tensors {differ} differ" if differ else ""


@pytest.mark.isolated
@pytest.mark.parametrize("make", [caches, prologs, parts, recurrences])
def test_library_functions_answer_in_graphs_what_eager_does(
    make: Callable[[], dict[str, Case]],
) -> None:
    torch.manual_seed(7)
    failed = [
        f"{name}, dynamic {dynamic}, {error}"
        for name, case in make().items()
        for dynamic in case.dynamic
        if (error := error_of(case, dynamic=dynamic))
    ]
    assert not failed, "\n\n".join(failed)


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


@pytest.mark.isolated
def test_a_number_of_tensors_that_is_not_theirs_is_refused_by_name() -> None:
    library = new_library("sums")
    library.define("join(Tensor[] lse, Tensor[] parts) -> (Tensor, Tensor)")
    library.impl(
        "join", lambda lse, parts: (parts[0].clone(), lse[0].clone()), "CompositeExplicitAutograd"
    )
    update = torchair._ge_concrete_graph.ge_apis.AttentionUpdate  # noqa: SLF001 - not public
    torchair.register_fx_node_ge_converter(torch.ops.sums.join.default)(
        lambda lse, parts: update(lse, parts, update_type=1, sp=5)
    )
    graph = compiled(torch.ops.sums.join)
    with pytest.raises(RuntimeError) as raised:
        run_to_the_end(graph, [drawn_whole(7)] * 2, [drawn(7, 64)] * 2)
    assert "sp 5 is not available; available: 2" in " ".join(str(raised.value).split())
