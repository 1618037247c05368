"""The language of sizes, shapes and conditions: text -> data -> values, or code of a target.

Nothing here imports torch.

shape            sizes and shapes as data
conditions       conditions on the arguments of a call as data
scope            the names that a text may use
read             text -> data; patterns: those of arguments -> the names that they bind
trace            shape function -> data
evaluate         shape -> sizes, for given arguments; decide: condition -> whether it holds
print_cpp        -> C++ of the built tier; print_python: of its Meta kernels
print_native     -> tuples for the dispatcher of the live tier
messages         what a failed check says
errors

The C++ that op-plugin's YAML has in texts is read and written in `opwright.kit.formats`.
"""
