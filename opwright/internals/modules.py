"""Names of private modules, for who asks whether one is imported and must not import it."""

from __future__ import annotations

__all__ = [
    "ACL_GRAPH",
    "ACL_GRAPH_OF_NPUGRAPH_EX",
    "CONVERT_FRAME",
    "DYNAMO",
    "GE_CONVERTER",
    "GE_CONVERTERS",
    "GE_GRAPH",
    "GE_PROTO",
    "GE_PROTO_OF_PROTOC",
    "LOGGERS",
    "META_REGISTRATIONS",
]

# torch.compiler has no public name for whether TorchDynamo is there; importing it takes a second.
DYNAMO = "torch._dynamo"
# It has the lock that torch.compile traces under (compile_lock).
CONVERT_FRAME = "torch._dynamo.convert_frame"
# Modules that log what a finding reports, too. A logger is named after its module; that of
# torch_npu's graphs has two underscores more.
LOGGERS = (
    "torch._subclasses.fake_tensor",
    "torch.fx.experimental.symbolic_shapes",
    DYNAMO,
    "torch._functorch",
    "torch._export",
    "torch.export",
    "torch_npu.npu.graphs.__cudagraphs",
)
# torch_npu's own Meta functions: op-plugin's files import them by the name that they have in its
# source tree.
META_REGISTRATIONS = "torch_npu.op_plugin.meta._meta_registrations"

# TorchAir publishes what builds graphs, not what it built: the graph with its Python code,
GE_GRAPH = "torchair.ge._ge_graph"
# the object that converts and keeps the FX graph,
GE_CONVERTERS = "torchair._ge_concrete_graph.fx2ge_converter"
# the protobuf classes of what it serializes, made for the protobuf that is installed,
GE_PROTO = "torchair._ge_concrete_graph.ge_ir_pb2"
# and those that every later protobuf reads as well.
GE_PROTO_OF_PROTOC = "torchair._ge_concrete_graph.ge_ir_by_protoc_3_19_pb2"
# The attribute of an OpOverload where TorchAir keeps its converter.
GE_CONVERTER = "_ge_converter"
# Modules that capture a compiled graph: TorchAir's reduce-overhead, and npugraph_ex.
ACL_GRAPH = "torchair._acl_concrete_graph.acl_graph"
ACL_GRAPH_OF_NPUGRAPH_EX = "npugraph_ex._acl_concrete_graph.acl_graph"
