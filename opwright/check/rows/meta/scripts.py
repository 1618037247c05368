"""Lines of a script that reproduces a finding about Meta."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opwright.check.observe.metadata import Property
    from opwright.kit.declare.schema import Schema

__all__ = ["write_call", "write_comparison"]

ON_META = ("values = arguments('meta')", "meta = operator(**values)")
ON_FAKE = (
    "from torch._subclasses.fake_tensor import FakeTensorMode",
    "from torch.utils import _pytree",
    "mode = FakeTensorMode(shape_env=torch.fx.experimental.symbolic_shapes.ShapeEnv())",
    "fake = lambda t: mode.from_tensor(t, static_shapes=True)",
    "values = _pytree.tree_map_only(torch.Tensor, fake, arguments('npu'))",
    "with mode:",
    "    meta = operator(**values)",
)
# How Python reads a property of a tensor; of the others, the results are only made.
READERS: dict[Property, str] = {
    "shape": ".shape",
    "dtype": ".dtype",
    "device": ".device",
    "strides": ".stride()",
    "offset": ".storage_offset()",
}


def write_call(*, is_fake: bool) -> tuple[str, ...]:
    """Return the lines that call Meta with the arguments of the sample."""
    return ON_FAKE if is_fake else ON_META


def write_comparison(schema: Schema, name: str, of: Property, *, is_fake: bool) -> tuple[str, ...]:
    """Return the lines that show where a result by Meta differs from the kernel's."""
    item, _, index = name.partition("[")
    names = schema.output_names()
    if item not in names:
        return ()
    result = "" if len(names) == 1 else f"[{names.index(item)}]"
    result += f"[{index}" if index else ""
    lines = (*write_call(is_fake=is_fake), "real = operator(**arguments('npu'))")
    reader = READERS.get(of)
    if reader is None:
        return lines
    by_kernel = f"real{result}{reader}"
    expected = "torch.device('meta')" if of == "device" and not is_fake else by_kernel
    return (
        *lines,
        f"got, want = meta{result}{reader}, {expected}",
        "assert got == want, (got, want)",
    )
