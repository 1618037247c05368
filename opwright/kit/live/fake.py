"""The Meta kernel: what a call would return, from the rules alone. Sizes may be symbolic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.kit.live.arguments import map_tensors

if TYPE_CHECKING:
    from collections.abc import Callable

    from opwright.kit.live.live_operator import LiveOperator

__all__ = ["fake_kernel"]


def fake_kernel(live: LiveOperator) -> Callable[..., object]:
    """Return the kernel for meta and fake tensors."""

    def kernel(*args: object, **kwargs: object) -> object:
        values = live.binder.bind(args, kwargs)
        live.rules.check(values)
        device = live.device(values)
        values |= {name: map_tensors(torch.empty_like, values[name]) for name in live.facts.clones}
        new = {output.name: live.rules.empty(output, values, device) for output in live.new_outputs}
        return live.results(new, values)

    return kernel
