"""``torch._functorch``: function transforms under the names that they have inside PyTorch. See ``tapegrad.func``."""

from tapegrad._src.declaring import on_demand

__getattr__, __dir__ = on_demand(__name__, {
    __name__: """apis batch_norm_replacement config deprecated eager_transforms functional_call make_functional
        vmap""",
})
