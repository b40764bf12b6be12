"""``torch.version``: the version of tapegrad, and of what PyTorch was built with, which is nothing here."""

__version__ = "0.1.0"
cuda = None
hip = None
debug = False
git_version = None
