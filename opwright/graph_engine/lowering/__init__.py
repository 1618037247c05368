"""A graph, for inputs of given shapes -> one FX graph of ATen operators.

binding    a node and its kernel -> the call
agreement  a node, compared with its prototype and with the computed outputs
lower      the walk over the nodes, and the trace of the calls that remain
simplify   rules that make the FX graph cheaper
tracing    one trace at a time in a process
variables  tensors that a session keeps between runs
"""
