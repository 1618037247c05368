"""The indexers and sparse attention in graphs, and what Meta says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch._functorch.config
import torch_npu
import torchair

from tests.graph_engine.agreement import give_compilers_time
from tests.twin.graphs.sparse_attention import check

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# npugraph_ex and TorchAir patch the same operators: in one process, TorchAir has to be the first
# that compiles (torch_npu 2.13.0).
MODES = ("eager", "max-autotune", "reduce-overhead", "npugraph_ex")


@pytest.mark.filterwarnings("ignore")  # of dynamo and of torch_npu's backends
@pytest.mark.isolated
def test_eager_calls_and_graphs_answer_what_the_references_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Static and dynamic shapes; graphs equal eager calls bit for bit."""
    torch.manual_seed(0)
    torch.set_num_threads(1)  # everything is small
    # torch_npu's .out forms, which npugraph_ex calls, are undeclared aliases (docs/graphs.md).
    config = torch._functorch.config  # noqa: SLF001
    if hasattr(config, "error_on_custom_op_aliasing"):  # the releases that refuse them
        monkeypatch.setattr(config, "error_on_custom_op_aliasing", False)
    problems = {
        f"{mode}, {'dynamic' if dynamic else 'static'}": check(mode, dynamic=dynamic)
        for mode in MODES
        for dynamic in (False, True)
    }
    assert len(problems) == 2 * len(MODES)
    assert problems == {name: [] for name in problems}


def normal(*shape: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator).half().to("npu")


def test_a_captured_graph_reads_lengths_and_pages_when_it_runs() -> None:
    """They are tensors of the device: a graph that is replayed needs no update."""
    query, weights = normal(2, 1, 8, 128, seed=1), normal(2, 1, 8, seed=2)
    keys, latent, latents = (
        normal(*shape, seed=3) for shape in ((6, 16, 1, 128), (2, 1, 8, 512), (6, 16, 1, 512))
    )
    lengths = torch.tensor([20, 7], dtype=torch.int32).to("npu")
    table = torch.tensor([[4, 1, 3], [0, 5, 2]], dtype=torch.int32).to("npu")

    def step() -> tuple[torch.Tensor, torch.Tensor]:
        paged = {"block_table": table}
        indices, _ = torch_npu.npu_lightning_indexer(
            query,
            keys,
            weights,
            actual_seq_lengths_key=lengths,
            layout_key="PA_BSND",
            sparse_count=16,
            **paged,
        )
        out, _, _ = torch_npu.npu_sparse_flash_attention(
            latent,
            latents,
            latents,
            indices,
            0.05,
            actual_seq_lengths_kv=lengths,
            layout_kv="PA_BSND",
            attention_mode=2,
            **paged,
        )
        return indices, out

    step()
    graph = torch_npu.npu.NPUGraph()
    with torch_npu.npu.graph(graph):
        results = step()
    seen = []
    for values, pages in (([20, 7], [[4, 1, 3], [0, 5, 2]]), ([33, 48], [[2, 0, 5], [1, 3, 4]])):
        lengths.copy_(torch.tensor(values))
        table.copy_(torch.tensor(pages))
        graph.replay()
        assert all(map(torch.equal, results, step()))
        seen.append(results[0].cpu())
    assert not torch.equal(*seen)


TND = {"layout_query": "TND"}
HALF, SHORT = torch.float16, torch.int32
ATTEND: dict[str, Any] = {"scale_value": 0.1, "attention_mode": 2}
QUANTISED: dict[str, Any] = {**ATTEND, "key_quant_mode": 2, "value_quant_mode": 2}


def zeros(*shape: int, dtype: torch.dtype = HALF) -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype)


def ends(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=SHORT)


def paged(name: str) -> dict[str, Any]:
    """Two sequences of three tokens, a page each; TND queries."""
    return {
        "actual_seq_lengths_query": ends(3, 6),
        f"actual_seq_lengths_{name}": ends(3, 3),
        "block_table": ends(1, 0).view(2, 1),
        f"layout_{name}": "PA_BSND",
        **TND,
    }


