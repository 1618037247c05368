"""Counts and measures: edges, waits of launches, memory, sections that repeat."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from opwright.graph_report.captured.edges import Edge, Waits
from opwright.graph_report.captured.measures import count_moved, gather
from opwright.graph_report.captured.memory import Block, find_largest, memory_blocks, most_alive
from opwright.graph_report.captured.model import Access, CapturedGraph, Task, is_copy
from opwright.graph_report.captured.read import parse_graphs
from opwright.graph_report.repeats import Section, sections
from tests.graph_report.dumps import FORKED, Event, head, kernel, task, text


def read(events: list[Event]) -> CapturedGraph:
    (graph,) = parse_graphs(text(events), where="dump.json")
    return graph


def test_a_forked_graph() -> None:
    facts = gather(read(FORKED))
    assert facts.numbers == {0: 1, 3: 2, 4: 3, 7: 4}
    assert facts.per_stream == {3: 3, 5: 1}
    assert facts.edges == (Edge(record=1, wait=2), Edge(record=5, wait=6))
    assert facts.external == 0
    assert facts.waits == {3: Waits((0,)), 7: Waits((3,))}
    assert facts.copies == (7,)
    assert facts.groups == {0: 1}
    assert facts.blocks == (
        Block(address=0x1000, size=24, writers=(7,), readers=(0, 3)),
        Block(address=0x2000, size=24, writers=(0, 4), readers=(3,)),
        Block(address=0x3000, size=24, writers=(3,), readers=(7,)),
    )
    assert [block.is_input for block in facts.blocks] == [True, False, False]
    assert facts.most_alive == 72


def test_a_launch_waits_for_what_a_stream_without_launches_passed_on() -> None:
    graph = read(
        [
            kernel(0, 1, "aclnnAbs"),
            task(1, 1, "EVENT_RECORD_0", "EVENT_RECORD"),
            task(2, 2, "EVENT_WAIT_0", "EVENT_WAIT"),
            task(3, 2, "EVENT_RECORD_1", "EVENT_RECORD"),
            task(4, 3, "EVENT_WAIT_1", "EVENT_WAIT"),
            task(5, 3, "EVENT_WAIT_9", "EVENT_WAIT"),
            kernel(6, 3, "aclnnNeg"),
            kernel(7, 3, "aclnnExp"),
        ]
    )
    facts = gather(graph)
    assert facts.waits == {6: Waits((0,), (9,))}
    assert (len(facts.edges), facts.external) == (2, 1)


def test_copies_are_those_of_the_runtime_and_of_torch() -> None:
    names = ["aclnnInplaceCopy", "aclnnForeachCopy", "aclnnAdd"]
    assert [is_copy(Task(stream=1, name=name, kind="kernel")) for name in names] == [
        True,
        True,
        False,
    ]
    assert is_copy(Task(stream=1, name="aclrtMemcpyAsync", kind="copy"))


def test_the_bytes_that_a_launch_moves() -> None:
    graph = read(FORKED)
    assert [
        (count_moved(each, written=False), count_moved(each, written=True)) for each in graph.tasks
    ] == [
        (48, 24),
        (0, 0),
        (0, 0),
        (48, 24),
        (0, 24),
        (0, 0),
        (0, 0),
        (24, 24),
    ]


def touching(*accesses: Access) -> CapturedGraph:
    tasks = tuple(
        Task(stream=1, name="aclnnAbs", kind="kernel", accesses=(access,)) for access in accesses
    )
    return CapturedGraph(model=1, device=0, detailed=True, tasks=tasks)


def test_ranges_that_overlap_are_one_block_and_neighbours_are_two() -> None:
    graph = touching(
        Access(address=100, size=10, written=True),
        Access(address=105, size=10, written=False),
        Access(address=115, size=5, written=False),
        Access(address=500, size=0, written=True),
        Access(address=102, size=2, written=False, host=True),
    )
    assert memory_blocks(graph) == (
        Block(address=100, size=15, writers=(0,), readers=(1,)),
        Block(address=115, size=5, writers=(), readers=(2,)),
    )


def test_a_block_that_one_task_updates_is_an_input() -> None:
    (read_first,) = memory_blocks(
        CapturedGraph(
            model=1,
            device=0,
            detailed=True,
            tasks=(
                Task(
                    stream=1,
                    name="aclnnAbs",
                    kind="kernel",
                    accesses=tuple(
                        Access(address=8, size=4, written=written) for written in (True, False)
                    ),
                ),
            ),
        )
    )
    assert read_first == Block(address=8, size=4, writers=(0,), readers=(0,))
    assert read_first.is_input


def test_of_many_blocks_the_largest_are_listed_in_order() -> None:
    sizes = (5, 9, 7, 9)
    blocks = memory_blocks(
        touching(*(Access(address=100 * n, size=s, written=True) for n, s in enumerate(sizes, 1)))
    )
    assert [(number, block.size) for number, block in find_largest(blocks, 3).items()] == [
        (2, 9),
        (3, 7),
        (4, 9),
    ]


ACCESSES = st.builds(
    Access, address=st.integers(0, 60), size=st.integers(0, 9), written=st.booleans()
)


@given(st.lists(ACCESSES, max_size=12))
def test_blocks_cover_each_touched_byte_once(accesses: list[Access]) -> None:
    blocks = memory_blocks(touching(*accesses))
    covered = [byte for each in blocks for byte in range(each.address, each.address + each.size)]
    assert sorted(covered) == sorted(
        {byte for each in accesses for byte in range(each.address, each.address + each.size)}
    )
    at_once = [
        sum(block.size for block in blocks if block.first <= place <= block.last)
        for place in range(len(accesses))
    ]
    assert most_alive(blocks) == max(at_once, default=0)


def test_layers_are_found() -> None:
    assert sections("eabcabcabcxyabcd") == (
        Section(0, 1),
        Section(1, 3, 3),
        Section(10, 6),
    )
    assert sections("aab", least=1) == (Section(0, 1, 2), Section(2, 1))
    assert sections("aab", least=2) == (Section(0, 3),)
    assert sections("") == ()


@given(st.text(alphabet="abc", max_size=40), st.integers(1, 5))
def test_sections_put_together_are_the_sequence(keys: str, least: int) -> None:
    found = sections(keys, least=least)
    assert "".join(keys[s.start : s.start + s.length] * s.times for s in found) == keys
    place = 0
    for section in found:
        assert section.start == place
        assert section.times == 1 or (section.times - 1) * section.length >= least
        place += section.length * section.times


def test_a_graph_without_launches() -> None:
    facts = gather(read([head()]))
    assert (facts.numbers, facts.blocks, facts.most_alive) == ({}, (), 0)
