"""torch.distributed with the backend hccl, between processes on the twin."""

from __future__ import annotations

import json
import os
import select
import signal
from typing import TYPE_CHECKING

import pytest

from tests.twin.distributed.spawn import check, finished

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.twin

SCENARIOS = (
    ("collectives.all_reduce", 3),
    ("collectives.reduce", 2),
    ("collectives.broadcast", 3),
    ("collectives.all_gather", 2),
    ("collectives.uneven_tensors", 3),
    ("collectives.reduce_scatter", 3),
    ("collectives.all_to_all", 3),
    ("collectives.gather_and_scatter", 2),
    ("collectives.coalesced", 2),
    ("point_to_point.pairs", 3),
    ("point_to_point.ring", 3),
    ("point_to_point.both_send_first", 2),
    ("point_to_point.overlap", 2),
    ("point_to_point.groups", 4),
    ("point_to_point.user_groups", 2),
    ("point_to_point.mesh", 4),
    ("point_to_point.captured", 2),
    ("training.data_parallel", 2),
    ("training.accumulated", 2),
    ("training.fully_sharded", 2),
    ("training.tensor_parallel", 2),
    ("training.saved", 2),
    ("fused.all_gather_matmul", 2),
    ("fused.all_gather_matmul", 4),
    ("fused.quantized_all_gather_matmul", 2),
    ("fused.quantized_all_gather_matmul", 4),
    ("fused.matmul_reduce_scatter", 2),
    ("fused.matmul_reduce_scatter", 4),
    ("fused.matmul_all_reduce", 2),
    ("fused.matmul_all_reduce", 4),
    ("fused.quantized_all_reduce", 2),
    ("fused.quantized_all_reduce", 4),
    ("fused.weight_quantized_all_reduce", 2),
    ("fused.weight_quantized_all_reduce", 4),
    ("fused_batches.gather_and_multiply", 4),
    ("fused_batches.multiply_and_scatter", 4),
    ("fused_batches.sums_of_groups", 2),
    ("fused_norm.plain", 3),
    ("fused_norm.of_bytes", 2),
    ("fused_norm.of_a_quantized_weight", 2),
    ("fused.all_to_all_matmul", 2),
    ("fused.quantized_all_to_all", 2),
    ("fused.grouped_products", 3),
    ("fused.dispatch_and_combine", 2),
    ("fused.dispatch_and_combine", 4),
    ("fused.dispatch_to_shared_experts", 2),
    ("fused.dispatch_to_shared_experts", 4),
    ("fused.quantized_dispatch", 2),
    ("fused.quantized_dispatch", 4),
    ("fused.captured", 2),
    ("fused.nothing_to_exchange", 2),
    ("fused.masked_choices", 3),
    ("fused.two_copies_of_a_shared_expert", 4),
    ("fused.rankless_experts", 2),
    ("fused.combine_with_norm", 2),
    ("fused.refusals_harm_nothing", 2),
    ("fused.a_rank_that_fails_is_named", 3),
    ("fused.a_refusal_at_phase_2_is_reported", 3),
    ("failures.different_calls", 2),
    ("failures.different_sizes", 2),
    ("failures.refused_types", 2),
)

KILLED = "ranks ended with [0, -9]"


@pytest.mark.parametrize(
    ("scenario", "size"), SCENARIOS, ids=[f"{name}-{size}" for name, size in SCENARIOS]
)
def test_ranks(scenario: str, size: int) -> None:
    check(scenario, size)


@pytest.mark.parametrize(
    ("scenario", "size"),
    [
        ("different_order", 2),
        ("different_order", 3),
        ("parts_in_any_order", 3),
        ("sends_in_any_order", 2),
    ],
)
def test_ranks_enter_collectives_in_one_order(scenario: str, size: int) -> None:
    check(f"entry_order.{scenario}", size, OPWRIGHT_ORDER="1", TASK_QUEUE_ENABLE="0")


def test_two_backends() -> None:
    check("point_to_point.two_backends", BACKEND="cpu:gloo,npu:hccl")


def test_a_killed_peer_is_named() -> None:
    scenarios = ("failures.peer_is_killed", "failures.current_stream_knows", "fused.peer_is_killed")
    for scenario in scenarios:
        done = finished(scenario)
        assert KILLED in done.stderr, done.stderr


def test_a_peer_that_does_not_come_is_named() -> None:
    check("failures.peer_does_not_come", HCCL_EXEC_TIMEOUT="10")
    check("failures.not_all_ranks_come", HCCL_CONNECT_TIMEOUT="10")


def test_ranks_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    """A test that takes too long is killed, and leaves no ranks behind."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    done = finished("failures.parent_is_killed", FIFO=str(fifo))
    assert done.returncode == -signal.SIGKILL, done.stderr
    ended = select.poll()
    ended.register(reader, 0)  # nobody writes: only the end is reported
    assert ended.poll(60_000) == [(reader, select.POLLHUP)]
    os.close(reader)


def test_groups_from_a_rank_table(tmp_path: Path) -> None:
    devices = [{"device_id": str(rank), "rank_id": str(rank)} for rank in range(4)]
    table = tmp_path / "table.json"
    table.write_text(json.dumps({"server_count": "1", "server_list": [{"device": devices}]}))
    check("point_to_point.groups", 4, RANK_TABLE_FILE=str(table))
