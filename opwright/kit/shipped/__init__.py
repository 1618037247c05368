"""Modules that are copied into packages as they are. They import torch, and nothing of opwright.

runtime     registers Python kernels: references, backward functions, vmap, autocast
vjp         gradients of a reference function
rules       checks and shapes of Meta kernels
autograd    autograd and functionalization in Python, for packages that use only the stable ABI
converting  what converters for TorchAir need
writing     TorchAir's conversion of mutating operators, where TorchAir has none
graphs      mutating operators in graphs that are compiled
loading     checks versions and loads the C++ library; op_plugin: that of op-plugin's operators
_internals, _internals_of_torchair   what these take of torch and TorchAir without a public name
support     what the tests of a package share
setup_script   the package's setup.py
"""

from __future__ import annotations

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
