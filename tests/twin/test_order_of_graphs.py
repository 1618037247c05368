"""Replays of captured graphs, and runs of compiled ones, as `opwright run --order` sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import opwright.twin  # noqa: F401  # before torch_npu

import torch  # isort: skip
import torch_npu  # isort: skip
import torchair  # isort: skip

from tests.twin.order_findings import checked, functions_of, only_finding, take_after_waiting

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.twin


def capture_exp(x: torch.Tensor) -> tuple[torch_npu.npu.NPUGraph, torch.Tensor]:
    graph = torch_npu.npu.NPUGraph()
    torch_npu.npu.synchronize()
    with torch_npu.npu.graph(graph):
        y = x.exp()
    return graph, y


@checked
def test_a_replay_beside_the_refresh_of_its_input_is_found() -> None:
    x = torch.zeros(100, device="npu")
    graph, _ = capture_exp(x)
    torch_npu.npu.synchronize()
    with torch_npu.npu.stream(torch_npu.npu.Stream()):
        x.add_(1)
    graph.replay()
    finding = only_finding()
    assert functions_of([finding]) == [("aclnnInplaceAdds", "aclnnExp")]
    assert finding.later.lines[0].endswith(" in capture_exp")
    assert any(line.startswith("replayed by ") for line in finding.later.lines)


@checked
def test_an_output_that_is_read_beside_the_next_replay_is_found() -> None:
    x = torch.zeros(100, device="npu")
    graph, y = capture_exp(x)
    graph.replay()
    torch_npu.npu.synchronize()
    with torch_npu.npu.stream(torch_npu.npu.Stream()):
        y.sum()
    graph.replay()
    assert [each.later.function for each in take_after_waiting()].count("aclnnExp") == 1


@checked
def test_replays_on_two_streams_share_the_memory_of_the_graph() -> None:
    x = torch.zeros(100, device="npu")
    graph, _ = capture_exp(x)
    graph.replay()
    with torch_npu.npu.stream(torch_npu.npu.Stream()):
        graph.replay()
    assert functions_of(take_after_waiting()) == [("aclnnExp", "aclnnExp")]


@checked
def test_lanes_that_a_capture_does_not_order_are_found() -> None:
    x = torch.zeros(100, device="npu")
    main, side = torch_npu.npu.Stream(), torch_npu.npu.Stream()
    graph = torch_npu.npu.NPUGraph()
    torch_npu.npu.synchronize()
    with torch_npu.npu.graph(graph, stream=main):
        side.wait_stream(main)
        with torch_npu.npu.stream(side):
            x.add_(1)
        x.exp()
        main.wait_stream(side)
    graph.replay()
    assert functions_of(take_after_waiting()) == [("aclnnInplaceAdds", "aclnnExp")]


@checked
def test_ordered_replays_are_left_alone() -> None:
    x, other = torch.zeros(100, device="npu"), torch.zeros(100, device="npu")
    main, side = torch_npu.npu.Stream(), torch_npu.npu.Stream()
    graph = torch_npu.npu.NPUGraph()
    torch_npu.npu.synchronize()
    with torch_npu.npu.graph(graph, stream=main):
        side.wait_stream(main)
        with torch_npu.npu.stream(side):
            other.add_(1)
        x.add_(1)
        main.wait_stream(side)
        y = x + other
    for step in range(3):
        graph.replay()
        side.wait_stream(torch_npu.npu.current_stream())
        with torch_npu.npu.stream(side):
            graph.replay()
        torch_npu.npu.current_stream().wait_stream(side)
        assert y.sum().item() == 100 * 2 * 2 * (step + 1)
    assert functions_of(take_after_waiting()) == []


@checked
def test_an_input_that_was_freed_after_the_capture_is_found() -> None:
    def forget(tensors: list[torch.Tensor]) -> None:
        tensors.clear()

    inputs = [torch.zeros(100, device="npu")]
    graph, _ = capture_exp(inputs[0])
    graph.replay()
    assert functions_of(take_after_waiting()) == []
    forget(inputs)
    graph.replay()
    finding = only_finding()
    assert functions_of([finding]) == [("free", "aclnnExp")]
    assert finding.earlier.lines[0].endswith(" in forget")
    assert "uses memory that was freed after the capture" in str(finding)


@checked
def test_temporaries_and_outputs_of_a_capture_may_go() -> None:
    x = torch.zeros(100, device="npu")
    graph = torch_npu.npu.NPUGraph()
    torch_npu.npu.synchronize()
    with torch_npu.npu.graph(graph):
        y = (x + 1).exp().log()
    del y
    for _ in range(3):
        graph.replay()
        torch.zeros(100, device="npu").add_(1)
    assert functions_of(take_after_waiting()) == []


def capture_in_pool(
    function: Callable[[torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    pool: tuple[int, int] | None = None,
) -> tuple[torch_npu.npu.NPUGraph, torch.Tensor]:
    graph = torch_npu.npu.NPUGraph()
    torch_npu.npu.synchronize()
    with torch_npu.npu.graph(graph, pool=pool):
        y = function(x)
    return graph, y


def capture_chain(x: torch.Tensor) -> list[torch_npu.npu.NPUGraph]:
    """Capture a graph that makes a tensor and one that reads it, and let the tensor go."""
    first, y = capture_in_pool(torch.exp, x)
    second, _ = capture_in_pool(torch.log, y, first.pool())
    return [first, second]


@checked
def test_a_pool_keeps_what_one_graph_has_computed_for_the_next() -> None:
    x = torch.zeros(100, device="npu")
    graphs = capture_chain(x)
    for _ in range(2):
        for graph in graphs:
            graph.replay()
    assert functions_of(take_after_waiting()) == []


@checked
def test_what_another_graph_has_written_to_the_pool_is_found() -> None:
    x = torch.zeros(100, device="npu")
    first, second = capture_chain(x)
    third, _ = capture_in_pool(torch.sin, x, first.pool())
    for graph in (first, third, second):
        graph.replay()
    assert functions_of(take_after_waiting()) == [("free", "aclnnLog")]
    for graph in (third, first, second):
        graph.replay()
    assert functions_of(take_after_waiting()) == []


@checked
@pytest.mark.filterwarnings(  # of torch_npu's backend
    "ignore:triton-ascend is not installed", "ignore:torch._dynamo.config.inline_inbuilt"
)
def test_inputs_that_graph_trees_copy_to_the_pool_are_left_alone() -> None:
    """Graph trees free what they capture with, and copy inputs to its place later."""
    from torch_npu.npu import _graph_tree  # noqa: PLC0415 - it sets up the compiler

    @torch.compile(backend="npugraphs")
    def first(x: torch.Tensor) -> torch.Tensor:
        return (x + 1).exp()

    @torch.compile(backend="npugraphs")
    def second(y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        return (y * z).log()

    for step in range(6):
        torch.compiler.npugraph_mark_step_begin()  # type: ignore[attr-defined]
        x, z = (torch.full((1000,), float(step), device="npu") for _ in range(2))
        y = first(x)
        result = second(y, z + 1)
        torch.testing.assert_close(result.cpu(), (x.cpu() + 1).exp().mul(z.cpu() + 1).log())
    assert _graph_tree.get_manager(0).roots
    assert functions_of(take_after_waiting()) == []


@checked
def test_what_a_graph_has_written_over_an_input_in_its_pool_is_found() -> None:
    pool = torch_npu.npu.MemPool()
    capture_in_pool(torch.sin, torch.zeros(100, device="npu"))  # makes the stream of captures
    captures = torch_npu.npu.graph.default_capture_stream
    with torch_npu.npu.stream(captures), torch_npu.npu.use_mem_pool(pool):
        inputs = [torch.zeros(100, device="npu")]
    place = inputs[0].data_ptr()
    first, _ = capture_in_pool(torch.exp, inputs[0], pool.id)
    inputs.clear()
    second, other = capture_in_pool(torch.sin, torch.zeros(100, device="npu"), pool.id)
    assert other.data_ptr() == place
    second.replay()
    first.replay()
    assert ("free", "aclnnExp") in functions_of(take_after_waiting())


@checked
def test_an_operand_that_an_update_puts_into_a_graph_is_compared() -> None:
    """Replays have it from the end of the update on, also before its stream has come so far."""
    x, old, new = (torch.ones(8, 8, device="npu") for _ in range(3))
    out = torch.empty(8, 8, device="npu")
    graph, updates = torch_npu.npu.NPUGraph(), torch_npu.npu.Stream()
    torch_npu.npu.synchronize()
    with torch_npu.npu.graph(graph):
        stream = torch_npu.npu.current_stream()
        torch_npu.npu.graph_task_group_begin(stream)
        torch.mm(x, old, out=out)
        handle = torch_npu.npu.graph_task_group_end(stream)

    def update() -> None:
        torch_npu.npu.graph_task_update_begin(updates, handle)
        torch.mm(x, new, out=out)
        torch_npu.npu.graph_task_update_end(updates)

    with torch_npu.npu.stream(torch_npu.npu.Stream()):
        new.add_(1)
    with torch_npu.npu.stream(updates):
        update()
    torch_npu.npu.current_stream().wait_stream(updates)
    graph.replay()
    finding = only_finding()
    assert functions_of([finding]) == [("aclnnInplaceAdds", "aclnnMm")]
    assert finding.later.lines[0].endswith(" in update")
    assert any(line.startswith("in place of ") for line in finding.later.lines)
    assert any(line.startswith("replayed by ") for line in finding.later.lines)


def capture_copy_and_read(
    x: torch.Tensor, host: torch.Tensor, seen: list[float]
) -> torch_npu.npu.NPUGraph:
    """Copy x to the host in a graph, and let a host function of the graph read it."""
    graph, stream = torch_npu.npu.NPUGraph(), torch_npu.npu.Stream()
    torch_npu.npu._subscribe_report(stream)  # noqa: SLF001 - documented by its private name
    torch_npu.npu.synchronize()
    with torch_npu.npu.graph(graph, stream=stream):
        x.add_(1)
        host.copy_(x, non_blocking=True)
        torch_npu.npu._launch_host_func(  # noqa: SLF001 - documented by its private name
            stream, lambda _: seen.append(float(host[0])), None
        )
    return graph


@checked
def test_a_host_function_is_behind_what_its_graph_has_launched_before_it() -> None:
    x, host = torch.zeros(100, device="npu"), torch.zeros(100).pin_memory()
    seen: list[float] = []
    graph = capture_copy_and_read(x, host, seen)
    for _ in range(3):
        graph.replay()
        torch_npu.npu.synchronize()
    assert seen == [1, 2, 3]
    assert functions_of(take_after_waiting()) == []


@checked
def test_a_host_function_beside_a_copy_of_another_stream_is_found() -> None:
    x, host = torch.zeros(100, device="npu"), torch.zeros(100).pin_memory()
    graph = capture_copy_and_read(x, host, [])
    with torch_npu.npu.stream(torch_npu.npu.Stream()):
        host[:50].copy_(torch.ones(50, device="npu"), non_blocking=True)
    graph.replay()
    assert "a load" in [each.later.function for each in take_after_waiting()]


@checked
def test_a_compiled_graph_beside_a_write_of_its_input_is_found() -> None:
    backend = torchair.get_npu_backend()
    compiled = torch.compile(lambda x: x * 2 + 1, backend=backend, dynamic=False)
    x = torch.zeros(100, device="npu")
    torch_npu.npu.synchronize()
    side = torch_npu.npu.Stream()
    with torch_npu.npu.stream(side):  # TorchAir runs a graph on one stream
        assert compiled(x).sum().item() == 100
    assert functions_of(take_after_waiting()) == []
    x.add_(1)
    with torch_npu.npu.stream(side):
        compiled(x)
    assert ("aclnnInplaceAdds", "ge::Session::RunGraph") in functions_of(take_after_waiting())
