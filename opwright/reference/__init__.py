"""References of operators in plain PyTorch: what the twin's kernels are compared with.

Each is written for clarity: sequence by sequence, row by row, in float32, without a device. They
need torch alone.

>>> import torch
>>> from opwright.reference.lightning_indexer import lightning_indexer
>>> query, key = torch.eye(8, 128).half().view(1, 1, 8, 128), torch.eye(3, 128).half()
>>> weights = torch.tensor([1, 3, 2, 0, 0, 0, 0, 0]).half().view(1, 1, 8)
>>> lightning_indexer(query, key.view(1, 3, 1, 128), weights, sparse_count=4)[0].tolist()
[[[[1, 2, 0, -1]]]]
"""
