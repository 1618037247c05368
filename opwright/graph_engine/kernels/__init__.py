"""The kernels, one module per family of operators. Importing a module fills the table."""
