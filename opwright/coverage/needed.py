"""torch_npu's needs of CANN: the symbols its libraries link to, and the names they look up.

Linked symbols are exact: what the libraries leave undefined and neither torch, Python nor the C
library defines. Names that are looked up at run time are string constants of the libraries. A
string is taken for such a name if it has the form of a family of CANN's functions and is not known
as a label of log messages. Functions that only extensions look up, through torch_npu's headers,
leave no string in its libraries and are not counted.
"""

from __future__ import annotations

import ctypes
import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from opwright.errors import OpwrightError
from opwright.twin.symbols import read_library

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from opwright.twin.symbols import SharedLibrary

__all__ = ["Need", "PackageMissingError", "find_function_names", "needs"]

# Families of names and the library in which CANN has them; the first that matches counts.
FAMILIES = (
    (r"aclnn\w+", "libopapi"),
    (r"acl(Rfft1D|Stft)(GetWorkspaceSize)?", "libopapi"),
    (r"aclop(Start|Stop)DumpArgs", "libascend_dump"),
    (
        r"acl(opCompile|opExecute|Gen|SetCompile|GetCompile|(Create|Destroy)GraphDump)\w*",
        "libacl_op_compiler",
    ),
    (r"aclrt(Ctx)?(Get|Set)SysParamOpt", "libacl_op_compiler"),
    (r"acltdt\w+", "libacl_tdt_channel"),
    (r"acl(shmem|shmemx)_\w+|shmem_\w+", "libshmem"),
    (r"aclsk[A-Z]\w+", "libascendsk"),
    (r"aclprof(GetSupported|MarkEx|RegisterDevice|SetConfig|Warmup)\w*", "libmsprofiler"),
    (r"acl\w+TensorDesc\w*|aclSetTensor(Format|PlaceMent|Shape)", "libascendcl"),
    (r"acl(Create|Destroy|Get)(Tensor|Scalar|Bool|Int|AclOp|ViewShape)\w*", "libnnopbase"),
    (
        r"(Un)?Init(HugeMem|PTACache)ThreadLocal|ReleaseHugeMem|PTA(Find|Get)ExecCache",
        "libnnopbase",
    ),
    (r"SetPTA\w*HashKey|AddTensorAddrToCachedList|CanUsePTACache|StressDetect", "libnnopbase"),
    (r"acl(rt|mdl|prof|sys|op)?[A-Z]\w+", "libascendcl"),
    (r"rt[A-Z][a-z]\w+", "libruntime"),
    (r"Msprof[A-Z]\w+", "libprofapi"),
    (r"HcclGroup\w+|Hcomm?[A-Z]\w+", "libhcomm"),
    (r"Hccl[A-Z]\w+", "libhccl"),
    (r"GeSession[A-Z]\w+|GEStream[A-Z]\w+|GetRegisteredIrDef", "libge_runner"),
    (r"_ZNK?2ge\w+", "libgraph, libge_runner"),
    (r"Aoe[A-Z]\w+", "libaoe_tuning"),
    (r"Aml[A-Z]\w+", "libascend_ml"),
    (r"(Lcal|Lccl)[A-Z]\w+", "liblcal"),
    (r"asdFft[A-Z]\w+", "libasdsip"),
    (r"dcmi(v2)?_\w+", "libdcmi"),
    (r"(hal|drv)[A-Z]\w+", "libascend_hal"),
    (r"mspti[A-Z]\w+", "libmspti"),
    (r"mstx[A-Z]\w+", "libms_tools_ext"),
    (r"_ZNK?3atb\w+|Atb[A-Z]\w+", "libatb"),
    (r"(mem|str|v?snprintf)\w*_s", "libc_sec"),
)

# Strings of torch_npu that look like functions and are none: labels of log messages, op and test
# names.
LABELS = re.compile(
    r"acl(Profiling\w+|QueryEvent(Recorded|Wait)Status|StressDetect)|\w+Face|aclnnNotFound\w*"
    r"|Hccl(All(gather|reduce)\w*|\w+_SendRecv|ReduceScatterBase|CommList)"
    r"|Lccl(All(gather|reduce)|CommInit\w*)|mstxDomain(In|Ex)clude"
)

