"""What operators compute, in plain PyTorch: the standard that fast kernels are tested against."""
