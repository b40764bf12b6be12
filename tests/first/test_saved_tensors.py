"""What is saved for backward, where PyTorch has no counterpart or does something else."""

import gc
import weakref

import pytest

import tapegrad as torch
from tapegrad._src.dispatch.codegen.runner import source_of
from tapegrad._src.dispatch.nodes.saved_tensor import Saves
from tapegrad._src.tape.modes import thread


class Tag:
    """Something to watch."""


@pytest.fixture
def x():
    return torch.tensor([1.0, 2.0], requires_grad=True)


def identity(t):
    return t


# -- what is off costs nothing -----------------------------------------------------------------------------------------


def test_a_plain_node_keeps_a_tuple(x):
    out = x * x
    assert out.grad_fn.saved == (x, x)
    assert "save_" not in source_of(out.grad_fn.plan)


def test_hooks_are_in_the_plan(x):
    with torch.autograd.graph.saved_tensors_hooks(identity, identity):
        hooked = x * x
    assert isinstance(hooked.grad_fn.saved, Saves)
    assert "save_inputs" in source_of(hooked.grad_fn.plan)
    assert hooked.grad_fn.plan.kernels is (x * x).grad_fn.plan.kernels


def test_only_the_node_that_is_asked_has_saved_tensors(x):
    first, second = x * x, x * x
    assert first.grad_fn._raw_saved_self is first.grad_fn._raw_saved_self
    assert type(first.grad_fn.saved) is Saves
    assert type(second.grad_fn.saved) is tuple


def test_looking_does_not_change_what_is_computed(x):
    out = x.exp() * x
    for node in (out.grad_fn, out.grad_fn.next_functions[0][0]):
        [getattr(node, name) for name in dir(node)]
    out.sum().backward()
    assert torch.allclose(x.grad, x.exp() * (x + 1))


# -- contexts ----------------------------------------------------------------------------------------------------------


def test_pop_without_push():
    with pytest.raises(RuntimeError, match="no saved tensors hooks to pop"):
        torch._C._autograd._pop_saved_tensors_default_hooks()
    assert thread.saved_hooks == ()


def test_modes_and_stack_go_together_when_a_block_leaves_hooks_behind():
    context = torch.autograd.graph.saved_tensors_hooks(identity, identity)
    x = torch.tensor([1.0], requires_grad=True)
    x.register_hook(lambda grad: context.__enter__())
    (x * 2).sum().backward()
    assert thread.saved_hooks == ()
    assert not thread.modes.saved_hooks


def test_save_on_cpu_accepts_what_it_does_not_need(x):
    with torch.autograd.graph.save_on_cpu(pin_memory=True, device_type="elsewhere"):
        out = x * x
    assert out.grad_fn._saved_self.tolist() == [1.0, 2.0]


# -- cycles: PyTorch leaks these ---------------------------------------------------------------------------------------


def forget(make):
    """A weak reference to the tag of a graph that only a cycle keeps."""
    tag = Tag()
    make(tag)
    return weakref.ref(tag)


@pytest.mark.parametrize("through", ["hook", "metadata", "saved"])
def test_cycles_are_collected(x, through):
    def make(tag):
        y = x.exp()
        y.grad_fn.metadata["tag"] = tag
        if through == "hook":
            y.register_hook(lambda grad: (grad, y)[0])
        elif through == "metadata":
            y.grad_fn.metadata["self"] = y
        else:
            with torch.autograd.graph.saved_tensors_hooks(identity, identity):
                y.sin().exp()

    reference = forget(make)
    gc.collect()
    assert reference() is None


def test_a_pack_hook_that_returns_its_output_makes_a_cycle_that_is_collected(x):
    tag = Tag()
    reference = weakref.ref(tag)
    with torch.autograd.graph.saved_tensors_hooks(identity, identity):
        y = x.exp()
    y.grad_fn.metadata["tag"] = tag
    del y, tag
    gc.collect()
    assert reference() is None


# -- mutation ----------------------------------------------------------------------------------------------------------


def test_parts_of_what_was_saved_are_written_to(x):
    """PyTorch tells memory by where it begins: of a write to a part that begins elsewhere it doesn't learn."""
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = x.clone()
        left, right = y[:1], y[1:]
        out = (y**2).sum() + (left * right).sum()
        right.zero_()
        left.exp_()
        out.backward()
    assert x.grad.tolist() == [2.0 + 2.0, 4.0 + 1.0]


def test_a_refused_nesting_leaves_the_outer_context_usable(x):
    """PyTorch's outer context refuses backward from here on."""
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        out = (x**2).sum()
        with pytest.raises(RuntimeError, match="cannot be nested"):
            torch.autograd.graph.allow_mutation_on_saved_tensors().__enter__()
        out.backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_handles_are_not_confused_when_memory_is_used_again(x):
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        outs = []
        for number in range(50):
            y = x.clone()
            outs.append((y * float(number) * y).sum())
            with torch.no_grad():
                y.zero_()
            del y
        total = sum(outs)
        total.backward()
    assert x.grad.tolist() == [2.0 * sum(range(50)), 4.0 * sum(range(50))]


def test_a_write_to_a_result_that_was_written_in_place(x):
    """What an in-place operator has saved is its result, which the next write would change: it is cloned."""
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        y = x.clone().exp_()
        y.zero_()
        assert len(context.cloned) == 1
        y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


# -- the unpacked output -----------------------------------------------------------------------------------------------


def test_a_write_to_an_unpacked_output_is_noticed(x):
    y = x.exp()
    with torch.no_grad():
        y.grad_fn._saved_result.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_recorded_backward_notices_a_write_to_a_saved_output(x):
    y = x.exp()
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    with torch.no_grad():
        y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        g.sum().backward()
