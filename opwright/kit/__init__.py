"""The operator kit: one declaration -> everything that an operator for Ascend NPUs needs.

Each room uses those above it.

declare    what an author writes -> Declaration, frozen data
validate   Declaration -> all diagnostics
derive     a valid Declaration -> facts, each derived once
emit       facts and options -> texts of files
shipped    modules that go into wheels as they are; they import nothing of opwright
live       facts -> operators in this process, and the handle that removes them
packaging  emitted sources -> objects -> library -> wheel, with a cache by content
formats    op-plugin's YAML, REG_OP headers, msOpGen's JSON, C++ -> declarations, and back
op_plugin  op-plugin's files -> a wheel, or a patch of its source tree
"""
