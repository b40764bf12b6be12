"""Custom functions: what has no counterpart in PyTorch's behaviour, or is about our own machinery."""

import copy
import gc
import pickle
import weakref

import jax
import pytest

import tapegrad as torch
from tapegrad._src.execution.data.devices import device
from tapegrad._src.tape.modes import thread, watching
from tapegrad._src.tape.node import Node, function_of, name_of
from tapegrad._src.tensor.tensor import describe, value_of, wrap
from tapegrad.autograd.function import Function, once_differentiable
from tapegrad.autograd.function_node import BackwardCFunction, broadcasts_to, fitted


class Double(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class Exp(Function):
    """Saves its output."""

    @staticmethod
    def forward(ctx, x):
        out = x.exp()
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[1]


class Skip(Function):
    """Takes two inputs, so that a graph of it has two paths everywhere."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x.detach()

    @staticmethod
    def backward(ctx, grad):
        return grad / 2, grad / 2


class Alias(Function):
    """Returns its input as it is."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


CHAINS = {
    "a chain": lambda x: Alias.apply(x),
    "with skip connections": lambda x: Skip.apply(x, x),
}


@pytest.mark.parametrize("step", CHAINS.values(), ids=CHAINS.keys())
@pytest.mark.parametrize("backward", [False, True], ids=["", "after backward"])
def test_long_chains_are_freed_without_recursion_or_gc(step, backward, no_gc):
    x = torch.ones(1, requires_grad=True)
    y = step(x)
    first = weakref.ref(y.grad_fn)
    for _ in range(5_000 if backward else 30_000):
        y = step(y)
    if backward:
        y.backward(retain_graph=True)
        assert x.grad.item() > 0
    assert first() is not None
    del y
    assert first() is None


def test_saving_an_output_makes_no_cycle(no_gc):
    y = Exp.apply(torch.ones(3, requires_grad=True))
    handle = y.grad_fn.saved_tensors[1]
    assert handle is not y and handle.grad_fn is y.grad_fn
    node = weakref.ref(y.grad_fn)
    del y, handle
    assert node() is None


def test_a_function_keeps_no_arguments(no_gc):
    class Token:
        pass

    class Takes(Function):
        @staticmethod
        def forward(ctx, x, token):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad, None

    x, token = torch.ones(3), Token()
    tensor, other = weakref.ref(x), weakref.ref(token)
    y = Takes.apply(torch.ones(3, requires_grad=True), token)
    z = Takes.apply(x, None)
    del x, token
    assert tensor() is None and other() is None
    assert y.grad_fn.needs_input_grad == (True, False) and z.grad_fn is None


def test_function_classes_can_be_collected():
    class Local(Function):
        @staticmethod
        def forward(x, k=2):
            return x * k

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

    Local.apply(torch.ones(3, requires_grad=True))
    Local.apply(torch.ones(3), k=3)
    reference = weakref.ref(Local)
    del Local
    gc.collect()
    assert reference() is None


def test_forward_may_be_replaced():
    class Replaced(Function):
        @staticmethod
        def forward(x, k=2):
            return x * k

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.k = inputs[1:]

    y = Replaced.apply(torch.ones(1, requires_grad=True))
    Replaced.forward = staticmethod(lambda x, j=5, l=7: x * j)
    z = Replaced.apply(torch.ones(1, requires_grad=True))
    assert (y.grad_fn.k, z.grad_fn.k, z.item()) == ((2,), (5, 7), 5)


def test_the_node_belongs_to_the_tape():
    y = Double.apply(torch.ones(3, requires_grad=True))
    assert isinstance(y.grad_fn, Node) and isinstance(y.grad_fn, BackwardCFunction)
    assert Double._backward_cls.__name__ == y.grad_fn.name() == "DoubleBackward"
    assert [node.name() for node, _ in y.grad_fn.next_functions] == ["torch::autograd::AccumulateGrad"]
    assert repr(y.grad_fn).startswith("<torch.autograd.function.DoubleBackward object at ")


def test_names_in_errors_are_the_nodes_own():
    y = Double.apply(torch.ones(3, requires_grad=True))
    y.grad_fn.name = "something else"
    assert (name_of(y.grad_fn), function_of(y.grad_fn)) == ("DoubleBackward", "Double")
    assert function_of((y * 2).grad_fn) == "Mul"


def test_ctx_attributes_do_not_stand_in_the_way():
    """Whatever an author calls his attributes, the machinery doesn't use them."""

    class Busy(Function):
        @staticmethod
        def forward(ctx, x):
            for name in ("saved", "plan", "inputs", "outputs", "grads", "checked", "constant", "written", "hooks"):
                setattr(ctx, name, f"the author's {name}")
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2 if ctx.constant and ctx.saved_tensors else None

    x = torch.ones(3, requires_grad=True)
    Busy.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_watchers_see_the_node():
    made = []
    x = torch.ones(3, requires_grad=True)
    with watching(node_watcher=made.append):
        y = Double.apply(x)
        Double.apply(x.detach())
    assert next(node for node in made if isinstance(node, BackwardCFunction)) is y.grad_fn


def test_interceptors_see_what_forward_and_backward_do():
    seen = []

    def note(op, args, settings):
        seen.append((op.name, thread.modes.grad))
        return op(*args, **settings)

    x = torch.ones(3, requires_grad=True)
    with watching(interceptor=note):
        y = Double.apply(x).sum()
        y.backward()
    assert seen.count(("mul", False)) == 2 and ("sum_all", True) in seen


def test_tracing():
    """JAX can compile a forward and backward through custom functions: all arithmetic passes the backend interface."""

    def gradient(value):
        x = wrap(value, describe(value, on=device("cpu"))).requires_grad_()
        Exp.apply(Double.apply(x)).sum().backward()
        return value_of(x.grad)

    value = value_of(torch.tensor([0.0, 0.5]))
    assert jax.jit(gradient)(value).tolist() == pytest.approx([2.0, 2 * 2.718281828])


def test_gradients_on_another_device_are_refused():
    node = Double.apply(torch.ones(3, requires_grad=True)).grad_fn
    spec = torch.ones(3)._spec.replace(device=device("cuda:0"))
    message = "Function DoubleBackward returned an invalid gradient at index 0 - expected device cuda:0 but got cpu"
    with pytest.raises(RuntimeError, match=message):
        fitted(node, torch.ones(3), spec, 0)


@pytest.mark.parametrize(
    ("shape", "other", "fits"),
    [((3,), (2, 3), True), ((1, 3), (2, 3), True), ((2,), (3,), False), ((2, 3), (3,), False), ((), (5,), True),
     ((0,), (0,), True), ((1,), (0,), True), ((0,), (1,), False)],
)  # fmt: skip
def test_which_shapes_broadcast(shape, other, fits):
    assert broadcasts_to(shape, other) is fits


def test_nodes_are_not_pickled_but_functions_are():
    assert pickle.loads(pickle.dumps(Double)) is Double and copy.deepcopy({"f": Double})["f"] is Double
    with pytest.raises(TypeError, match="cannot pickle 'DoubleBackward' object"):
        pickle.dumps(Double.apply(torch.ones(3, requires_grad=True)).grad_fn)


def test_the_picture_of_a_custom_function():
    class Several(Exp):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x[:2])
            return x * 2, None, x > 0

    y, _, _ = Several.apply(torch.ones(3, requires_grad=True))
    drawn = y.graph().svg()
    assert "SeveralBackward" in drawn and "saves f32[2], 8 B" in drawn and "f32[3]" in drawn


def test_once_differentiable_of_nothing():
    assert once_differentiable(lambda ctx, grad: None)(None, torch.ones(1)) is None
