"""The torch and torch_npu that opwright is built for: those of the environment that builds.

As a program, for CMake, it prints the folder of torch; nothing if there is none. As a provider of
metadata, for the build back end, it gives the package's dependencies. Neither imports torch, which
would load torch_npu and with it CANN.
"""

from __future__ import annotations

import sys
import sysconfig
from importlib.machinery import PathFinder
from importlib.metadata import distributions

__all__ = ["dynamic_metadata"]


def search_path() -> list[str]:
    """Return where packages are.

    pip hides the packages of the environment from a build, but not the environment's own folders.
    """
    return [*sys.path, sysconfig.get_path("platlib"), sysconfig.get_path("purelib")]


def torch_folder() -> str | None:
    """Return the folder of torch."""
    spec = PathFinder.find_spec("torch", search_path())
    locations = None if spec is None else spec.submodule_search_locations
    return None if locations is None else locations[0]


def minor_version(package: str) -> str:
    """Return major and minor version of a package.

    Raises
    ------
    LookupError
        It is not installed.
    """
    for found in distributions(name=package, path=search_path()):
        return ".".join(found.version.split(".")[:2])
    message = (
        f"opwright is built for the torch and torch_npu that are installed; {sys.prefix} has no "
        f"{package}: install both there first; a build front end that makes an environment of its "
        "own (uv, build) also needs --no-build-isolation"
    )
    raise LookupError(message)


def dynamic_metadata(field: str, settings: dict[str, list[str]]) -> list[str]:
    """Return the dependencies: those of the settings, and torch's minor version.

    libopapi links to libtorch's C++ interface, which changes with every minor version. torch_npu,
    whose minor version is always torch's, is not among them: some of its releases ask for torch's
    CPU build by name, and pip would then install nothing beside another build of that torch.
    `opwright doctor` says whether the two fit.

    Raises
    ------
    LookupError
        torch or torch_npu is not installed.
    """
    if field != "dependencies":
        message = f"installed_torch gives the field 'dependencies', not {field!r}"
        raise ValueError(message)
    torch, torch_npu = minor_version("torch"), minor_version("torch_npu")
    if torch != torch_npu:
        message = f"torch {torch} and torch_npu {torch_npu} do not belong together"
        raise LookupError(message)
    return [f"torch=={torch}.*", *settings["packages"]]


if __name__ == "__main__":
    print(torch_folder() or "")
