"""Calls that tracing does not enter: each is one operator of the traced graph.

aclnn         an aclnn function of libopapi
slots         how the parameters of an aclnn function follow from a node
launched      an operator of a loaded library, which launches its work itself
control_flow  graphs that a node calls
node_call     the text of such a call: what it needs besides tensors

A user's kernel is called in the same way, by `opwright.graph_engine.user_kernels.call`.
"""
