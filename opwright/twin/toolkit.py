"""The toolkit root: the folder that looks like an installed CANN and holds the twin's libraries.

CMake installs it into opwright/cann, in a checkout as in a wheel.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import opwright
from opwright.errors import OpwrightError, first_of
from opwright.pairs import find_mismatched_torch

__all__ = [
    "BESIDE_TORCH_NPU",
    "LINKER_SCRIPTS",
    "LOAD_ORDER",
    "OtherTorchError",
    "Toolkit",
    "ToolkitMissingError",
    "default_toolkit",
    "find_missing_parts",
    "installed_toolkit",
    "require_matching_torch",
    "shorten_list",
]

MOST_NAMED = 4  # missing parts in a message

# Libraries of the twin; each stands after those that it links to, so that loading them in turn by
# path finds all.
LOAD_ORDER = (
    "libc_sec.so",
    "libascend_protobuf.so",
    "libascendcl.so",
    "libascendc_runtime.so",
    "libacl_rtc.so",
    "libmsprofiler.so",
    "libruntime.so",
    "libascend_hal.so",
    "libascend_dump.so",
    "libascend_dump_parser.so",
    "libascendsk.so",
    "libacl_op_compiler.so",
    "libacl_tdt_channel.so",
    "libhccl.so",
    "libhcomm.so",
    "libgraph.so",
    "libge_runner.so",
    "libaoe_tuning.so",
    "libfmk_parser.so",
    "libnnopbase.so",
    "libascendc_package.so",
    "libopapi.so",
    "libatb.so",
)

# Loaded when torch_npu is there, which it links to.
BESIDE_TORCH_NPU = ("libopwright_npu_memory.so",)

# Names of CANN's that programs link. Each is a text for the linker, which stands for
# libascendc_package or, if it begins with libopapi_, for libopapi; libacl_rt for libascendcl.
LINKER_SCRIPTS = (
    "libacl_rt.so",
    "libascendalog.so",
    "libgraph_base.so",
    "libopapi_cv.so",
    "libopapi_math.so",
    "libopapi_nn.so",
    "libopapi_transformer.so",
    "libopp_registry.so",
    "libplatform.so",
    "libregister.so",
    "libtiling_api.so",
    "libunified_dlog.so",
)

# Folders and files besides the libraries that torch_npu and builds against CANN ask for.
PARTS = (
    "bin",
    "opp",
    "runtime",
    "compiler",
    "include",
    "tools",
    "ascend_toolkit_install.info",
    "set_env.sh",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolkit:
    """Where the parts of a toolkit are."""

    root: Path

    @property
    def libraries(self) -> Path:
        """Folder of the shared libraries."""
        return self.root / "lib64"

    @property
    def commands(self) -> tuple[Path, ...]:
        """Folders of the toolkit's commands: compilers, and msprof, which torch_npu looks for."""
        return (self.root / "bin", self.root / "tools" / "profiler" / "bin")

    @property
    def operators(self) -> Path:
        """Folder of operator packages (ASCEND_OPP_PATH)."""
        return self.root / "opp"


class ToolkitMissingError(OpwrightError):
    """The native libraries were not built, or not completely."""

    id = "OPW-T010"
    title = "the twin's libraries are not built"
    usual_fix = "run `make native` in the opwright checkout, or install opwright from a wheel"


class OtherTorchError(OpwrightError):
    """The native libraries are built for another minor version of torch than the installed one."""

    id = "OPW-T012"
    title = "opwright is built for another torch"
    usual_fix = (
        "install the wheel of opwright for the installed torch, or the torch that this one is for; "
        "in a clone, `make demo TORCH=<release>` builds for another torch, in a tree of its own"
    )


def default_toolkit() -> Toolkit:
    """Return the place of the toolkit that belongs to this package, whether built or not."""
    return Toolkit(root=Path(opwright.__file__).resolve().parent / "cann")


def find_missing_parts(toolkit: Toolkit) -> tuple[str, ...]:
    """List what the toolkit lacks, relative to its root."""
    libraries = (*LOAD_ORDER, *BESIDE_TORCH_NPU, *LINKER_SCRIPTS)
    wanted = [f"lib64/{name}" for name in libraries] + list(PARTS)
    return tuple(part for part in wanted if not (toolkit.root / part).exists())


def shorten_list(missing: tuple[str, ...]) -> str:
    """Return missing parts for a message, not all of many."""
    return ", ".join(first_of(missing, MOST_NAMED))


def installed_toolkit() -> Toolkit:
    """Return the toolkit of this package, or raise ToolkitMissingError (OPW-T010)."""
    toolkit = default_toolkit()
    missing = find_missing_parts(toolkit)
    if missing:
        raise ToolkitMissingError(where=str(toolkit.root), got=f"without {shorten_list(missing)}")
    return toolkit


def require_matching_torch() -> None:
    """Raise OtherTorchError (OPW-T012) where torch's loader would find symbols missing."""
    mismatched = find_mismatched_torch()
    if mismatched is not None:
        wanted, found = mismatched
        raise OtherTorchError(
            where="opwright", got=f"torch {found}", allowed=(f"torch {wanted}.*",)
        )
