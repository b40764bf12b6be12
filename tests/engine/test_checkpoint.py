"""What checkpoints are for, and what has no counterpart in PyTorch: memory, lifetimes, names of our operators."""

import copy
import functools
import pickle
import weakref

import jax.numpy as jnp
import pytest

import tapegrad as torch
from tapegrad._src.tape.modes import thread
from tapegrad.interop import from_jax
from tapegrad.nn import functional as F
from tapegrad.ops.operator import TABLE
from tapegrad.ops.overloads import OWN, identity_of
from tapegrad.utils._python_dispatch import TorchDispatchMode
from tapegrad.utils.checkpoint import checkpoint, checkpoint_sequential, create_selective_checkpoint_contexts

recorded = functools.partial(checkpoint, use_reentrant=False)
reentrant = functools.partial(checkpoint, use_reentrant=True)


@pytest.fixture
def living(monkeypatch):
    """How many of the tensors that ``layer`` made live: now, and at most so far."""
    return Census()


class Census:
    """Counts living tensors."""

    def __init__(self):
        self.references, self.most = [], 0

    def note(self, tensor):
        self.references.append(weakref.ref(tensor))
        self.most = max(self.most, self.now())
        return tensor

    def now(self):
        return sum(reference() is not None for reference in self.references)


def layers(census, count):
    """Functions whose results their successors save."""
    return [lambda x: census.note(x.sin())] * count


# -- memory ------------------------------------------------------------------------------------------------------------


def test_plainly_everything_is_kept(living, no_gc):
    x = torch.ones(3, requires_grad=True)
    out = x
    for layer in layers(living, 16):
        out = layer(out)
    assert living.now() == 16
    out.sum().backward()
    del out
    assert living.now() == 0


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_a_checkpoint_keeps_what_its_segments_are_given(living, no_gc, use_reentrant):
    x = torch.ones(3, requires_grad=True)
    out = checkpoint_sequential(layers(living, 16), 4, x, use_reentrant=use_reentrant)
    assert living.now() <= 3 + 4  # the results of three segments, and the last segment, which is not checkpointed
    living.most = 0
    out.sum().backward()
    assert living.most <= 12  # kept ones, and the segment that is computed again
    del out
    assert living.now() == 0


def test_recomputed_tensors_are_freed_though_the_graph_is_kept(living, no_gc):
    x = torch.ones(3, requires_grad=True)
    out = recorded(lambda x: layers(living, 1)[0](x.exp()).cos(), x)
    before = living.now()
    out.sum().backward(retain_graph=True)
    assert living.now() == before == 0


def test_a_read_outside_of_backward_keeps_nothing(living, no_gc):
    x = torch.ones(3, requires_grad=True)
    out = recorded(lambda x: living.note(living.note(x.sin()).cos()).exp(), x)
    seen = [out.grad_fn._saved_result for _ in range(3)]
    assert all(torch.equal(one, out) for one in seen)
    del seen
    assert living.now() == 0


# -- lifetimes ---------------------------------------------------------------------------------------------------------


class Handle:
    """Something to be kept alive."""


def handles_of(out):
    """A weak reference for each node of the graph of a tensor, to something that the node owns."""
    references, stack, seen = [], [out.grad_fn], set()
    while stack:
        node = stack.pop()
        if node is not None and node not in seen:
            seen.add(node)
            handle = Handle()
            node.metadata["handle"] = handle
            references.append(weakref.ref(handle))
            stack.extend(successor for successor, _ in node.next_functions)
    return references


def twice(function):
    return lambda x: recorded(lambda y: recorded(function, y), x)


def with_a_gradient(x):
    (grad,) = torch.autograd.grad(x.sin().exp(), x, create_graph=True)
    return x.cos() * grad


@pytest.mark.parametrize("backward", [True, False])
@pytest.mark.parametrize("function", [lambda x: x.sin().exp(), with_a_gradient], ids=["plain", "gradient inside"])
@pytest.mark.parametrize("wrap", [lambda f: functools.partial(recorded, f), twice], ids=["once", "twice"])
def test_graphs_die_no_gc(wrap, function, backward, no_gc):
    x = torch.tensor(0.5, requires_grad=True)
    out = wrap(function)(x)
    references = handles_of(out)
    if backward:
        out.backward(retain_graph=True)
    del out
    assert len(references) > 1
    assert [reference() for reference in references if reference() is not None] == []


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_the_function_and_its_arguments_go_with_the_graph(use_reentrant, no_gc):
    x, handle, y = torch.ones(2, requires_grad=True), Handle(), torch.ones(2)
    references = [weakref.ref(handle), weakref.ref(y)]
    out = checkpoint(lambda x, y, kept=handle: x.sin() * y, x, y, use_reentrant=use_reentrant)
    del handle, y
    assert None not in [reference() for reference in references]
    del out
    assert [reference() for reference in references] == [None, None]


