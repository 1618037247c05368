"""Errors of showing a graph."""

from __future__ import annotations

from opwright.errors import OpwrightError

__all__ = [
    "DumpError",
    "GeDumpError",
    "GraphNumberError",
    "NoCaptureError",
    "OutputFileError",
]


class DumpError(OpwrightError):
    """A file that is not the JSON of a captured graph."""

    id = "OPW-G001"
    title = "not a dump of a captured graph"
    usual_fix = "name a file that torch.npu.NPUGraph.debug_dump(path) wrote"


class NoCaptureError(OpwrightError):
    """A command that ended without a finished capture or a compiled graph."""

    id = "OPW-G002"
    title = "the command captured no graph and compiled none"
    usual_fix = (
        "give a command that captures, for example with torch.npu.graph, or that runs a model "
        "which TorchAir compiles"
    )


class GraphNumberError(OpwrightError):
    """A number of a graph that is not there."""

    id = "OPW-G003"
    title = "there is no graph with that number"
    usual_fix = "give a number from the list; without --graph all graphs are shown"


class OutputFileError(OpwrightError):
    """A file for the drawing or the JSON that cannot be written."""

    id = "OPW-G004"
    title = "the file cannot be written"
    usual_fix = "name a file in an existing folder that you may write to"


class GeDumpError(OpwrightError):
    """A file that is not a serialized GE graph, or a text of one."""

    id = "OPW-G005"
    title = "not a dump of a GE graph"
    usual_fix = (
        "name a .air file of torchair.dynamo_export, or a .txt or .pbtxt file of TorchAir's option "
        "debug.graph_dump"
    )
