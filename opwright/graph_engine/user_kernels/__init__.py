"""Kernels of users (opwright.twin.user_kernels) as kernels of the operator types in graphs.

types   which operator types the user's kernels serve
kernel  entries for the engine's table
call    a node as one call in the traced graph
"""
