"""Memory that NumPy sees, beyond what PyTorch does with it: Note [Memory that NumPy sees] in ``tensor/shared.py``.

``tests/parity/views/test_shared_memory.py`` compares who sees which write.
"""

import gc
import threading
import weakref

import jax
import numpy as np
import pytest
from instants import at_each_instant

import tapegrad as torch
from tapegrad._src.execution.data.values import DeferredValue
from tapegrad._src.tensor.storage import Storage
from tapegrad._src.tensor.tensor import value_of
from tapegrad.compiler.capture.capture import DataDependentError
from tapegrad.interop import to_jax

once = pytest.mark.once("does what it does at once, or chooses for itself")


def is_shared(tensor):
    return tensor._storage is not None and tensor._storage.shared


def shared(length=3):
    """A tensor, and an array on its memory."""
    array = np.arange(float(length))
    return torch.from_numpy(array), array


# -- what autograd saves -----------------------------------------------------------------------------------------------


def test_what_was_saved_of_shared_memory_stays_what_it_was():
    x, array = shared()
    w = torch.ones(3, dtype=torch.float64, requires_grad=True)
    losses = []
    for step in range(4):
        array[:] = step
        losses.append((w * x).sum())
    sum(losses).backward()
    assert w.grad.tolist() == [6, 6, 6]


def test_a_saved_leaf_stays_what_it_was_and_takes_its_gradient():
    x, array = shared()
    x.requires_grad_()
    y = (x * x * x[1:].sum()).sum()
    array[:] = 100
    y.backward()
    assert x.grad.tolist() == [0, 6 + 5, 12 + 5]
    assert x.tolist() == [100, 100, 100]


def test_a_saved_output_stays_what_it_was_also_when_the_array_is_gone():
    for keep in (True, False):
        w = torch.zeros(2, requires_grad=True)
        y = w.exp()
        array = y.detach().numpy()
        array[:] = 7
        if not keep:
            del array
        assert y.tolist() == [7, 7]
        y.sum().backward()
        assert w.grad.tolist() == [1, 1]


def test_second_derivatives_and_custom_functions_keep_what_was_saved():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * grad * x

    x, array = shared()
    x.requires_grad_()
    array[:] = 3
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    y = Square.apply(x).sum()
    array[:] = 50
    assert torch.autograd.grad(first.sum(), x)[0].tolist() == [18, 18, 18]
    assert torch.autograd.grad(y, x)[0].tolist() == [6, 6, 6]


def test_hooks_on_saved_tensors_are_given_what_stays():
    x, array = shared()
    x.requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda kept: kept):
        y = (x * x).sum()
    array[:] = 50
    y.backward()
    assert x.grad.tolist() == [0, 2, 4]


