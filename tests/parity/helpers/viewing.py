"""What the programs about views and writes have in common: how tensors and their places in the graph are told."""

from harness import attempt


def leaf(torch, *shape, **options):
    """A leaf 1, 2, 3, ... of this shape that requires grad."""
    return counted(torch, *(shape or (3,)), **options).requires_grad_()


def counted(torch, *shape, dtype=None):
    """A tensor 1, 2, 3, ... of this shape, with memory of its own."""
    count = 1
    for length in shape:
        count *= length
    numbers = torch.tensor([float(i + 1) for i in range(count)])
    return numbers.reshape(shape).clone().to(dtype or torch.float32)


def name(tensor):
    """The name of a tensor's ``grad_fn``, or what asking for it raises."""
    return attempt(lambda: tensor.grad_fn and tensor.grad_fn.name())


def parents(tensor):
    """The names of the nodes that a tensor's ``grad_fn`` hands gradients to."""
    return attempt(lambda: tensor.grad_fn and [node and node.name() for node, _ in tensor.grad_fn.next_functions])


def names(tensor):
    """The names of a tensor's ``grad_fn`` and of the nodes that it hands gradients to."""
    node = tensor.grad_fn
    return None if node is None else [node.name(), [behind and behind.name() for behind, _ in node.next_functions]]


def chain(tensor):
    """The names along the first edges of the graph, from a tensor on."""
    names, node = [], tensor.grad_fn
    while node is not None:
        names.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    return names


def place(tensor, *others):
    """All that can be seen of a tensor as a view and in the graph; which of the others its base is."""
    base = tensor._base
    known = [position for position, other in enumerate(others) if other is base]
    return [
        ["requires grad", attempt(lambda: tensor.requires_grad)],
        ["leaf", attempt(lambda: tensor.is_leaf)],
        ["view", tensor._is_view()],
        ["base", None if base is None else known[0] if known else "another"],
        ["version", attempt(lambda: tensor._version)],
        ["grad_fn", name(tensor), parents(tensor), attempt(lambda: tensor.output_nr)],
        ["value", attempt(lambda: tensor.detach().tolist())],
    ]


def now(*tensors):
    """The values of tensors as they are now, for they may be written to later; of other things what they are."""
    return [attempt(t.detach().tolist) if hasattr(t, "tolist") else t for t in tensors]


def places(*tensors):
    """``place`` of each of several tensors that may be bases of one another."""
    return [place(tensor, *tensors) for tensor in tensors]


def gradients(torch, outputs, *leaves):
    """The gradients of leaves for a sum of all outputs, in which every element has a weight of its own.

    ``outputs`` is a tensor or a list. The graph is kept; gradients that were there are forgotten.
    """

    def run():
        weighted = [out * counted(torch, *out.shape, dtype=out.dtype) for out in listed]
        total = sum(out.sum() for out in weighted)
        for x in leaves:
            x.grad = None
        (total.real if total.is_complex() else total).backward(retain_graph=True)
        return [x.grad if x.grad is None else x.grad.tolist() for x in leaves]

    listed = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    return attempt(run)
