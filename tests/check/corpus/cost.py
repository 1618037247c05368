"""Operators with a budget for the cost of a call, over it and within."""

from __future__ import annotations

import inspect

import torch

import opwright as ow

BROKEN = {
    "wrapped_in_checks": "cost/over-budget",
    "inspects_itself": "cost/over-budget",
}

library = torch.library.Library("corpus_cost_lib", "DEF")
ops = ow.OperatorSet("corpus_cost_lib", existing=True)
SAMPLES = [ow.sample(x=ow.tensor(3))]


def double(x):
    return x * 2


def add(name, function, **fields):
    """Define an operator of a library by its PrivateUse1 kernel."""
    library.define(f"{name}(Tensor x) -> Tensor")
    library.impl(name, function, "PrivateUse1")
    library.impl(name, double, "CPU")
    library.impl(name, torch.empty_like, "Meta")
    ops.operator(f"{name}(Tensor x) -> Tensor", samples=SAMPLES, **fields)(double)


def wrapped_in_checks(x):
    for axis in range(x.dim()):
        for other in range(300):
            if x.size(axis) < 0 or x.stride(axis) < 0 or other < 0:
                raise ValueError("x is impossible")
    return x * 2


def inspects_itself(x):
    for _ in range(20):
        inspect.signature(double).bind(x)
    return x * 2


add("wrapped_in_checks", wrapped_in_checks, cost_budget=10)
add("inspects_itself", inspects_itself, cost_budget=10)

# Sound: three calls where one would do, within a budget that says so; no budget; a slow kernel.


def three_calls(x):
    return (x + 1) * 2 - 2


def slow_without_budget(x):
    return wrapped_in_checks(x)


add("three_calls", three_calls, cost_budget=30)
add("within_budget", double, cost_budget=20)
add("slow_without_budget", slow_without_budget)

live = ow.OperatorSet("corpus_cost")


@live.operator("slow_kernel(Tensor x) -> Tensor", samples=SAMPLES, cost_budget=20)
def slow_kernel(x):
    for _ in range(50):
        x = x * 1
    return x * 2
