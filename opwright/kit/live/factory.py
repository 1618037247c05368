"""The BackendSelect key: an operator without a tensor runs on the device that the call names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.kit.live import dispatcher

if TYPE_CHECKING:
    from collections.abc import Callable

    from opwright.kit.live.live_operator import LiveOperator

__all__ = ["factory_kernel", "needs_factory"]


def needs_factory(live: LiveOperator) -> bool:
    """Return whether a call may have no tensor by which the dispatcher could choose."""
    return not any(
        argument.type.is_tensor and not argument.type.optional
        for argument in live.facts.schema.arguments
    )


def factory_kernel(live: LiveOperator) -> Callable[..., object]:
    """Return the kernel that chooses the device: see `LiveOperator.device`."""

    def kernel(*args: object, **kwargs: object) -> object:
        values = live.binder.bind(args, kwargs)
        key = dispatcher.key_of(live.device(values))
        return live.binder.call(
            lambda *given, **named: dispatcher.call_at(live.overload(), key, *given, **named),
            values,
        )

    return kernel
