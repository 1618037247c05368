"""Puts a package where processes look without ASCEND_CUSTOM_OPP_PATH."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from opwright.twin.kernels.packages import vendor_names
from opwright.twin.toolkit import installed_toolkit

__all__ = ["install_package"]

CONFIG = "config.ini"


def install_package(package: Path) -> Path:
    """Copy a package into ASCEND_OPP_PATH/vendors (the twin's opp without that variable).

    It becomes the first in config.ini.
    """
    given = os.environ.get("ASCEND_OPP_PATH")
    vendors = (Path(given) if given else installed_toolkit().operators) / "vendors"
    target = vendors / package.name
    if not (target.exists() and target.samefile(package)):  # --out may be that folder
        shutil.rmtree(target, ignore_errors=True)  # of an earlier version
        shutil.copytree(package, target, symlinks=True)
    config = vendors / CONFIG
    others = [name for name in vendor_names(config) if name != package.name]
    config.write_text(f"load_priority={','.join([package.name, *others])}\n", encoding="utf-8")
    return target