CASES: list[tuple[str, list[torch.Tensor], dict[str, Any]]] = [
    (
        "npu_lightning_indexer",
        [zeros(2, 3, 8, 128), zeros(2, 5, 1, 128), zeros(2, 3, 8)],
        {"sparse_count": 7, "return_value": True},
    ),
    (
        "npu_lightning_indexer",
        [zeros(6, 8, 128), zeros(2, 16, 1, 128), zeros(6, 8)],
        {"sparse_count": 7, **paged("key")},
    ),
    (
        "npu_quant_lightning_indexer",
        [
            zeros(2, 3, 8, 128, dtype=torch.int8),
            zeros(2, 5, 1, 128, dtype=torch.int8),
            *(zeros(2, 3, 8), zeros(2, 3, 8), zeros(2, 5, 1)),
        ],
        {"query_quant_mode": 0, "key_quant_mode": 0},
    ),
    (
        "npu_sparse_flash_attention",
        [
            *(zeros(2, 3, 8, 512), zeros(2, 5, 1, 512), zeros(2, 5, 1, 512)),
            zeros(2, 3, 1, 4, dtype=SHORT),
        ],
        {"return_softmax_lse": True, **ATTEND},
    ),
    (
        "npu_sparse_flash_attention",
        [
            *(zeros(6, 8, 512), zeros(2, 16, 1, 512), zeros(2, 16, 1, 512)),
            zeros(6, 1, 4, dtype=SHORT),
        ],
        {**ATTEND, **paged("kv")},
    ),
    (
        "npu_kv_quant_sparse_flash_attention",
        [
            zeros(6, 8, 576),
            *(zeros(2, 16, 1, 656, dtype=torch.int8), zeros(2, 16, 1, 656, dtype=torch.int8)),
            zeros(6, 1, 4, dtype=SHORT),
        ],
        {**QUANTISED, **paged("kv")},
    ),
]


def on(device: str, value: object) -> object:
    return value.to(device) if isinstance(value, torch.Tensor) else value


@pytest.mark.parametrize(("name", "tensors", "options"), CASES)
def test_meta_says_what_is_computed(
    name: str, tensors: list[torch.Tensor], options: dict[str, Any]
) -> None:
    inferred, computed = (
        getattr(torch.ops.npu, name)(
            *(on(device, each) for each in tensors),
            **{key: on(device, value) for key, value in options.items()},
        )
        for device in ("meta", "npu")
    )
    for one, other in zip(
        *((r if isinstance(r, tuple) else (r,)) for r in (inferred, computed)), strict=True
    ):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)


def gradients(
    function: Callable[..., torch.Tensor], given: Sequence[torch.Tensor]
) -> list[torch.Tensor]:
    leaves = [each.to("npu").requires_grad_() for each in given]
    return [*torch.autograd.grad(function(*leaves).float().square().sum(), leaves)]


@pytest.mark.slow
@pytest.mark.build
@pytest.mark.isolated
def test_gradients_of_attention_in_max_autotune_are_those_of_eager() -> None:
    """TorchAir compiles a class for it."""
    give_compilers_time()
    torch.manual_seed(0)
    rows = [[0, -1, -1, -1], [1, 0, -1, -1], [2, 0, 1, -1], [3, 1, 0, 2]]
    indices = torch.tensor(rows, dtype=torch.int32).view(1, 4, 1, 4).to("npu")

    def attend(
        query: torch.Tensor, key: torch.Tensor, rope: torch.Tensor, key_rope: torch.Tensor
    ) -> torch.Tensor:
        options = {"query_rope": rope, "key_rope": key_rope, "attention_mode": 2}
        out: torch.Tensor = torch_npu.npu_sparse_flash_attention(
            query, key, key, indices, 0.05, return_softmax_lse=True, **options
        )[0]
        return out

    sizes = (1, 4, 8, 512), (1, 6, 1, 512), (1, 4, 8, 64), (1, 6, 1, 64)
    given = [torch.randn(size).half() for size in sizes]
    backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
    graph = torch.compile(attend, backend=backend, dynamic=False, fullgraph=True)
    eager = gradients(attend, given)
    assert len(eager) == 4
    assert all(each.any() for each in eager)
    for compiled, expected in zip(gradients(graph, given), eager, strict=True):
        assert torch.equal(compiled, expected)
