"""The graph engine: the other side of ge::Session, in Python on torch's CPU kernels.

Files at the top are the entrances and the operator table: libge_runner calls `bridge.py`, libgraph
`prototype_bridge.py`, libacl_op_compiler `legacy_bridge.py`, each by its name; kernels enter
`table.py`, and `lookup.py` finds the kernel or prototype of an operator type. A graph goes through
these folders in order:

options       the options that it comes with
graph         a serialized graph of Ascend IR -> data
lowering      that, for the shapes of its inputs -> one FX graph of ATen operators
running       FX graphs as programs, their runs and data dumps

Lowering calls the kernels of the nodes, which are in

kernels       kernels of the twin: a module for each family of operator types
user_kernels  kernels of users for the types in graphs
legacy        kernels of legacy operators alone, and how such operators run, one at a time

All of these use

prototypes    prototypes of operator types, a module for each place that declares them
calls         calls that stay one operator of the traced graph, as that of an aclnn function
tensors       dtypes, numbers of 4 bits, shapes
"""
