"""``torch.nested._internal``: what libraries import of it, where PyTorch has it."""
