"""The later name of torch_aie: importing it gives the same module."""

from __future__ import annotations

import sys

import torch_aie
from torch_aie import *  # noqa: F403 - for readers of this file: programs get the module itself

# Programs import the parts by this name too: they are the same modules, not copies of them.
for name, module in list(sys.modules.items()):
    if name.startswith("torch_aie."):
        sys.modules[f"{__name__}.{name.removeprefix('torch_aie.')}"] = module
sys.modules[__name__] = torch_aie
