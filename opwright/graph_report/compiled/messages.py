"""Files with a GE graph -> messages of ge.proto."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from opwright.graph_report.compiled.ge_proto import import_generated
from opwright.graph_report.compiled.tensorboard import from_tensorboard
from opwright.graph_report.errors import GeDumpError

if TYPE_CHECKING:
    from pathlib import Path

    from opwright.graph_report.compiled.ge_proto import Message

__all__ = ["SUFFIXES", "read_messages"]

SERIALIZED = (".air", ".pb")
TEXT = ".txt"
TENSORBOARD = ".pbtxt"
SUFFIXES = (*SERIALIZED, TEXT, TENSORBOARD)


def read_messages(file: Path) -> tuple[Message, ...]:
    """Return the GraphDef messages of a file.

    A serialized model is what ge::Graph::SaveToFile and `torchair.dynamo_export` write; text is
    what TorchAir's option `debug.graph_dump` writes with type "txt" or "pbtxt".

    Raises
    ------
    GeDumpError
        OPW-G005.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise GeDumpError(where=str(file), got=str(error)) from error
    try:
        if file.suffix == TENSORBOARD:
            graphs = (from_tensorboard(data.decode(), file.stem),)
        elif file.suffix == TEXT:
            graphs = (text_format.Parse(data.decode(), import_generated().GraphDef()),)
        else:
            model = import_generated().ModelDef()
            model.ParseFromString(data)
            graphs = tuple(model.graph)
    except (DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
        raise GeDumpError(where=str(file), got=f"{error!s:.200}") from error
    if not any(len(graph.op) for graph in graphs):
        raise GeDumpError(where=str(file), got="no graph with nodes in it")
    return graphs
