"""The engine's refusals. CANN's code of the error is part of its text."""

from __future__ import annotations

from opwright.errors import OpwrightError

__all__ = [
    "GraphCompilerError",
    "GraphFormError",
    "InputError",
    "KernelArgumentError",
    "KernelRunError",
    "MetaError",
    "MissingKernelError",
    "OptionError",
    "UnknownOptionError",
]


class GraphFormError(OpwrightError):
    """A serialized graph that is damaged or contradicts itself."""

    id = "OPW-N001"
    title = "the graph is not well formed (E19999)"
    usual_fix = "the node was made by a converter; check the inputs and outputs that it names"


class MissingKernelError(OpwrightError):
    """A GE type that no kernel computes."""

    id = "OPW-N002"
    title = "no kernel for this operator type (E10501)"
    usual_fix = (
        "run the operator outside of the graph, or give it a kernel: opwright run --kernels FILE"
    )


class KernelArgumentError(OpwrightError):
    """A node whose inputs or attributes are not those of its kernel."""

    id = "OPW-N003"
    title = "the node does not fit its operator type (E13001)"
    usual_fix = "pass what the operator's prototype (REG_OP) declares"


class KernelRunError(OpwrightError):
    """A kernel that failed on what it was given."""

    id = "OPW-N004"
    title = "the operator rejects its inputs (E89999)"
    usual_fix = "compare shapes and dtypes with the operator's documentation"


class InputError(OpwrightError):
    """Inputs of a run that are not those of the graph."""

    id = "OPW-N005"
    title = "the inputs do not fit the graph (E19014)"
    usual_fix = "pass as many inputs as the graph has Data nodes, with their shapes and dtypes"


class OptionError(OpwrightError):
    """An option with a value that the engine does not know."""

    id = "OPW-N006"
    title = "the option's value is not available (E10001)"
    usual_fix = "leave the option out"


class MetaError(OpwrightError):
    """An output whose shape or dtype Meta says wrongly, or nobody says."""

    id = "OPW-N007"
    title = "Meta and the operator disagree on an output (E89999)"
    usual_fix = (
        "correct the operator's Meta function; if the converter makes several operators, declare "
        "them with opwright so that each has rules of its own"
    )


class UnknownOptionError(OpwrightError):
    """An option that the graph engine does not have."""

    id = "OPW-N008"
    title = "the option is not known (E10001)"
    usual_fix = "leave the option out; docs/graph_engine.md lists those that there are"


class GraphCompilerError(OpwrightError):
    """A graph that Inductor cannot compile, for want of a C++ compiler or for another reason."""

    id = "OPW-N020"
    title = "Inductor cannot compile the graph"
    usual_fix = (
        "this needs a C++ compiler: install g++ 11 or newer, name one in CXX, "
        "or unset OPWRIGHT_GRAPH_COMPILER"
    )
