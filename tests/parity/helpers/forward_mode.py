"""To be imported before PyTorch's forward mode is used for the first time.

It scripts some decompositions then, and warns that scripting is deprecated.
"""

import warnings

import torch as pytorch

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    with pytorch.autograd.forward_ad.dual_level():
        pytorch.autograd.forward_ad.make_dual(pytorch.ones(1), pytorch.ones(1))


def level(torch):
    """A level of forward mode, as a context."""
    return torch.autograd.forward_ad.dual_level()
