"""Kernels of operator types that only legacy operators (aclop) use, by subject."""
