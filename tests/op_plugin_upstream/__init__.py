"""op-plugin's own tests on the twin, and the list of those that cannot pass (`reviewed.tsv`).

* `torch_npu`: torch_npu or op-plugin does it so, on every device.
* `revision`: the installed torch_npu does otherwise than the revision of the tests.
* `upstream`: the test itself is wrong, or op-plugin's own list of disabled tests has it.
* `chip`: it needs another chip than the twin's, and does not skip itself.
* `package`: it needs a Python package that torch_npu does not.
* `cpu`: it takes more time or memory than a CPU has, or the last bits of the NPU's arithmetic.
* `twin`: the twin does otherwise than CANN.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["KINDS", "REVIEWED"]

REVIEWED = Path(__file__).with_name("reviewed.tsv")
KINDS = ("torch_npu", "revision", "upstream", "chip", "package", "cpu", "twin")
