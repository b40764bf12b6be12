"""What the tests of custom functions share: a Function from two lambdas, gradients of a sum."""


def function(torch, forward, backward=None, name="Mine", **attributes):
    """A Function with this forward and backward; further functions and attributes by keyword."""
    methods = {"forward": forward, "backward": backward, **attributes}
    methods = {key: staticmethod(item) if callable(item) else item for key, item in methods.items() if item is not None}
    return type(name, (torch.autograd.Function,), methods)


def double(ctx, x, *rest):
    return x * 2


def same_gradient(ctx, *grads):
    return grads[0]


def gradients(outputs, *leaves):
    """The gradients of the leaves, after backward from the sum of all tensors among the outputs."""
    outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
    sum(out.sum() for out in outputs if hasattr(out, "sum") and out.requires_grad).backward()
    return [x.grad for x in leaves]


def recorder(results=None):
    """A backward that notes the gradients it gets, and returns ``results``; and what it noted."""
    seen = []

    def backward(ctx, *grads):
        seen.append(list(grads))
        return results

    return seen, backward
