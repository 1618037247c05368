"""C++ sources -> facts, by tree-sitter."""
