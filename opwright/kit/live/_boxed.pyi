# Boxed kernels of the live tier that need torch only: native/live/boxed_module.cpp.

from collections.abc import Callable, Sequence

from typing_extensions import Self

class Handle:
    def remove(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...

def autograd(
    namespace: str,
    name: str,
    dispatch_key: str,
    slow_path: Callable[..., object],
    differentiable: Sequence[int],
) -> Handle: ...
def version_bump(namespace: str, name: str, arguments: Sequence[int]) -> Handle: ...
