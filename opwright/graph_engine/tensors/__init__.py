"""Tensors as the engine sees them: CANN's dtypes, numbers of 4 bits, shapes without values."""
