"""Ascend C on the CPU: operator projects, .asc files and their kernels."""
