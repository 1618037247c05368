"""Lowered graphs as programs, and their runs.

program         an FX graph -> a program for TorchScript's interpreter
compilers       the compiler that the user chose
compiled_graph  a graph with its programs, one for each combination of shapes
runner          runs a program over memory that is given by addresses
dumping         data dumps of the nodes
"""
