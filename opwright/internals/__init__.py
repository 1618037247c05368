"""Names of torch, TorchAir and CPython that are not public, for the kit and the twin: here alone.

Each module is a list of names, with the reason why no public name will do. Names are torch's, less
the underscore in front. Where releases differ, the module asks what there is (an attribute, a
parameter), not which release it is. `tests/test_internals.py` finds such names anywhere else.

modules           names of modules, to look whether one is imported; imports nothing
bytecode          instructions of CPython; imports nothing
headers           the C++ that torch's headers ask for; imports nothing
dispatcher        guards and tables of operators
library           registrations in Python
fake_tensors      tensors without data, and the errors of operators that have no Meta
functorch         the transformations of torch.func
modes             modes, which see each operator of a thread, and the default device
jit               TorchScript's graphs, types and schemas
compiler          names that torch.compile shares with a tracer beside it; imports no compiler
dynamo, inductor  torch.compile itself; each takes a second to import
testing           tolerances
npu_memory        torch_npu's reports about its allocator, which has to be imported before
converters        TorchAir's, which has to be imported before
graph_compilers   those of TorchAir and npugraph_ex, to see each graph that they compile

A name that wheels need as well stands in `opwright.kit.shipped._internals` or
`_internals_of_torchair`, and is taken from there; torch_aie has its own in `torch_aie._internals`.
"""

from __future__ import annotations

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
