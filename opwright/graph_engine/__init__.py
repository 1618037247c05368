"""The graph engine: what stands behind ge::Session, in Python on torch's CPU kernels.

A serialized Ascend IR graph (`read.py`) is compiled for the shapes of its inputs (`compiled.py`):
the kernels of its nodes (`kernels/` enters them into `table.py`, `lookup.py` finds those of users
as well) are traced to one FX graph of ATen operators. `bridge.py` is where libge_runner calls in.

kernels       what nodes compute: a module for each family of operator types
user_kernels  kernels of users for the types in graphs
legacy        legacy operators, which use the same kernels, one at a time
"""
