"""What the programs about strides have in common: how a tensor lies in memory."""

from harness import attempt


def layout(x):
    """Shape, strides, offset, and whether it is contiguous."""
    return attempt(lambda: [tuple(x.shape), x.stride(), x.storage_offset(), x.is_contiguous()])


def layouts(*tensors):
    return [layout(x) for x in tensors]


def node(x):
    """Its node, and those before."""
    return x.grad_fn and [x.grad_fn.name(), [before and before.name() for before, _ in x.grad_fn.next_functions]]


def counted(torch, *shape):
    return torch.arange(float(torch.Size(shape).numel())).reshape(shape).clone()
