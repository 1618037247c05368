"""An operator that kills the parent of its process, beside a sound one."""

from __future__ import annotations

import os
import signal
import time

import opwright as ow

ops = ow.OperatorSet("pool_killer")
SAMPLES = [ow.sample(x=ow.tensor(3))]


def end(parent):
    os.kill(parent, signal.SIGKILL)
    while os.getppid() == parent:  # it takes the system a moment
        time.sleep(0.001)


@ops.operator("kills(Tensor x) -> Tensor", samples=SAMPLES, dtypes="float32")
def kills(x):
    end(os.getppid())
    return x * 2


@ops.operator("sound(Tensor x) -> Tensor", samples=SAMPLES, dtypes="float32")
def sound(x):
    return x * 2
