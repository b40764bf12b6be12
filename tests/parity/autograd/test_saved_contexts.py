"""Hooks on saved tensors: switching them, ``save_on_cpu``, and how long what they keep lives."""

import weakref

import pytest
from harness import Programs, agree, attempt, leaf
from saving import hooked, without_addresses

PROGRAMS = program = Programs()


# -- enabling and disabling --------------------------------------------------------------------------------------------


def state(torch):
    api = torch._C._autograd
    return api._saved_tensors_hooks_is_enabled(), api._saved_tensors_hooks_get_disabled_error_message()


@program
def disabled_hooks(torch):
    graph = torch.autograd.graph
    enter = lambda: hooked(torch, lambda t: t, lambda t: t).__enter__()
    seen = [state(torch)]
    with graph.disable_saved_tensors_hooks("one"):
        seen += [state(torch), attempt(enter), attempt(lambda: graph.save_on_cpu().__enter__())]
        with graph.disable_saved_tensors_hooks("two"):
            seen += [state(torch), attempt(enter)]
        seen += [state(torch), attempt(enter)]
    return seen, state(torch)


@program
def disabling_conflicts_with_hooks_in_force(torch):
    graph, api = torch.autograd.graph, torch._C._autograd
    seen = []

    def disable():
        with graph.disable_saved_tensors_hooks("no"):
            seen.append("inside")

    with hooked(torch, lambda t: t, lambda t: t):
        seen += [attempt(disable), state(torch)]
        api._saved_tensors_hooks_disable("quietly", False)
        seen.append(state(torch))
        api._saved_tensors_hooks_enable()
    return seen, state(torch)


@program
def an_error_inside_restores(torch):
    def fail():
        with torch.autograd.graph.disable_saved_tensors_hooks("no"):
            raise ValueError("inside")

    return attempt(fail), state(torch)


@program
def pushing_and_popping(torch):
    api, x, log = torch._C._autograd, leaf(torch, 1.0, 2.0), []
    pack, unpack = (lambda t: log.append("pack") or t), (lambda t: t)
    api._push_saved_tensors_default_hooks(pack, unpack)
    top = api._top_saved_tensors_default_hooks(False)
    x.sin()
    api._pop_saved_tensors_default_hooks()
    x.sin()
    wrong = [without_addresses(attempt(lambda args=args: api._push_saved_tensors_default_hooks(*args)))
             for args in ((1, 2), (pack,), ())]  # fmt: skip
    return log, top == (pack, unpack), wrong, attempt(lambda: api._pop_saved_tensors_default_hooks())[:2]


@program
def wrong_arguments(torch):
    graph, api = torch.autograd.graph, torch._C._autograd
    return [attempt(lambda: graph.saved_tensors_hooks(lambda t: t))[:2],
            without_addresses(attempt(lambda: graph.saved_tensors_hooks(1, 2).__enter__())),
            attempt(lambda: api._saved_tensors_hooks_disable(3))[:2]]  # fmt: skip


# -- save_on_cpu -------------------------------------------------------------------------------------------------------


@program
def save_on_cpu(torch):
    seen = []
    for arguments in ({}, {"pin_memory": False}, {"pin_memory": True}, {"pin_memory": True, "device_type": "cuda"}):
        x = leaf(torch, 1.0, 2.0)
        with torch.autograd.graph.save_on_cpu(**arguments):
            out = (x.exp() * x).sum()
        node = out.grad_fn.next_functions[0][0]
        saved = node._saved_self
        out.backward()
        seen.append([saved, saved.requires_grad, x.grad])
    return seen


@program
def save_on_cpu_with_double_backward(torch):
    x = leaf(torch, 1.0, 2.0)
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        out = (x.exp() * x).sum()
        (g,) = torch.autograd.grad(out, x, create_graph=True)
    return g, torch.autograd.grad(g.sum(), x)


# -- lifetimes ---------------------------------------------------------------------------------------------------------


class Kept:
    """What a pack hook returns: it can be watched, and knows its tensor."""

    def __init__(self, tensor):
        self.tensor = tensor.detach().clone()


def watched(torch, references):
    def pack(t):
        kept = Kept(t)
        references.append(weakref.ref(kept))
        return kept

    return hooked(torch, pack, lambda kept: kept.tensor)


def alive(references):
    return [reference() is not None for reference in references]


@program
def packed_objects_go_with_the_graph(torch):
    x, references = leaf(torch, 1.0, 2.0), []
    with watched(torch, references):
        out = (x * x).sin()
    seen = [alive(references)]
    out.sum().backward(retain_graph=True)
    seen.append(alive(references))
    out.sum().backward()
    seen.append(alive(references))
    references.clear()
    with watched(torch, references):
        out = (x * x).exp()
    seen.append(alive(references))
    del out
    return seen, alive(references)


@program
def packed_objects_go_when_the_raw_tensor_is_held(torch):
    x, references = leaf(torch, 1.0, 2.0), []
    with watched(torch, references):
        out = x.exp()
    raw = out.grad_fn._raw_saved_result
    out.sum().backward()
    return alive(references), attempt(lambda: out.grad_fn._saved_result), raw.data


@program
def hooks_go_with_the_graph(torch):
    class Unpack:
        def __call__(self, t):
            return t

    x, unpack = leaf(torch, 1.0, 2.0), Unpack()
    reference = weakref.ref(unpack)
    with hooked(torch, lambda t: t.detach(), unpack):
        out = x.exp()
    del unpack
    seen = [reference() is not None]
    del out
    seen.append(reference() is not None)
    return seen


@program
def saved_inputs_go_with_the_graph(torch):
    class Tag:
        pass

    x, references = leaf(torch, 1.0, 2.0), []
    mid = x * 2
    mid.tag = Tag()
    references.append(weakref.ref(mid.tag))
    out = mid * mid
    result = out.exp()
    saved = result.grad_fn._saved_result
    del mid
    seen = [alive(references)]
    result.sum().backward()
    seen.append(alive(references))
    del out, result, saved
    return seen, alive(references)


@program
def extra_enters_do_not_leak(torch):
    def scope():
        def unpack(t):
            reference().__enter__()
            return t

        context = hooked(torch, lambda t: t.detach(), unpack)
        reference = weakref.ref(context)
        with context:
            leaf(torch, 1.0, 2.0).sin().sum().backward()
        return weakref.ref(unpack)

    return scope()() is None


@pytest.mark.usefixtures("no_gc")
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    agree(function)
