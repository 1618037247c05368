"""How files of the corpus register what they declare: a function as the kernel, and its Meta."""

from __future__ import annotations

import torch


def kernel_of(schema, function):
    """Return a function as a kernel: new results are contiguous, whatever the arguments are."""
    result = schema.partition("-> ")[2]
    if result == "()" or "!" in result:
        return function
    if result.startswith("("):
        return lambda *args: tuple(each.contiguous() for each in function(*args))
    return lambda *args, **kwargs: function(*args, **kwargs).contiguous()


def meta_of(schema):
    """Return the Meta of results that are like the first tensor, or that tensor itself."""
    result = schema.partition("-> ")[2]

    def meta(*args, **kwargs):
        x = next(iter((*args, *kwargs.values())))
        if result == "()":
            return None
        own = x if "!" in result else torch.empty(x.shape, dtype=x.dtype, device=x.device)
        return (own, torch.empty_like(own)) if result.startswith("(") else own

    return meta
