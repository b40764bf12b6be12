"""``torch.SymInt`` and its like: sizes that PyTorch's compiler doesn't know. Here sizes are numbers."""


class SymInt:
    """What an unknown size is in PyTorch; programs ask ``isinstance(x, (int, torch.SymInt))``."""


class SymFloat:
    """What a number that follows from unknown sizes is in PyTorch."""


class SymBool:
    """What a condition on unknown sizes is in PyTorch."""
