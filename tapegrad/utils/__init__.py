"""Tools around tensors that need nothing but their public surface."""

from tapegrad.utils import checkpoint, hooks
