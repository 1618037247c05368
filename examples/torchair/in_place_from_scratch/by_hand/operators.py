"""Importing this registers my_ops::my_inplace: the built library has steps 1 and 3, then comes step 4."""

import os

import torch
import torch_npu  # noqa: F401 - the library needs torch_npu's

torch.ops.load_library(os.environ["MY_OPS_LIBRARY"])

import step4_meta  # noqa: E402, F401
