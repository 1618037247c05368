"""Other sources of declarations than Python, and what a declaration is written as.

op_plugin        op-plugin's YAML -> declarations; op_plugin_write: back; entries: what is kept
gen_opapi        its key gen_opapi: call, shapes, dtypes
derivatives      derivatives.yaml
exec_call        its key exec; cpp_read, cpp_write: its C++ expressions
versions         its versions of torch
yaml_text        YAML
prototypes       REG_OP, OpDef and msOpGen's JSON (msopgen) -> declarations
module_text      a declaration -> the Python module that declares it; python_text: its layout
files            a file of any kind -> declarations; variants: which of its operators
imported         what was read from a file, and what could not be said in declarations
headers          headers with REG_OP, as a compiler reads them
generated        writes a generated file, never over what a person wrote
command          `opwright import`, `opwright export`; verbs: what they do
errors           OPW-S...
"""
