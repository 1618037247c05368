"""Tensors as the engine sees them: CANN's dtypes, numbers of 4 bits, private formats, shapes."""
