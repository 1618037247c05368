"""The later name of torch_aie: importing it gives the same module."""

from __future__ import annotations

import sys

import torch_aie
import torch_aie._enums

sys.modules[f"{__name__}._enums"] = torch_aie._enums  # noqa: SLF001 - programs import it by this name
sys.modules[__name__] = torch_aie
