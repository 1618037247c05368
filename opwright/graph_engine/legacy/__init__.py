"""Legacy operators (aclop): one operator at a time, by its type.

operator   a description -> the operator, which runs on the tensors of a call
names      inputs, outputs and attributes of a call by the names of the prototype
formats    how an operand lies in memory, by its description
kernels    kernels beside those of the graph engine, or in place of them

`opwright.graph_engine.legacy_bridge` is where libacl_op_compiler calls in.
"""
