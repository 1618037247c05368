"""The arguments of a node's call, as the text that one operator of the traced graph takes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import torch

__all__ = ["NodeCall", "OutputSpec", "Values"]

Values = dict[str, Any]  # tensors, lists of them, attributes; by name


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSpec:
    """An output of a node.

    Parameters
    ----------
    port
        The output in the prototype; several specs of one port are a dynamic output.
    dtype
        A number of ge::DataType.
    written
        It is the input of the same name, which the kernel writes.
    absent
        It would be such an input, but that is not there; or nobody wants it.
    """

    port: str
    shape: tuple[int, ...]
    dtype: int
    written: bool = False
    absent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCall:
    """Arguments for the kernel of a node, but for the tensors themselves.

    Parameters
    ----------
    inputs
        Of each input of the prototype, how many tensors; -1: it is one tensor, not a list.
    written
        Inputs that the kernel may write; the node need not have outputs of these names.
    """

    node: str
    op_type: str
    inputs: Mapping[str, int]
    attributes: Mapping[str, Any]
    outputs: tuple[OutputSpec, ...]
    written: tuple[str, ...] = ()

    def text(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> NodeCall:
        """Read what `text` returned."""
        fields = json.loads(text)
        outputs = tuple(
            OutputSpec(**{**spec, "shape": tuple(spec["shape"])}) for spec in fields.pop("outputs")
        )
        return cls(**fields, outputs=outputs)

    def named(
        self, tensors: Sequence[torch.Tensor], written: Sequence[torch.Tensor] = ()
    ) -> Values:
        """Return the inputs by name."""
        left = {False: iter(tensors), True: iter(written)}
        return {
            name: self.taken(left[name in self.written], count)
            for name, count in self.inputs.items()
        }

    @staticmethod
    def taken(tensors: Iterator[torch.Tensor], count: int) -> Any:  # noqa: ANN401 - a tensor or a list
        """Return an input."""
        return next(tensors) if count < 0 else [next(tensors) for _ in range(count)]
