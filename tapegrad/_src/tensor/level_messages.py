"""PyTorch's messages about tensors inside function transforms, where something can't be done with them."""

ESCAPED = (
    "Either your tensor may have escaped from inside a function being vmapped and this is a user error (see "
    "https://pytorch.org/functorch/stable/ux_limitations.html), or there is an internal functorch error in "
    "`gen_vmap_plumbing` Please file an issue if it looks like the latter"
)
NO_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
    "please try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch "
    "internals, please file a bug report."
)

CONTROL_FLOW = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that "
    "yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
)
LOST_TANGENT = (
    "A tensor from outside that was written to in a function is read there again, while columns of its Jacobian are "
    'taken together (strategy="forward-mode"): it has no tangents here. Take strategy="reverse-mode", or write to a '
    "clone."
)
NO_MEMORY = "Cannot access data pointer of Tensor that doesn't have storage"
DYNAMIC = (
    "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::{}. Please "
    "file an issue at https://github.com/pytorch/pytorch/issues if you need this feature."
)
NO_RULE = "Batching rule not implemented for aten::{}. We could not generate a fallback."
NO_RANDOM = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
    "randomness flags on vmap or perform the randomness operation out of vmap"
)
RANDOM_IN_BATCH = (
    "vmap: We do not yet support calling random operations inside of vmap. Please perform random operations outside of "
    "vmap as a workaround"
)
NOT_THE_SAME = (
    "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with functorch"
)
NOT_DIFFERENT = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. "
    "If this is necessary for your usage, please file an issue with functorch."
)
NO_HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your use "
    "case."
)
INCOMPATIBLE = (
    "vmap: {0}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more "
    "elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over {1}. "
    "Please try to use out-of-place operators instead of {0}. If said operator is being called inside the PyTorch "
    "framework, please file a bug report instead."
)
