"""The indexers and sparse attention of a paged batch, in eager calls and in graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
import torch_npu
import torchair

from opwright.reference.comparison import differing_attention
from opwright.reference.lightning_indexer import lightning_indexer, quant_lightning_indexer
from opwright.reference.sparse_flash_attention import (
    kv_quant_sparse_flash_attention,
    sparse_flash_attention,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Operator = Callable[..., Any]

HEADS, PAGE, PAGES, COUNT = 8, 16, 12, 24
TORCHAIR = ("max-autotune", "reduce-overhead")
SELECTED = {"sparse_count": COUNT, "layout_query": "TND", "layout_key": "PA_BSND"}
ATTENDED = {"attention_mode": 2, "layout_query": "TND", "layout_kv": "PA_BSND"}


@dataclass(frozen=True)
class Step:
    """Sequences with so many queries and keys, and pages that are not in order."""

    queries: tuple[int, ...]
    keys: tuple[int, ...]

    def lengths(self) -> list[torch.Tensor]:
        """Return the ends of the queries, the lengths of the keys, and the block table."""
        pages = torch.randperm(PAGES)[: 4 * len(self.keys)].int().view(-1, 4).clone()
        for row, keys in zip(pages, self.keys, strict=True):
            row[-(-keys // PAGE) :] = -1
        ends = torch.tensor(self.queries).cumsum(0).int()
        return [ends, torch.tensor(self.keys, dtype=torch.int32), pages]

    def selection(self) -> torch.Tensor:
        """Return indices for attention: some keys in any order, then -1; a row has none."""
        rows = torch.full((sum(self.queries), 1, COUNT), -1, dtype=torch.int32)
        row = 0
        for queries, keys in zip(self.queries, self.keys, strict=True):
            for i in range(queries):
                chosen = torch.randperm(max(keys - queries + i + 1, 0))[: COUNT - row]
                rows[row, 0, : len(chosen)] = chosen.int()
                row += 1
        return rows


# The batch grows and shrinks, as it does while a model serves.
STEPS = (
    Step((1, 1, 1), (40, 3, 17)),
    Step((1, 1, 1), (41, 4, 18)),
    Step((2, 1, 3), (64, 5, 2)),
    Step((1, 1), (33, 1)),
)


def whole(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    """Draw small integers: scores are exact, and many are equal."""
    return torch.randint(-3, 4, shape).to(dtype)


def powers(*shape: int) -> torch.Tensor:
    """Draw scales that multiply without rounding."""
    return torch.tensor([0.5, 1.0, 2.0]).half()[torch.randint(0, 3, shape)]


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape).bfloat16()


def positive(*shape: int) -> torch.Tensor:
    """Draw values whose sums lose no digits, however weights are rounded."""
    return torch.rand(shape).bfloat16()


def cache() -> torch.Tensor:
    """Draw pages of a quantised cache."""
    parts = (
        whole(PAGES, PAGE, 1, 512, dtype=torch.int8).abs(),
        normal(PAGES, PAGE, 1, 64).view(torch.int8),
        torch.rand(PAGES, PAGE, 1, 4).view(torch.int8),
    )
    return torch.cat(parts, -1)


def draw(step: Step) -> list[torch.Tensor]:
    """Draw what `run` takes."""
    rows = sum(step.queries)
    return [
        *step.lengths(),
        step.selection(),
        *(whole(rows, HEADS, 128), whole(PAGES, PAGE, 1, 128), whole(rows, HEADS)),
        whole(rows, HEADS, 128, dtype=torch.int8),
        whole(PAGES, PAGE, 1, 128, dtype=torch.int8),
        *(powers(rows, HEADS), powers(rows, HEADS), powers(PAGES, PAGE, 1)),
        *(normal(rows, HEADS, 512), positive(PAGES, PAGE, 1, 512)),
        *(normal(rows, HEADS, 64), normal(PAGES, PAGE, 1, 64)),
        *(normal(rows, HEADS, 576), cache()),
    ]


def run(operators: list[Operator], given: list[torch.Tensor]) -> list[torch.Tensor]:
    """Call the four operators; attention looks at what is given, not at what was selected."""
    ends, lengths, table, selection, *given = given
    where = {"actual_seq_lengths_query": ends, "block_table": table}
    indexed = {"actual_seq_lengths_key": lengths, **where, **SELECTED}
    attended = {"actual_seq_lengths_kv": lengths, **where, **ATTENDED}
    indexer, quantized_indexer, attention, quantized_attention = operators
    query, key, query_rope, key_rope = given[8:12]
    return [
        indexer(*given[:3], **indexed)[0],
        quantized_indexer(*given[3:8], 0, 0, **indexed),
        attention(
            query, key, key, selection, 0.05, query_rope=query_rope, key_rope=key_rope, **attended
        )[0],
        quantized_attention(given[12], given[13], given[13], selection, 0.05, 2, 2, **attended),
    ]


REFERENCES: list[Operator] = [
    lightning_indexer,
    quant_lightning_indexer,
    sparse_flash_attention,
    kv_quant_sparse_flash_attention,
]
OPERATORS: list[Operator] = [
    getattr(torch_npu, f"npu_{reference.__name__}") for reference in REFERENCES
]


def step_of(given: list[torch.Tensor]) -> list[torch.Tensor]:
    return run(OPERATORS, given)


def compiled(mode: str, *, dynamic: bool) -> Callable[[list[torch.Tensor]], list[torch.Tensor]]:
    """Return the step in a mode."""
    if mode == "eager":
        return step_of
    backend: Any = mode
    if mode in TORCHAIR:
        config = torchair.CompilerConfig()
        config.mode = mode
        backend = torchair.get_npu_backend(compiler_config=config)
    torch.compiler.reset()
    return torch.compile(step_of, backend=backend, dynamic=dynamic, fullgraph=True)


def wrong(got: torch.Tensor, want: torch.Tensor) -> str | None:
    """Return how a result differs from that of the reference."""
    if want.dtype != torch.int32:
        return differing_attention(got, want)
    if got.shape != want.shape:
        return f"{[*got.shape]} for {[*want.shape]}"
    return None if torch.equal(got, want) else f"{int((got != want).sum())} other indices"


def check(mode: str, *, dynamic: bool) -> list[str]:
    """Run all steps in a mode, and return what was wrong."""
    call = compiled(mode, dynamic=dynamic)
    found = []
    for number, step in enumerate(STEPS if dynamic or mode == "eager" else STEPS[:2]):
        given = draw(step)
        on_npu = [each.to("npu") for each in given]
        results = call(on_npu)
        if not all(map(torch.equal, results, step_of(on_npu))):
            found.append(f"step {number}: not what eager calls answer")
        for operator, got, want in zip(REFERENCES, results, run(REFERENCES, given), strict=True):
            text = wrong(got.cpu(), want)
            found += [f"step {number}, {operator.__name__}: {text}"] if text else []
    return found
