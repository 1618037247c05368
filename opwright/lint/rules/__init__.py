"""The rules, one function each, and the table of all of them."""