# Undefined in every library and resolved by the dynamic linker or left empty: tables of
# transactional memory, the profiler's hook, and initialisers of thread-local variables.
LINKER_NAMES = re.compile(r"_ITM_\w+|__gmon_start__|_ZTH\w+")
PYTHON_NAMES = re.compile(r"_?Py\w+")
C_LIBRARY = ("libc.so.6", "libpthread.so.0", "libdl.so.2")  # glibc before 2.34 has three files

PHASE_ONE = "GetWorkspaceSize"


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """A function of CANN that torch_npu uses.

    Parameters
    ----------
    symbols
        What has to be exported: one symbol, or both phases of an aclnn function.
    library
        Where CANN has it.
    how
        Linked: without it the library does not load. Looked up: missed when a feature asks for it.
    """

    name: str
    symbols: tuple[str, ...]
    library: str
    how: Literal["linked", "looked up"]


class PackageMissingError(OpwrightError):
    """A Python package whose files are needed is not installed."""

    id = "OPW-T030"
    title = "package not installed"
    usual_fix = "install it into the environment of opwright"


def needs() -> tuple[Need, ...]:
    """Read what the installed torch_npu needs; raises PackageMissingError (OPW-T030)."""
    torch, torch_npu = package_folder("torch"), package_folder("torch_npu")
    own = [read_library(path) for path in torch_npu_libraries(torch_npu)]
    provided = {name for path in torch_libraries(torch) for name in read_library(path).exported}
    provided.update(name for library in own for name in library.exported)
    linked = {
        name for library in own for name in library.imported - provided if not is_system(name)
    }
    words = {name for library in own for name in find_function_names(library)}
    return tuple(
        sorted(
            [*map(make_linked_need, linked), *make_looked_up_needs(words - linked)],
            key=lambda need: (need.library, need.name),
        )
    )


def package_folder(name: str) -> Path:
    """Return the folder of an installed package without importing it."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise PackageMissingError(where="this Python environment", got=f"no package {name!r}")
    return Path(spec.submodule_search_locations[0])


def torch_npu_libraries(folder: Path) -> Iterator[Path]:
    """Return the libraries of torch_npu and of TorchAir inside it."""
    yield from sorted(folder.glob("_C*.so"))
    yield from sorted(folder.glob("lib/*.so"))
    yield from sorted(folder.glob("dynamo/torchair/core/*.so"))


def torch_libraries(folder: Path) -> Iterator[Path]:
    """Return the libraries of torch."""
    yield from sorted(folder.glob("lib/*.so*"))


def is_system(name: str) -> bool:
    """Whether the dynamic linker, Python or the C library provides an undefined symbol."""
    if LINKER_NAMES.fullmatch(name) or PYTHON_NAMES.fullmatch(name):
        return True
    # Asked by file: the process itself may have the twin loaded, which has all that is needed.
    return any(hasattr(ctypes.CDLL(library), name) for library in C_LIBRARY)


def find_function_names(library: SharedLibrary) -> set[str]:
    """Return the string constants that have the form of a function of CANN."""
    return {word for word in library.words if home(word) and not LABELS.fullmatch(word)}


def home(name: str) -> str | None:
    """Return the library in which CANN has a function of that name; None if it is no such name."""
    for pattern, library in FAMILIES:
        if re.fullmatch(pattern, name):
            return library
    return None


def make_linked_need(name: str) -> Need:
    """Make the need for a linked symbol."""
    return Need(name=name, symbols=(name,), library=home(name) or "other", how="linked")


def make_looked_up_needs(words: Iterable[str]) -> Iterator[Need]:
    """Make the needs for looked-up names; both phases of an aclnn function are one need."""
    names = set(words)
    for name in names:
        function = name.removesuffix(PHASE_ONE)
        if function == name and name + PHASE_ONE in names:
            continue
        two_phase = name.startswith("aclnn") or function in names
        symbols = (function, name) if two_phase and function != name else (name,)
        yield Need(name=symbols[0], symbols=symbols, library=home(name) or "other", how="looked up")
