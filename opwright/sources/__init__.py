"""Other sources of declarations than Python, and what a declaration is written as.

op_plugin        op-plugin's YAML -> declarations; op_plugin_write: back
gen_opapi        its key gen_opapi: call, shapes, dtypes
derivatives      derivatives.yaml
exec_call        its key exec; cpp_read, cpp_write: its C++ expressions
versions         its versions of torch
yaml_text        YAML
prototypes       REG_OP, OpDef and msOpGen's JSON (msopgen) -> declarations
module_text      a declaration -> the Python module that declares it; python_text: its layout
files            a file of any kind -> declarations; variants: which of its operators
writable         whether a file can be written, asked before a run
command          `opwright import`, `opwright export`; verbs: what they do
errors           OPW-S001 to OPW-S007
"""
