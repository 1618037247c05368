"""The live tier: the operators of a declaration in this process, without a compiler.

loading       `load`: a declaration -> registered operators, and the handle that removes them
registration  what is registered, and how all of it is undone
current       what is loaded now; arrival: what waits for torch_npu
live_operator an operator with what the kernels of all keys need; kernels: those kernels by key
dispatcher    torch's private names that this package needs, in one place
arguments     a call's args and kwargs -> arguments by name
rules         checks, shapes and dtypes for the arguments of a call; sizes may be symbolic
reference     the reference function as CPU kernel; npu, user_kernels: on the NPU
fake          Meta kernel; composite: operators made of others
autograd, functional, batching, autocast, factory    one dispatch key each
existing      what operators of other libraries lack; converters: TorchAir's, for both
proof         what only running a reference shows; samples: what it is run with
errors        what can go wrong when operators are loaded, and when their Python parts run
_boxed, _aclnn    native modules: boxed autograd and NPU kernels
"""

from __future__ import annotations

from opwright.kit.live.loading import Loaded, load

__all__ = ["Loaded", "load"]


def __dir__() -> list[str]:
    return __all__
