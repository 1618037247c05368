"""The memory of a graph: blocks, who writes and reads them, and how much lives at a time."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.graph_report.captured.model import Access, CapturedGraph

__all__ = ["MOST_LISTED", "Block", "find_largest", "memory_blocks", "most_alive"]

MOST_LISTED = 40  # blocks; of more the largest are listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A range of addresses that the graph touches: ranges that overlap are one block.

    Parameters
    ----------
    size
        Bytes.
    writers, readers
        Places in the graph's tasks, ascending; a task that updates the block is in both.
    """

    address: int
    size: int
    writers: tuple[int, ...]
    readers: tuple[int, ...]

    @property
    def first(self) -> int:
        """Place of the first task that touches the block."""
        return min((*self.writers[:1], *self.readers[:1]))

    @property
    def last(self) -> int:
        """Place of the last task that touches the block."""
        return max((*self.writers[-1:], *self.readers[-1:]))

    @property
    def is_input(self) -> bool:
        """Whether the graph reads the block before it writes it: an input or a parameter."""
        return bool(self.readers) and (not self.writers or self.readers[0] <= self.writers[0])


def memory_blocks(graph: CapturedGraph) -> tuple[Block, ...]:
    """Return the blocks of device memory in the order of their first use, then of addresses."""
    touching = sorted(
        (
            (access, place)
            for place, task in enumerate(graph.tasks)
            for access in task.accesses
            if access.size and not access.host
        ),
        key=lambda each: each[0].address,
    )
    blocks: list[Block] = []
    overlapping: list[tuple[Access, int]] = []
    end = 0
    for access, place in touching:
        if overlapping and access.address >= end:
            blocks.append(block_of(overlapping))
            overlapping = []
        overlapping.append((access, place))
        end = max(end, access.address + access.size)
    if overlapping:
        blocks.append(block_of(overlapping))
    return tuple(sorted(blocks, key=lambda block: (block.first, block.address)))


def block_of(overlapping: Sequence[tuple[Access, int]]) -> Block:
    """Return the block of ranges that overlap, of which the first has the lowest address."""
    address = overlapping[0][0].address
    return Block(
        address=address,
        size=max(access.address + access.size for access, _ in overlapping) - address,
        writers=tuple(sorted({place for access, place in overlapping if access.written})),
        readers=tuple(sorted({place for access, place in overlapping if access.read})),
    )


def most_alive(blocks: Sequence[Block]) -> int:
    """Return the most bytes of blocks between their first and their last use at one time."""
    if not blocks:
        return 0
    change = [0] * (max(block.last for block in blocks) + 2)
    for block in blocks:
        change[block.first] += block.size
        change[block.last + 1] -= block.size
    return max(accumulate(change))


def find_largest(blocks: Sequence[Block], most: int) -> dict[int, Block]:
    """Return number, from 1 -> block of the largest ones, in the order of the blocks."""
    numbered = dict(enumerate(blocks, start=1))
    by_size = sorted(numbered, key=lambda number: -numbered[number].size)
    return {number: numbered[number] for number in sorted(by_size[:most])}