def test_kept_results_go_with_the_graph_or_when_they_are_used(no_gc):
    references = []

    def policy(context, op, *args, **kwargs):
        references.append(weakref.ref(context.op_output))
        return True

    contexts = functools.partial(create_selective_checkpoint_contexts, policy)
    for backward in (False, True):
        references.clear()
        x = torch.ones(3, requires_grad=True)
        out = recorded(lambda x: x.cos().exp().sin(), x, context_fn=contexts)
        assert references[1]() is not None
        if backward:
            out.sum().backward(retain_graph=True)
        else:
            del out
        assert references[1]() is None


# -- the same gradients ------------------------------------------------------------------------------------------------


def network(x, w):
    x = F.dropout(torch.relu(x @ w), 0.3, True)
    x = F.layer_norm(x + F.dropout(x @ w, 0.5, True), (8,))
    return torch.softmax(x, -1) * torch.rand(4, 8)


@pytest.mark.once("a compiled program may differ in the last bit")
@pytest.mark.parametrize("policy", [[torch.ops.aten.mm.default], lambda *args, **kwargs: True], ids=["mm", "all"])
@pytest.mark.parametrize("how", ["recorded", "nested", "reentrant", "selective"])
def test_gradients_are_exactly_the_plain_ones(how, policy):
    ways = {
        "recorded": recorded,
        "nested": lambda f, *args: recorded(lambda *inner: recorded(f, *inner), *args),
        "reentrant": reentrant,
        "selective": functools.partial(
            recorded, context_fn=functools.partial(create_selective_checkpoint_contexts, policy)
        ),
    }
    accounts = []
    for call in (lambda f, *args: f(*args), ways[how]):
        torch.manual_seed(0)
        x, w = torch.randn(4, 8, requires_grad=True), torch.randn(8, 8, requires_grad=True)
        out = call(network, x, w)
        out.square().sum().backward()
        accounts.append([out, x.grad, w.grad, torch.rand(1)])
    for plain, checkpointed in zip(*accounts, strict=True):
        assert torch.equal(plain, checkpointed)


@pytest.mark.once("it puts a function in the place of a kernel")
@pytest.mark.parametrize("keep", [True, False])
def test_kept_results_are_not_computed_again(keep):
    """Where a result is kept, the operator's kernel does not run again; else it does, once."""
    ran, operator, x = [], TABLE["mm"], torch.eye(5, requires_grad=True)
    torch.execution.clear_caches()  # a product of other lengths may have been remembered as one of all lengths
    operator.calls.clear(), operator.kernels.clear()
    contexts = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default] if keep else [])
    out = recorded(lambda x: (x @ x).exp(), x, context_fn=contexts)
    (kernels,) = operator.kernels.values()
    operator.calls.clear()  # the second run's are made with the kernel that follows
    forward = kernels.forward
    kernels._forward = lambda *values: ran.append(1) or forward(*values)
    out.sum().backward()
    operator.calls.clear(), operator.kernels.clear()
    assert len(ran) == (0 if keep else 1)


@pytest.mark.parametrize("way", [recorded, reentrant])
def test_modes_are_restored_whatever_happens(way):
    def fail(x):
        x.sin()
        raise KeyError

    before = thread.modes, thread.saved_hooks, thread.interceptors
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(KeyError):
        way(fail, x)
    runs = iter([lambda x: x.sin().exp(), fail])
    out = way(lambda x: next(runs)(x), x)
    with pytest.raises(KeyError):
        out.sum().backward()
    assert (thread.modes, thread.saved_hooks, thread.interceptors) == before


def test_the_default_device_is_found_again():
    seen = []
    with torch.device("cpu"):
        x = torch.ones(2, requires_grad=True)
        out = recorded(lambda x: seen.append(torch.get_default_device()) or x.sin().exp(), x)
    out.sum().backward()
    assert seen == [torch.device("cpu")] * 2


# -- names -------------------------------------------------------------------------------------------------------------


def test_operators_of_our_own_have_a_namespace():
    assert sorted(OWN - set(TABLE)) == ["vmapped"]  # the name of any operator on a batch of examples
    assert str(identity_of(TABLE["shift"], (torch.ones(2),))) == "tapegrad.shift.default"


def test_functions_of_jax_have_a_name_too():
    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    seen, x = [], torch.zeros(2)
    with Mode():
        out = from_jax(jnp.sin)(x)
    assert (seen, out.tolist()) == (["tapegrad.sin.default"], [0.0, 0.0])


def test_names_are_copied_and_pickled_as_themselves():
    op = torch.ops.aten.add.Tensor
    assert pickle.loads(pickle.dumps(op)) is copy.deepcopy(op) is copy.copy(op) is op
    assert pickle.loads(pickle.dumps(op.overloadpacket)) is copy.deepcopy(op.overloadpacket) is op.overloadpacket


def test_a_name_without_a_function_says_so():
    with pytest.raises(NotImplementedError, match=r"aten.convolution names an operator.*no function here computes it"):
        torch.ops.aten.convolution.default(torch.ones(1))
