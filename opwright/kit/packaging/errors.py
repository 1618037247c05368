"""Errors of writing emitted files and of building them."""

from __future__ import annotations

from opwright.errors import DiagnosticsError, OpwrightError

__all__ = [
    "BuildCacheError",
    "CommandLineError",
    "CompileError",
    "EditedFilesError",
    "ExistingOperatorsError",
    "LeavesFolderError",
    "LinkError",
    "NoOperatorError",
    "NotCachedError",
    "PackageError",
    "PluginError",
    "StableAbiError",
    "StableAbiLimitsError",
    "SymbolsError",
    "ToolError",
    "VersionPairError",
    "WheelError",
    "WriteError",
]


class EditedFilesError(OpwrightError):
    """Files of the generated folder that a person edited or made."""

    id = "OPW-B001"
    title = "generated files were edited by hand"
    usual_fix = (
        "move what you wrote into the declaration, or C++ into csrc/ of the project, which "
        "replaces emitted files of the same name; then delete the files named above and run it "
        "again"
    )


class WriteError(OpwrightError):
    """A folder or file that cannot be written."""

    id = "OPW-B002"
    title = "the generated folder cannot be written"
    usual_fix = "make room, or change the permissions of the folder"


class ToolError(OpwrightError):
    """A program or package that a build needs is missing."""

    id = "OPW-B010"
    title = "a tool of the build is missing"
    usual_fix = "this needs a C++ compiler: install g++ 11 or newer, or name one in CXX"


class VersionPairError(OpwrightError):
    """The installed torch or torch_npu is not the one that the project is for."""

    id = "OPW-B011"
    title = "the installed torch is not the project's"
    usual_fix = "install that version, or change torch in [tool.opwright]"


class CompileError(OpwrightError):
    """The compiler refuses a source; `got` has its first error and the lines around it."""

    id = "OPW-B012"
    title = "a generated source cannot be compiled"
    usual_fix = "correct what the error points at in the declaration or in csrc/"


class LinkError(OpwrightError):
    """The linker refused the compiled units, as where a function is declared and not defined."""

    id = "OPW-B013"
    title = "the library cannot be linked"
    usual_fix = "define what is missing in csrc/, or remove its use"


class BuildCacheError(OpwrightError):
    """The folder for compiled units cannot be used."""

    id = "OPW-B014"
    title = "the cache for compiled units cannot be written"
    usual_fix = "make the folder writable and free space, or set XDG_CACHE_HOME to another one"


class NotCachedError(OpwrightError):
    """A unit would have to be compiled, which --no-compile forbids."""

    id = "OPW-B015"
    title = "not in the cache, and compiling is forbidden"
    usual_fix = "build without --no-compile"


class SymbolsError(OpwrightError):
    """A library for the stable ABI that uses more than that."""

    id = "OPW-B016"
    title = "the library uses more than libtorch's stable ABI"
    usual_fix = (
        "use only torch/csrc/stable and torch/headeronly in csrc/, or build without --stable-abi"
    )


class StableAbiError(OpwrightError):
    """An operator that cannot be built for the stable ABI."""

    id = "OPW-B017"
    title = "the stable ABI cannot express the operator"
    usual_fix = "build without --stable-abi, or change the declaration"


class WheelError(OpwrightError):
    """The folder of the wheel or of the build's log refuses a file, or the disk is full."""

    id = "OPW-B018"
    title = "the wheel cannot be written"
    usual_fix = "make the folder writable and free space, or name another one with -o"


class PackageError(OpwrightError):
    """SOURCE_DATE_EPOCH or another setting of the packaging that cannot be used."""

    id = "OPW-B019"
    title = "not a setting for packaging"
    usual_fix = "unset it, or give seconds since 1970"


class PluginError(OpwrightError):
    """A declaration that cannot be shipped as a Python plugin."""

    id = "OPW-B020"
    title = "the declaration cannot be shipped as a plugin"
    usual_fix = "put all that it needs into the one file, or into a package of its own"


class StableAbiLimitsError(DiagnosticsError):
    """All parts of a declaration that cannot be built for the stable ABI."""

    id = "OPW-B021"
    title = "the declaration needs more than libtorch's stable ABI"
    usual_fix = "build without --stable-abi, or mend each of them"


class NoOperatorError(OpwrightError):
    """A declaration of which no operator is for the version that is built for."""

    id = "OPW-B022"
    title = "no operator is for this version of torch"
    usual_fix = (
        "change torch= and torch_npu= in the declaration, or torch in pyproject.toml, section "
        "[tool.opwright]"
    )


class LeavesFolderError(OpwrightError):
    """A path of a manifest, or a symbolic link, that leads out of the folder to be written."""

    id = "OPW-B023"
    title = "a path leaves the folder that is written"
    usual_fix = "replace the symbolic link by a folder; nothing was written or removed"


class ExistingOperatorsError(OpwrightError):
    """A set of operators that another library has: there is nothing to build."""

    id = "OPW-B025"
    title = "the operators of the set exist already"
    usual_fix = "ship the module itself; what it declares is registered when it calls load()"


class CommandLineError(OpwrightError):
    """CXX or CXXFLAGS that a shell could not read either."""

    id = "OPW-B024"
    title = "not a command line"
    usual_fix = "close the quotation mark, put a backslash before it, or unset the variable"
