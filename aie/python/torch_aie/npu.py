"""npu: streams of the device npu, with torch_npu's device and with this package's.

An engine has computed when its call returns, on every stream: streams keep the order of torch_npu's
operators, and of programs that name them.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from torch_aie import _C, _device

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "Stream",
    "current_device",
    "current_stream",
    "default_stream",
    "device_count",
    "is_available",
    "set_stream",
    "stream",
    "synchronize",
]

Device = torch.device | str | int | None


class Stream:
    """A stream of a device.

    Parameters
    ----------
    device
        Such as "npu:0" or 0; None is the current device.
    stream_id
        The number of a stream that there is; None makes a new one.
    """

    def __init__(self, device: Device = None, stream_id: int | None = None) -> None:
        index = _device.index_of(device)
        if stream_id is None:
            self._row = _C.new_stream(index)
        else:
            self._row = (index, _checked_id(index, stream_id))

    @classmethod
    def _of_row(cls, row: tuple[int, int]) -> Stream:
        """Return the name of a stream that there is."""
        named = cls.__new__(cls)
        named._row = row  # noqa: SLF001 - of this class
        return named

    def device(self) -> torch.device:
        """Return the device."""
        return torch.device("npu", self._row[0])

    def id(self) -> int:
        """Return the number of the stream."""
        return self._row[1]

    def query(self) -> bool:
        """Return whether all work on it has ended."""
        return _C.query_stream(self._row)

    def synchronize(self) -> None:
        """Wait until all work on it has ended."""
        _C.synchronize_stream(self._row)

    def assign(self, other: Stream) -> None:
        """Become another name of `other`."""
        if not isinstance(other, Stream):
            msg = f"assign: got {type(other).__name__}, allowed is npu.Stream"
            raise TypeError(msg)
        self._row = other._row

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Stream):
            return self._row == other._row
        if isinstance(other, torch.Stream):  # torch_npu's
            return self._row == (other.device_index, other.stream_id)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self._row)

    def __repr__(self) -> str:
        return f"npu.Stream(device='npu:{self._row[0]}', stream_id={self._row[1]})"


def _checked_id(index: int, given: object) -> int:
    if isinstance(given, bool) or not isinstance(given, int):
        msg = f"stream_id: got {given!r}, allowed are integers that id() gave, and None"
        raise TypeError(msg)
    if not _exists(index, given):
        msg = (
            f"stream_id: got {given}, npu:{index} has no such stream, allowed are numbers that"
            " id() gave, and None"
        )
        raise ValueError(msg)
    return given


def _exists(index: int, number: int) -> bool:
    """Is it the number of a stream? torch_npu reads memory that is not its own for others."""
    if not _device.is_shared():  # they are counted from 0, the default stream
        return 0 <= number < _C.new_stream(index)[1]
    if number in (_C.default_stream(index)[1], _C.current_stream(index)[1]):
        return True
    # torch_npu gives the streams of a pool in turn: the same come again.
    pool: set[int] = set()
    while (one := _C.new_stream(index)[1]) not in pool:
        pool.add(one)
    return number in pool


def _of(stream: object) -> Stream:
    """Return the stream; torch_npu's and PyTorch's as this class's."""
    if isinstance(stream, Stream):
        return stream
    if isinstance(stream, torch.Stream):
        return Stream._of_row((stream.device_index, stream.stream_id))  # noqa: SLF001 - of this module
    msg = f"stream: got {type(stream).__name__}, allowed are npu.Stream and torch.Stream"
    raise TypeError(msg)


@contextmanager
def stream(stream: Stream | torch.Stream | None) -> Iterator[None]:
    """Make `stream` the current one inside of `with`; None changes nothing."""
    if stream is None:
        yield
        return
    chosen = _of(stream)
    before = current_stream(chosen.device())
    set_stream(chosen)
    try:
        yield
    finally:
        set_stream(before)


def set_stream(stream: Stream | torch.Stream) -> None:
    """Make `stream` the current one of its device, in this thread."""
    _C.set_stream(_of(stream)._row)  # noqa: SLF001 - of this module


def current_stream(device: Device = None) -> Stream:
    """Return the current stream of a device, in this thread."""
    return Stream._of_row(_C.current_stream(_device.index_of(device)))  # noqa: SLF001 - of this module


def default_stream(device: Device = None) -> Stream:
    """Return the stream that is current where none was chosen."""
    return Stream._of_row(_C.default_stream(_device.index_of(device)))  # noqa: SLF001 - of this module


def synchronize(device: Device = None) -> None:
    """Wait until all work on the device has ended."""
    index = _device.index_of(device)
    if _device.is_shared():
        _device.module().synchronize(index)
    # Otherwise work ends before its call returns.


def is_available() -> bool:
    """Return whether there is a device: without torch_npu it is this machine's CPU."""
    return not _device.is_shared() or bool(_device.module().is_available())


def device_count() -> int:
    """Return how many devices there are."""
    _device.ready()
    return _C.device_count()


def current_device() -> int:
    """Return the index of the current device."""
    _device.ready()
    return _C.current_device()
