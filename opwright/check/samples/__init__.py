"""Samples of an operator's arguments, solved from its declaration.

A sample is data (`opwright.declare.sample.Sample`), resolved: every tensor has its dtype. It can be
printed, kept in a report, made smaller, and made into tensors on any device.
"""

from __future__ import annotations

from opwright.check.samples.aspects import ALL, Aspect
from opwright.check.samples.made import arguments
from opwright.check.samples.samples import Samples
from opwright.check.samples.text import described

__all__ = ["ALL", "Aspect", "Samples", "arguments", "described"]
