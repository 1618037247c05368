from torch.library import Library
lib = Library("lab", "IMPL"
