"""The prefix of C++ projects, and links to it where programs for the closed product look.

python -m torch_aie.prefix                  prints it: the folder of include/, lib/, set_env.sh
python -m torch_aie.prefix link             makes the links; --root DIR: below DIR instead of /
python -m torch_aie.prefix unlink           removes them
python -m torch_aie.prefix link-extension   names what setup.py built here as Python 3.9 does
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch

__all__ = ["PREFIX", "LinkError", "link", "link_extension", "links", "unlink"]

PREFIX = Path(__file__).resolve().parent
TORCH = Path(torch.__file__).resolve().parent
_SITE = "opt/buildtools/Python-3.9.11/lib/python3.9/site-packages"  # of the guide's setup.py
_PYTHON39 = ("lib.linux-x86_64-3.9", ".cpython-39-x86_64-linux-gnu.so")


class LinkError(OSError):
    """A place is taken by something else than a link to this prefix."""


def links(root: Path = Path("/")) -> dict[Path, Path]:
    """Return what to link where. The guide takes the first two for each other."""
    return {
        root / "usr/local/Ascend/aie/latest": PREFIX,
        root / "usr/local/Ascend/torch_aie/latest": PREFIX,
        root / "usr/local/Ascend/aie/set_env.sh": PREFIX / "set_env.sh",
        root / "usr/local/libtorch2.0.0": TORCH,
        root / _SITE / "torch_aie": PREFIX,
    }


def link(root: Path = Path("/")) -> list[Path]:
    """Make the links and return those that are new.

    Raises
    ------
    LinkError
        A place is taken; nothing was made.
    """
    wanted = links(root)
    for place, target in wanted.items():
        if not _is_free(place) and not _leads_to(place, target):
            message = (
                f"{place} is there and is no link to {target}; move it, or give another --root"
            )
            raise LinkError(message)
    return [place for place, target in wanted.items() if _make(place, target)]


def unlink(root: Path = Path("/")) -> list[Path]:
    """Remove the links that lead to this prefix, and return them; the rest stays."""
    found = [place for place, target in links(root).items() if _leads_to(place, target)]
    for place in found:
        place.unlink()
    return found


def link_extension(project: Path) -> list[Path]:
    """Link the libraries in `project`/build to the folder and names that Python 3.9 gives them.

    Raises
    ------
    FileNotFoundError
        Nothing was built there.
    """
    folder, ending = _PYTHON39
    built = [
        path
        for path in sorted((project / "build").glob("lib.*/*.so"))
        if path.parent.name != folder
    ]
    if not built:
        message = f"{project / 'build'} has no lib.*/*.so; run: python setup.py build"
        raise FileNotFoundError(message)
    names = {path: path.parents[1] / folder / (path.name.split(".")[0] + ending) for path in built}
    for path, place in names.items():
        place.unlink(missing_ok=True)  # of an earlier build
        _make(place, path.resolve())
    return list(names.values())


def _is_free(place: Path) -> bool:
    return not place.exists() and not place.is_symlink()


def _leads_to(place: Path, target: Path) -> bool:
    return place.is_symlink() and place.readlink() == target


def _make(place: Path, target: Path) -> bool:
    if not _is_free(place):
        return False
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)
    return True


def _main() -> int:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        prog="python -m torch_aie.prefix",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "command", nargs="?", default="show", choices=["show", "link", "unlink", "link-extension"]
    )
    parser.add_argument("--root", type=Path, default=Path("/"), help="of the links; default: /")
    arguments = parser.parse_args()
    if arguments.command == "show":
        print(PREFIX)  # noqa: T201 - the command's result
        return 0
    try:
        match arguments.command:
            case "link":
                done = link(arguments.root)
            case "unlink":
                done = unlink(arguments.root)
            case _:
                done = link_extension(Path.cwd())
    except OSError as error:  # a taken place, a folder that only root may write
        print(f"python -m torch_aie.prefix: {error}", file=sys.stderr)  # noqa: T201 - the command's
        return 1
    for place in done:
        print(place)  # noqa: T201 - the command's result
    return 0


if __name__ == "__main__":
    sys.exit(_main())
