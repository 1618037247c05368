"""Puts a package where processes look without ASCEND_CUSTOM_OPP_PATH."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from opwright.lock import hold_lock
from opwright.twin.toolkit import installed_toolkit
from opwright.twin.user_kernels.packages import vendor_names

__all__ = ["install_package"]

CONFIG = "config.ini"


def install_package(package: Path) -> Path:
    """Copy a package into ASCEND_OPP_PATH/vendors (the twin's opp without that variable).

    It becomes the first in config.ini. A process that starts meanwhile finds the old one or the new
    one, never a part.
    """
    given = os.environ.get("ASCEND_OPP_PATH")
    vendors = (Path(given) if given else installed_toolkit().operators) / "vendors"
    vendors.mkdir(parents=True, exist_ok=True)
    target = vendors / package.name
    with hold_lock(vendors), TemporaryDirectory(dir=vendors, prefix=".installing-") as folder:
        if not (target.exists() and target.samefile(package)):  # --out may be that folder
            shutil.copytree(package, Path(folder, "new"), symlinks=True)
            if target.exists():
                target.rename(Path(folder, "old"))
            Path(folder, "new").rename(target)
        config = vendors / CONFIG
        others = [name for name in vendor_names(config) if name != package.name]
        text = f"load_priority={','.join([package.name, *others])}\n"
        Path(folder, CONFIG).write_text(text, encoding="utf-8")
        Path(folder, CONFIG).replace(config)
    return target
