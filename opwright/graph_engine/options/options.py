"""Options of the graph engine: what TorchAir passes, with its meaning here, or a refusal by name.

GE gets options in four places: when it is initialized, when a session is made, when a graph is
added, and when a graph is loaded for its first run. One table serves all of them; TorchAir passes
what its configurations say (torchair.CompilerConfig) and what it finds out itself.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.errors import sort_nearest_first
from opwright.graph_engine.errors import OptionError, UnknownOptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "OPTIONS",
    "Effect",
    "Option",
    "check_options",
    "indices",
    "pairs",
    "parse",
    "read_steps",
]


class Effect(enum.Enum):
    """The engine's treatment of an option."""

    HONOURED = "honoured"
    RECORDED = "checked and recorded"
    TORCHAIR = "TorchAir's own"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Parameters
    ----------
    pattern
        A regular expression that values match.
    allowed
        The values, for a reader.
    meaning
        What it means here, or why it is refused.
    has_sense
        The demand on a value that no pattern can express.
    """

    name: str
    effect: Effect
    pattern: str
    allowed: str
    meaning: str
    has_sense: Callable[[str], bool] = lambda _: True


def read_steps(text: str) -> tuple[range, ...]:
    """Return the runs that a dump_step means.

    >>> read_steps("0|2-5"), read_steps("")
    ((range(0, 1), range(2, 6)), ())
    """
    pairs = [part.split("-") for part in text.split("|") if part]
    return tuple(range(int(pair[0]), int(pair[-1]) + 1) for pair in pairs)


FLAG = (r"[01]", "0, 1")
WORD = (r"true|false", "true, false")
NUMBER = (r"\d+", "a number")
ANY = (r"(?s).*", "any text")
INDICES = r"(\d+([,;]\d+)*)?"
SPEED = "schedules work on the chip; the twin's results do not depend on it"
RESULTS = "the CPU's kernels have one precision, that of the dtype"

HONOURED, RECORDED = Effect.HONOURED, Effect.RECORDED
TORCHAIR, REFUSED = Effect.TORCHAIR, Effect.REFUSED

ENTRIES = (
    # The device and the session.
    Option("ge.exec.deviceId", RECORDED, *NUMBER, "runs use the device of their stream"),
    Option("ge.session_device_id", RECORDED, *NUMBER, "runs use the device of their stream"),
    Option("ge_run_with_torch_npu", TORCHAIR, *FLAG, "whether torch_npu is there as well"),
    # Memory.
    Option("ge.featureBaseRefreshable", HONOURED, *FLAG, "1: runs may move the feature memory"),
    Option(
        "ge.exec.frozenInputIndexes",
        HONOURED,
        r"(\d+(,\d+,\d+)?(;\d+(,\d+,\d+)?)*)?",
        "index,address,bytes;…",
        "inputs whose address stays; they have to be inputs of the graph",
    ),
    Option(
        "ge.exec.hostInputIndexes",
        HONOURED,
        INDICES,
        "index;…",
        "inputs in host memory; copied when the run is enqueued",
    ),
    Option(
        "ge.exec.outputReuseMemIndexes",
        HONOURED,
        INDICES,
        "index,…",
        "outputs that may share memory; they have to be outputs of the graph",
    ),
    Option(
        "ge.exec.outputReuseInputMemIndexes",
        HONOURED,
        r"(\d+,\d+(\|\d+,\d+)*)?",
        "input,output|…",
        "outputs that lie in an input: written when all has been computed",
    ),
    Option("ge.exec.reuseZeroCopyMemory", RECORDED, *FLAG, "inputs and outputs are never copied"),
    Option(
        "ge.exec.memoryOptimizationPolicy",
        RECORDED,
        r"\w*",
        "MemoryPriority, BalancedPriority",
        "kernels take memory as they need it",
    ),
    Option(
        "ge.exec.staticMemoryPolicy",
        RECORDED,
        r"[0-4]",
        "0, 1, 2, 3, 4",
        "kernels take memory as they need it",
    ),
    Option("ge.exec.atomicCleanPolicy", RECORDED, *FLAG, "no kernel relies on cleaned memory"),
    Option("torchair.disable_external_mem_base", TORCHAIR, *FLAG, "who provides const memory"),
    # Shapes.
    Option(
        "ge.inputShape",
        HONOURED,
        r"[^;:]+:[-\d, ]*(;[^;:]+:[-\d, ]*)*",
        "name:sizes;…",
        "inputs with gears",
    ),
    Option("ge.dynamicDims", HONOURED, r"[\d,;\- ]+", "sizes;…", "the gears that runs may have"),
    Option("ge.dynamicNodeType", HONOURED, *FLAG, "1: the gears are those of Data nodes"),
    Option("ge.inputHintShape", RECORDED, *ANY, "the shapes of the first run"),
    Option("ge.exec.allTensorNotEmpty", RECORDED, *FLAG, "tensors without elements work anyway"),
    Option("frozenInput", TORCHAIR, r"([01](,[01])*)?", "flag,…", "see ge.exec.frozenInputIndexes"),
    # Precision and repeatability.
    Option("ge.deterministic", RECORDED, *FLAG, "as torch.use_deterministic_algorithms says"),
    Option("ge.deterministicLevel", RECORDED, r"[0-3]", "0, 1, 2, 3", "as ge.deterministic"),
    Option("ge.exec.allow_hf32", RECORDED, r"[01]{2}", "two flags", RESULTS),
    Option("ge.opSelectImplmode", RECORDED, r"\w+", "high_precision, high_performance, …", RESULTS),
    Option("op_debug_option", RECORDED, *ANY, "kernels check their addresses anyway"),
    # Compiling.
    Option("ge.oo.level", RECORDED, r"O[0-3]", "O0, O1, O2, O3", "constants are always folded"),
    Option("ge.oo.constantFolding", RECORDED, *WORD, "constants are always folded"),
    Option("ge.oo.deadCodeElimination", RECORDED, *WORD, "what nobody uses is always left out"),
    Option("ge.optimizationSwitch", RECORDED, *ANY, "GE's passes; the twin has none of them"),
    Option("ge.fusionSwitchFile", RECORDED, *ANY, "GE's passes; the twin has none of them"),
    Option("ge.exportCompileStat", RECORDED, r"[0-2]", "0, 1, 2", "nothing fuses: no statistics"),
    Option("ge.jit_compile", RECORDED, r"[0-2]", "0, 1, 2", "kernels are never compiled"),
    Option("ge.tiling_schedule_optimize", RECORDED, *FLAG, SPEED),
    Option("ge.exec.static_model_ops_lower_limit", RECORDED, r"-1|\d+", "-1, a number", SPEED),
    Option("ge.graph_key", RECORDED, *ANY, "the name of a graph in GE's cache; nothing is cached"),
    Option("ge.graph_compiler_cache_dir", RECORDED, *ANY, "GE's cache; nothing is cached"),
    # Cores, streams, order.
    Option(
        "ge.aicoreNum",
        RECORDED,
        r"0*[1-9]\d*(\|\d+)?",
        "cube cores|vector cores",
        SPEED + "; a number above the chip's is reported",
    ),
    Option("ge.enableSingleStream", RECORDED, *WORD, SPEED),
    Option("ge.exec.enableEngineParallel", RECORDED, *FLAG, SPEED),
    Option("ge.autoMultistreamParallelMode", RECORDED, r"[\w:,;]*", "cv, …", SPEED),
    Option("ge.topoSortingMode", RECORDED, r"[0-3]", "0, 1, 2, 3", SPEED),
    # Dumps and checks.
    Option("deadlock_check", TORCHAIR, *FLAG, "asks for the graph as JSON at the first run"),
    Option("ge.quant_dumpable", RECORDED, *FLAG, "1: quantized nodes stay apart; all nodes do"),
    Option("ge.exec.enableDump", HONOURED, *FLAG, "1: inputs and outputs of nodes are dumped"),
    Option("ge.exec.dumpPath", HONOURED, *ANY, "the folder for dumps, which has to exist"),
    Option(
        "ge.exec.dumpMode",
        HONOURED,
        r"input|output|all",
        "output, input, all",
        "what of a node is dumped",
    ),
    Option(
        "ge.exec.dumpStep",
        HONOURED,
        r"(\d+(-\d+)?(\|\d+(-\d+)?)*\|?)?",
        "run|first-last|… with first <= last",
        "the runs that are dumped, from 0; none: all",
        lambda text: all(read_steps(text)),
    ),
    Option(
        "ge.exec.dumpLayer",
        HONOURED,
        *ANY,
        "the nodes that are dumped, by name or type, with spaces between; none: all",
    ),
    Option(
        "ge.exec.dumpData",
        HONOURED,
        r"tensor|stats",
        "tensor, stats",
        "tensors, or a table of their statistics",
    ),
    Option(
        "ge.exec.enableDumpDebug",
        HONOURED,
        r"[01]?",
        "0, 1",
        "1: inputs and outputs of nodes that give an infinity or a NaN are dumped",
    ),
    Option(
        "ge.exec.dumpDebugMode",
        REFUSED,
        r"|all",
        "all",
        "the CPU has no flags that tell the overflows of one unit from those of another",
    ),
    Option(
        "ge.exec.enable_exception_dump", REFUSED, r"0?", "0", "the twin has no AI Core exceptions"
    ),
    Option("ge_dump_with_acl_config", TORCHAIR, *ANY, "goes to aclmdlSetDump"),
    # TorchAir passes all of a configuration to the graph; these are for its own passes.
    Option("aoe_mode", RECORDED, r"2", "2", "kernels have no tilings: AOE finds nothing to tune"),
    *(
        Option(name, TORCHAIR, *ANY, "for TorchAir's passes")
        for name in (
            "aoe_config_file",
            "clone_input",
            "disable_mempool_reuse_in_same_fx",
            "enable_output_clone",
            "export_name",
            "export_path_dir",
            "frozen_parameter",
            "mode",
            "pattern_fusion_pass",
            "remove_noop_ops",
            "run_eagerly",
            "static_capture_size_limit",
            "work_path",
        )
    ),
)

OPTIONS: Mapping[str, Option] = {option.name: option for option in ENTRIES}


def parse(text: str) -> dict[str, str]:
    r"""Return options from lines of name=value.

    >>> parse("ge.oo.level=O1\na=b=c")
    {'ge.oo.level': 'O1', 'a': 'b=c'}
    """
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals:
            found[name] = value
    return found


def check_options(place: str, options: Mapping[str, str]) -> None:
    """Raise unless every option is known and has a value that it can have.

    Parameters
    ----------
    place
        Where the options were given, for the error.

    Raises
    ------
    UnknownOptionError, OptionError
        OPW-N008, OPW-N006.
    """
    for name, value in options.items():
        option = OPTIONS.get(name)
        if option is None:
            raise UnknownOptionError(
                where=place, got=f"option '{name}'", allowed=sort_nearest_first(name, OPTIONS)[:3]
            )
        if re.fullmatch(option.pattern, value) is None or not option.has_sense(value):
            reason = f" ({option.meaning})" if option.effect is Effect.REFUSED else ""
            raise OptionError(
                where=f"{place}, option '{name}'{reason}", got=repr(value), allowed=[option.allowed]
            )


def indices(text: str) -> list[int]:
    """Return the first number of each entry of a list of indices.

    >>> indices("0,65536,32;2,65600,8"), indices("0;3"), indices("")
    ([0, 2], [0, 3], [])
    """
    return [int(entry.split(",")[0]) for entry in text.split(";") if entry]


def pairs(text: str) -> list[tuple[int, int]]:
    """Return pairs of indices.

    >>> pairs("0,1|2,0"), pairs("")
    ([(0, 1), (2, 0)], [])
    """
    numbers = [entry.split(",") for entry in text.split("|") if entry]
    return [(int(first), int(second)) for first, second in numbers]
