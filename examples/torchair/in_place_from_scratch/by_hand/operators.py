"""Importing this registers my_ops::my_inplace: steps 1 and 3 are in the built library."""

import os

import torch
import torch_npu  # noqa: F401 - the library needs torch_npu's

torch.ops.load_library(os.environ["MY_OPS_LIBRARY"])

import step4_meta  # noqa: E402, F401
import step6_converter  # noqa: E402, F401
