"""``torch.nn``: so far its functional part and ``Parameter``; modules build on them."""

import contextlib  # TEMPORARY

with contextlib.suppress(ImportError):
    from tapegrad.nn import functional as functional
with contextlib.suppress(ImportError):
    from tapegrad.nn.parameter import Parameter as Parameter
