"""The graph that TorchAir hands over: read, as data, and as text.

model           a graph of Ascend IR as frozen dataclasses
read            a serialized ge.proto.ModelDef -> the graph
inference_rule  shapes of a node's outputs, as TorchAir wrote them into the graph
source_lines    the user's line behind a node, for errors
description     the graph as JSON, for callers that ask GE for it
"""
