"""Names of torch and TorchAir that are not public and that the kit and the twin use: here alone.

Each module is a list of names, with the reason why no public name will do. Names are torch's, less
the underscore in front. Where releases differ, the module asks what there is (an attribute, a
parameter), not which release it is. `tests/test_internals.py` finds such names anywhere else.

modules           names of modules, for who looks whether one is imported; imports nothing
dispatcher        keys, guards and tables of operators
library           registrations in Python
fake_tensors      tensors without data, and the errors of operators that have no Meta
functionalization   tensors that stand for a value and what was written into it
functorch         the transformations of torch.func
modes             what sees each operator of a thread; autograd and checks
jit               TorchScript's graphs, types and schemas
compiler          what torch.compile and who traces beside it share; imports no compiler
dynamo, inductor  torch.compile itself; each takes a second to import
testing           tolerances
converters        TorchAir's; it has to be imported by then

Wheels take theirs from `opwright.shipped`, torch_aie its own from `torch_aie._internals`.
"""

from __future__ import annotations

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