@pytest.mark.parametrize("write", [lambda x: x.add_(1), lambda x: x[1:].mul_(2), lambda x: x.__setitem__(0, 5.0)])
def test_a_write_through_a_tensor_is_found_out(write):
    x, _ = shared()
    w = torch.ones(3, dtype=torch.float64, requires_grad=True)
    y = (w * x).sum()
    write(x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation.*is at version 1; expected version 0"):
        y.backward()


def test_the_mode_in_which_saved_tensors_survive_writes():
    x, array = shared()
    w = torch.ones(3, dtype=torch.float64, requires_grad=True)
    with torch.autograd.graph.saved_tensors_survive_mutation():
        y = (w * x).sum()
    x.add_(1)
    array += 1
    y.backward()
    assert w.grad.tolist() == [0, 1, 2]


# -- sharing ends ------------------------------------------------------------------------------------------------------


def test_memory_is_shared_no_longer_than_somebody_holds_it():
    x = torch.ones(3) + 1
    array = x.numpy()
    part = array[1:]
    del array
    x.sum().item()
    assert is_shared(x)
    part[0] = 5
    del part
    assert x.tolist() == [2, 5, 2]
    assert not is_shared(x) and type(x._storage) is Storage


@pytest.mark.parametrize("holder", [memoryview, lambda array: array.T, lambda array: np.from_dlpack(array), iter])
def test_whatever_refers_to_the_array_keeps_it_shared(holder):
    x = torch.ones(3) + 1
    held = holder(x.numpy())
    x.sum().item()
    assert is_shared(x)
    del held
    gc.collect()
    x.sum().item()
    assert not is_shared(x)


def test_an_array_that_was_given_away_becomes_the_value():
    array = np.ones(3)
    address = array.ctypes.data
    x = torch.from_numpy(array)
    del array
    assert x.sum().item() == 3
    assert value_of(x).ctypes.data == address
    assert x._spec is torch.ones(3, dtype=torch.float64)._spec


def test_a_tensor_that_was_looked_at_is_plain_again():
    x = torch.ones(3)
    spec = x._spec
    x.numpy()[1] = 5
    assert (x + 0).tolist() == [1, 5, 1]
    assert x._spec is spec and x._version == 0
    x.add_(1)
    y = x[1:]
    x.numpy()
    assert (x.tolist(), y.tolist(), x._version) == ([2, 6, 2], [6, 2], 1)


def test_views_read_again_when_sharing_has_ended():
    x = torch.arange(4.0)
    y, z = x[1:], x.view(2, 2)
    x.numpy()[:] = 7
    assert (x.tolist(), y.tolist(), z.tolist()) == ([7] * 4, [7] * 3, [[7, 7], [7, 7]])
    assert not is_shared(x)
    y.mul_(2)
    assert (x.tolist(), z.tolist()) == ([7, 14, 14, 14], [[7, 14], [14, 14]])


def test_memory_is_not_taken_back_from_another_thread():
    x = torch.ones(3) + 1
    x.numpy()
    found, go, done = [], threading.Event(), threading.Event()

    def other():
        found.append((torch.ones(2) + 1).tolist())
        done.set()
        go.wait()

    thread = threading.Thread(target=other)
    thread.start()
    done.wait()
    x.sum().item()
    found.append(is_shared(x))
    go.set()
    thread.join()
    x.sum().item()
    assert found == [[2, 2], True] and not is_shared(x)


def test_what_others_hold_is_not_taken():
    """A value that a node or another tensor has, too, is copied before NumPy may write to it."""
    w = torch.ones(3, requires_grad=True)
    y = w.exp()
    twin = torch.stack([y])[0].detach()
    seed = torch.ones_like(y)
    y.detach().numpy()[:] = 9
    seed.numpy()[:] = 9
    assert twin.tolist() == pytest.approx([np.e] * 3)
    y.backward(torch.ones(3))
    assert w.grad.tolist() == pytest.approx([np.e] * 3)
    w.sum().backward()
    assert w.grad.tolist() == pytest.approx([np.e + 1] * 3)


def test_the_memory_is_freed_with_the_last_who_holds_it():
    x = torch.ones(3) + 1
    array = x.numpy()
    base = weakref.ref(array.base)
    del x
    assert array.tolist() == [2, 2, 2]
    del array
    gc.collect()
    assert base() is None


# -- what it costs others ----------------------------------------------------------------------------------------------


@once
def test_tensors_on_other_memory_stay_plain():
    x, _ = shared()
    y = x * 2
    z = torch.ones(3, dtype=torch.float64)
    assert y._spec is z._spec and (y + z)._spec is z._spec and y._storage is None


@once
def test_views_and_handles_read_nothing(monkeypatch):
    x, array = shared(1000)
    reads = []
    snapshot = type(x._storage.memory).snapshot
    monkeypatch.setattr(type(x._storage.memory), "snapshot", lambda self: reads.append(1) or snapshot(self))
    x[3], x[1:9], x.view(10, 100).t(), x.detach(), x[::2]
    x[5] = 1.0
    x[6] = x[7]
    x[10:20].add_(1)
    assert x[torch.tensor([5, 6])].tolist() == [1, 7]
    assert x[3:6].sum().item() == 3 + 4 + 1
    x.sum().item(), (x @ x).item(), x.max().item()
    assert not reads and array[6] == 7


@once
@pytest.mark.parametrize("tiers", ["auto", "host", "xla"])
def test_no_result_lies_in_shared_memory(tiers):
    with torch.execution.tiers(tiers):
        x, array = shared(6)
        results = [x.clone(), x.reshape(2, 3).clone(), x + 0, x.view(2, 3).t().contiguous(), x[1:].clone(), x.flip(0),
                   x.conj().resolve_conj().clone(), torch.cat([x]), x.to(torch.float64, copy=True), x.real.clone(),
                   torch.broadcast_to(x, (2, 6)).clone(), x.abs(), x.squeeze().clone(), x.unbind()[3].clone(),
                   x.relu(), x.contiguous().clone(), torch.atleast_2d(x).clone()]  # fmt: skip
        before = [result.tolist() for result in results]
        array[:] = -1
        assert [result.tolist() for result in results] == before


@once
def test_a_snapshot_is_kept_while_nothing_changes():
    x, array = shared()
    first = x._storage.value
    assert x._storage.value is first
    array[0] = np.nan
    second = x._storage.value
    assert second is not first and x._storage.value is second
    array[0], array[1] = 0.0, 1.0
    third = x._storage.value
    array[0] = -0.0
    assert x._storage.value is not third


# -- programs ----------------------------------------------------------------------------------------------------------


@once
def test_deferred_programs_read_what_is_there_when_they_are_recorded_and_write_at_once():
    x, array = shared()
    with torch.deferred():
        y = x * 2
        array[:] = 10
        z = x * 2
        assert type(y._value) is DeferredValue
        x.add_(y)
        assert array.tolist() == [10, 12, 14]
        array[:] = 0
        assert (y.tolist(), z.tolist(), x.tolist()) == ([0, 2, 4], [20, 20, 20], [0, 0, 0])


def step_on(x, w):
    def step():
        loss = ((w * x) ** 2).sum()
        loss.backward()
        with torch.no_grad():
            w.sub_(w.grad, alpha=0.1)
        w.grad = None
        return loss

    return step


@once
def test_compiled_steps_read_shared_memory_at_each_call():
    x, array = shared()
    w = torch.ones(3, dtype=torch.float64, requires_grad=True)
    v = torch.ones(3, dtype=torch.float64, requires_grad=True)
    compiled, plain = torch.compile(step_on(x, w)), step_on(x, v)
    for number in range(8):
        array[:] = number
        assert compiled().item() == pytest.approx(plain().item())
    assert compiled.replayed >= 4, compiled.report()
    assert w.tolist() == pytest.approx(v.tolist())


@once
def test_a_compiled_step_writes_to_memory_that_numpy_sees():
    x, _ = shared()
    w = torch.ones(3, dtype=torch.float64, requires_grad=True)
    v = torch.ones(3, dtype=torch.float64, requires_grad=True)
    ours, theirs = w.detach().numpy(), v.detach().numpy()
    compiled, plain = torch.compile(step_on(x, w)), step_on(x, v)
    for number in range(8):
        ours[1] += number
        theirs[1] += number
        assert compiled().item() == pytest.approx(plain().item())
        assert ours.tolist() == pytest.approx(theirs.tolist()) and w.tolist() == ours.tolist()
        assert w._version == v._version and w.data_ptr() == ours.ctypes.data
    assert compiled.replayed >= 4, compiled.report()


@once
@pytest.mark.parametrize("write", [lambda x: x[1:].mul_(3), lambda x: x.__setitem__(0, 9.0), lambda x: x.add_(x)])
def test_compiled_steps_write_to_parts_of_shared_memory(write):
    (x, seen), (y, expected) = shared(), shared()

    @torch.compile
    def compiled():
        write(x)

    for number in range(6):
        seen[2] = expected[2] = number
        compiled()
        write(y)
        assert seen.tolist() == expected.tolist() and x._version == y._version
    assert compiled.replayed >= 3, compiled.report()


@once
def test_a_compiled_step_that_looks_at_the_array_itself_sees_what_it_has_written():
    x, array = shared()

    def step():
        x.add_(1)
        seen.append(float(array[0]))
        x.mul_(2)

    seen = []
    compiled = torch.compile(step)
    for _ in range(5):
        compiled()
    assert seen == [1, 3, 7, 15, 31] and array[0] == 62


@once
def test_a_compiled_step_in_which_elements_are_read_lets_numpy_see_what_was_written():
    x, array = shared()
    found = []

    def step():
        x.add_(1)
        found.append((x[0].item(), x.numpy().tolist()))
        x.mul_(2)
        return x.sum()

    compiled = torch.compile(step)
    for _ in range(4):
        compiled()
    assert found == [(1, [1, 2, 3]), (3, [3, 5, 7]), (7, [7, 11, 15]), (15, [15, 23, 31])]
    assert array.tolist() == [30, 46, 62] == x.tolist() and is_shared(x)


@once
def test_a_compiled_step_that_fails_or_is_refused_leaves_shared_memory_connected():
    x, array = shared()

    def fails():
        x.add_(1)
        raise ValueError

    def reads():
        x.add_(1)
        return x.sum().item()

    for step, error in ((fails, ValueError), (reads, DataDependentError)):
        with pytest.raises(error):
            torch.compile(step, fullgraph=True)()
        assert array[0] == 1 == x[0].item() and is_shared(x)
        array[1] = 5
        assert x[1].item() == 5


@once
def test_an_interrupt_of_a_compiled_step_leaves_shared_memory_connected():
    def make():
        x, array = shared()
        compiled = torch.compile(lambda: x.add_(1).mul_(2))

        def check():
            assert array.tolist() == x.tolist()
            array[1] = 50
            assert x[1].item() == 50

        return compiled, check

    within = ("put", "write", "withhold", "_record", "leave", "replace", "give_back")
    assert at_each_instant(make, within=within, every=2) > 9


@once
def test_looking_at_parameters_does_not_make_a_step_run_its_python():
    x = torch.ones(3, dtype=torch.float64)
    w = torch.ones(3, dtype=torch.float64, requires_grad=True)
    compiled = torch.compile(step_on(x, w))
    for _ in range(12):
        compiled()
        assert w.detach().numpy().copy().shape == (3,)
    assert compiled.replayed >= 6, compiled.report()


@once
def test_memory_that_a_step_writes_to_is_shared_later():
    x = torch.ones(3, dtype=torch.float64)
    w = torch.ones(3, dtype=torch.float64, requires_grad=True)
    compiled = torch.compile(step_on(x, w))
    for _ in range(6):
        compiled()
    array, before = w.detach().numpy(), w.tolist()
    for _ in range(6):
        compiled()
        assert array.tolist() == w.tolist()
    assert array.tolist() != before


@once
def test_a_function_that_jax_traces_can_not_write_to_shared_memory():
    x, array = shared()

    def add(y):
        x.add_(y)
        return x * 2

    jitted = to_jax(add)
    with pytest.raises(RuntimeError, match="can't write to memory that is shared with NumPy"):
        jax.jit(jitted)(torch.ones(3).jax())
    assert (array.tolist(), x._version) == ([0, 1, 2], 0)


@once
def test_a_function_that_jax_traces_reads_shared_memory_once():
    x, _ = shared()
    jitted = jax.jit(to_jax(lambda y: x * y))
    assert np.asarray(jitted(torch.ones(3, dtype=torch.float64).jax())).tolist() == [0, 1, 2]


# -- failures and interrupts -------------------------------------------------------------------------------------------


def test_a_failed_write_changes_nothing():
    x, array = shared()
    for write in (lambda: x.add_(torch.ones(4)), lambda: x.__setitem__(5, 1.0), lambda: x.resize_(100),
                  lambda: x.copy_(torch.ones(2, 2)), lambda: x.untyped_storage().resize_(100)):  # fmt: skip
        with pytest.raises((RuntimeError, IndexError)):
            write()
        assert (array.tolist(), x.tolist(), x._version, tuple(x.shape)) == ([0, 1, 2], [0, 1, 2], 0, (3,))
    with torch.inference_mode():
        y = torch.from_numpy(array)
    for write in (lambda: y.add_(1), lambda: y[1:].add_(1), lambda: y.__setitem__(0, 5.0)):
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
            write()
    assert array.tolist() == [0, 1, 2]


WRITES = {
    "all": lambda x: x.add_(1),
    "a part": lambda x: x[1:].mul_(2),
    "an element": lambda x: x.__setitem__(0, 5.0),
}


@once
@pytest.mark.parametrize("write", WRITES)
def test_a_write_that_is_interrupted_has_happened_or_not(write):
    y, after = shared()
    WRITES[write](y)

    def make():
        x, array = shared()

        def check():
            happened = x._version == 1
            assert array.tolist() == (after.tolist() if happened else [0, 1, 2])
            assert x.tolist() == array.tolist()

        return lambda: WRITES[write](x), check

    assert at_each_instant(make, within=("write", "put", "replace", "value", "replace_part", "_let_go", "put_part")) > 3


@once
def test_an_interrupt_while_memory_becomes_shared_or_ceases_to_be():
    def make():
        x = torch.ones(3) + 1

        def work():
            x.numpy()[0] = 5
            x.sum()

        def check():
            x.numpy()[1] = 7
            assert x.tolist()[1:] == [7, 2] and x.tolist()[0] in (2, 5)
            x.add_(1)
            assert x.tolist()[1:] == [8, 3]

        return work, check

    assert at_each_instant(make) > 10


@once
def test_threads_write_to_parts_of_shared_memory():
    x, array = shared(400)
    array[:] = 0

    def add(start):
        for _ in range(20):
            x[start : start + 100].add_(1)

    threads = [threading.Thread(target=add, args=(start,)) for start in range(0, 400, 100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert array.tolist() == [20] * 400


# -- transforms, and what is copied ------------------------------------------------------------------------------------


def test_transforms_read_shared_memory_and_share_none():
    x, array = shared()
    assert torch.func.grad(lambda y: (y * y).sum())(x).tolist() == [0, 2, 4]
    assert torch.func.vmap(lambda y: y * 2)(x).tolist() == [0, 2, 4]
    array[:] = 1
    assert torch.func.grad(lambda y: (y * x).sum())(x).tolist() == [1, 1, 1]

    def inside(y):
        made = torch.from_numpy(array)
        made.add_(1)
        return (made * y).sum()

    assert torch.func.grad(inside)(x).tolist() == [2, 2, 2]
    assert array.tolist() == [1, 1, 1]


def test_arrays_of_jax_are_copied_without_a_word():
    given = jax.numpy.ones(3)
    x, y = torch.as_tensor(given), torch.asarray(given)
    x.add_(1)
    y.add_(2)
    assert (x.tolist(), y.tolist(), given.tolist()) == ([2, 2, 2], [3, 3, 3], [1, 1, 1])


def test_comparing_with_an_array_that_can_not_be_written_to_warns_of_nothing():
    array = np.arange(3.0)
    array.flags.writeable = False
    assert (torch.tensor([0.0, 1.0, 5.0]) == array).tolist() == [True, True, False]


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable:UserWarning")
def test_what_can_not_be_written_to_is_copied():
    array = np.arange(3.0)
    array.flags.writeable = False
    x = torch.as_tensor(array)
    x.add_(1)
    assert (x.tolist(), array.tolist()) == ([1, 2, 3], [0, 1, 2])
    assert not is_shared(x)
