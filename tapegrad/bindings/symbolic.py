"""``torch.SymInt`` and its like: sizes that PyTorch's compiler doesn't know. Here sizes are numbers."""


class SymInt:
    """The class of unknown sizes in PyTorch; programs ask ``isinstance(x, (int, torch.SymInt))``."""


class SymFloat:
    """The class of numbers that follow from unknown sizes in PyTorch."""


class SymBool:
    """The class of conditions on unknown sizes in PyTorch."""
