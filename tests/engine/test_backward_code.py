"""What a node does in backward is written for its plan: Note [Appliers are written]."""

import pytest
from leaves import leaf

import tapegrad as torch
from tapegrad._src.dispatch.codegen.backward import source_of

pytestmark = pytest.mark.once("the plans are those of calls that are computed at once")


def source(tensor):
    return [line.strip() for line in source_of(tensor.grad_fn.plan).splitlines()]


def test_an_applier_is_straight_line_code():
    assert source(leaf(1.0, 2.0) * torch.ones(2)) == [
        "def apply(node, grads, saved):",
        "grad0, = grads",
        "if grad0 is None:",
        "return some(node, grads, saved)",
        "x0, = saved",
        "value0 = x0._value if x0._spec is spec0 else node._checked_value(x0, 0)",
        "if thread.modes.deferred:",
        "return dispatcher(grad0, value0)",
        "try:",
        "return backward(grad0, value0)",
        "except TypeError:",
        "return dispatcher(grad0, value0)",
    ]


def test_only_outputs_that_were_saved_are_looked_after():
    assert "if grad0 is None or node.output_storages is not None:" in source(leaf(1.0, 2.0).exp())
    assert "node.output_storages" not in source_of(leaf(1.0, 2.0).sin().grad_fn.plan)


def test_of_what_had_been_written_to_the_version_is_compared():
    x = leaf(1.0, 2.0)
    c = torch.ones(2)
    c += 1
    y = x * c
    same = "x0._spec is spec0 and (x0._counter or x0._storage.counter).version == node.versions[0]"
    assert f"value0 = x0._storage.value if {same} else node._checked_value(x0, 0)" in source(y)
    c += 1
    with pytest.raises(RuntimeError, match="is at version 2; expected version 1 instead"):
        y.sum().backward()


def test_gradients_that_pass_unchanged_cost_no_kernel():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    z = x + y
    assert source(z)[-1] == "return (grad0, grad0, )"
    assert source(x + torch.ones(2))[-1] == "return (grad0, None, )"
    for other in (x + leaf(1.0), x + leaf(1.0).double(), x - y):  # summed, cast, negated
        assert source(other)[-1] == "return dispatcher(grad0)"
    seed = torch.ones(2)
    z.backward(seed)
    x.grad.add_(1)
    assert (x.grad.tolist(), y.grad.tolist(), seed.tolist()) == ([2, 2], [1, 1], [1, 1])
    z.backward(seed * 2)  # nothing had been saved
    assert (x.grad.tolist(), y.grad.tolist()) == ([4, 4], [3, 3])


def test_an_output_without_a_gradient():
    x = leaf(3.0, 1.0)
    values, _ = x.sort()
    y, z = torch.frexp(x)[0], values.unbind()[1]
    (y.sum() * 0 + z).backward()
    assert x.grad.tolist() == [1, 0]


def test_a_node_is_freed_after_its_applier_has_run():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    assert x.grad.tolist() == [2, 4]


def test_an_error_of_a_kernel_reaches_the_user_once(monkeypatch):
    x = leaf(1.0, 2.0)
    y = x.sinh()
    calls = []

    def broken(values, *_):
        calls.append(values)
        raise TypeError("no such thing")

    monkeypatch.setattr(type(y.grad_fn.plan), "gradients", broken)
    with pytest.raises(TypeError, match="^no such thing"):
        y.sum().backward()
    assert calls


def test_graphs_and_calls_in_different_modes():
    def gradient(recorded, run):
        torch.set_execution(recorded)
        x = leaf(1.0, 2.0)
        loss = ((x * (torch.ones(2) * 2)).exp() * x).sum()
        torch.set_execution(run)
        loss.backward()
        torch.set_execution("immediate")
        return x.grad.tolist()

    expected = gradient("immediate", "immediate")
    for recorded, run in (("immediate", "deferred"), ("deferred", "immediate"), ("deferred", "deferred")):
        assert gradient(recorded, run) == pytest.approx(expected)
