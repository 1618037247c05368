"""How files of the corpus register what they declare, as another library would."""

from __future__ import annotations

import torch

import opwright as ow

# The tag of an operator that returns what it writes. A torch without it functionalizes none, so
# that there none is sound.
IN_PLACE = (torch.Tag.inplace,) if hasattr(torch.Tag, "inplace") else ()


def described_library(namespace, usual=()):
    """Return a library, a set that describes it, and what adds an operator to both.

    Parameters
    ----------
    usual
        The samples of operators that are added without any.
    """
    library = torch.library.Library(namespace, "DEF")
    ops = ow.OperatorSet(namespace, existing=True)

    def add(schema, kernel, meta, *samples, tags=(), **rules):
        library.define(schema, tags=tags)
        name = schema.partition("(")[0]
        library.impl(name, kernel, "CPU")
        library.impl(name, kernel, "PrivateUse1")
        if meta is not None:
            torch.library.register_fake(f"{namespace}::{name}", meta, lib=library)
        ops.operator(schema, samples=samples or usual, **rules)(kernel)

    return library, ops, add


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
