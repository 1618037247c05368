"""Python sources -> facts, by the ast module."""
