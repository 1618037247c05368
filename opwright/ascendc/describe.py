"""Print what a library of host code registers, as JSON: `python -m opwright.ascendc.describe LIB`.

A process of its own, because loading such a library runs the user's code and cannot be undone.
"""

from __future__ import annotations

import ctypes
import os
import sys

__all__ = ["main"]


def main(library: str) -> int:
    """Print the description on one line; print the reason why there is none to stderr."""
    acl = ctypes.CDLL("libascendcl.so", mode=ctypes.RTLD_GLOBAL)
    package = ctypes.CDLL("libascendc_package.so")
    package.opwright_ascendc_describe.restype = ctypes.c_char_p
    acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
    description = package.opwright_ascendc_describe(library.encode())
    if description is None:
        message = acl.aclGetRecentErrMsg() or b"no reason given"
        text = message.decode(errors="replace")
        sys.stderr.write(text.removeprefix("opwright_ascendc_describe: ") + "\n")
        return 1
    sys.stdout.write("\n" + description.decode() + "\n")  # the library may have printed something
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # the library's static objects could still print, or crash
