"""Prototypes of operator types, a module for each place that declares them.

cann              CANN's own: TorchAir's, and in `cann_attention` those that TorchAir lacks
packages          of installed operator packages
loaded_libraries  of C++ libraries in this process
command           `opwright proto`

Those beside a user's kernels are in `opwright.graph_engine.user_kernels.types`; `find_prototype`
of `opwright.graph_engine.lookup` asks all of them.
"""
