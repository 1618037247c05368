# ruff: noqa: A001, N999 - the API's name; the name of an extension module
from typing import TypeAlias

from torch._C import ScriptModule

_Row: TypeAlias = tuple[list[int], list[int], int]

def set_device(npu_id: int, /) -> None: ...
def finalize() -> None: ...
def compile(
    module: ScriptModule, profiles: list[list[_Row]], options: dict[str, object], /
) -> ScriptModule: ...
def export_engine(
    module: ScriptModule,
    method: str,
    profiles: list[list[_Row]],
    options: dict[str, object],
    /,
) -> bytes: ...
