"""Loads the package's C++ library, after a look at the versions of torch and torch_npu."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
from pathlib import Path
from typing import Any

import torch

__all__ = ["load_library"]


def load_library() -> Any:  # noqa: ANN401 - torch.ops has no types
    """Load the library of a package and return its namespace in torch.ops.

    Raises
    ------
    ImportError
        If torch and torch_npu are not the pair that it was built for.
    """
    folder = Path(__file__).parent
    metadata = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))
    check_versions(metadata)
    library = folder / metadata["library"]
    if not library.is_file():
        message = (
            f"{metadata['name']} has no library {library.name} beside it: this is its source; "
            "build and install the wheel, or run from another folder"
        )
        raise ImportError(message)
    if importlib.util.find_spec("torch_npu") is not None:
        importlib.import_module("torch_npu")
    torch.ops.load_library(library)  # type: ignore[no-untyped-call]
    return getattr(torch.ops, metadata["namespace"])


def check_versions(metadata: dict[str, Any]) -> None:
    """Raise unless torch and torch_npu are those that the library was built for."""
    wanted, name = metadata["built_for"], metadata["name"]
    found = {"torch": str(torch.__version__), "torch_npu": installed("torch_npu")}
    if metadata["stable_abi"]:
        fits = at_least(str(torch.__version__), wanted)
        range_text = f"{wanted} or later"
    else:
        fits = all(version is not None and is_minor(version, wanted) for version in found.values())
        range_text = wanted
    if not fits:
        here = " and ".join(f"{each} {version}" for each, version in found.items() if version)
        missing = "".join(f" without {each}" for each, version in found.items() if not version)
        message = (
            f"{name} {metadata['version']} was built for torch {range_text} and torch_npu "
            f"{range_text}, but this environment has {here}{missing}; install "
            f"torch=={wanted}.* and torch_npu=={wanted}.*, or a build of {name} for these versions"
        )
        raise ImportError(message)


def installed(package: str) -> str | None:
    """Return the version of an installed package."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def is_minor(version: str, wanted: str) -> bool:
    """Return whether a version has the wanted major and minor number."""
    return version.split(".")[:2] == wanted.split(".")


def at_least(version: str, wanted: str) -> bool:
    """Return whether a version is not before the wanted one."""
    return numbers(version) >= numbers(wanted)


def numbers(version: str) -> tuple[int, ...]:
    """Return the major and minor number."""
    return tuple(int(part) for part in version.split(".")[:2])
