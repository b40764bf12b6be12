"""Memory that tensors share with NumPy and with other libraries, against PyTorch: who sees which write, and when.

See Note [Memory that NumPy sees] in ``tensor/shared.py``. Two things differ on purpose, and are tested in
``tests/views/test_shared_memory.py``: what autograd has saved of shared memory stays what it was, and what can't be
written to is copied.
"""

import itertools

import numpy as np
import pytest
import torch as pytorch
from harness import Programs, agree, warned
from transcripts import same_transcript

import tapegrad
import tapegrad.utils.dlpack

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")]

NUMBERS = np.arange(6.0, dtype="float32").reshape(2, 3)


# -- sources: a tensor of shape (2, 3) and an array that shows the same ------------------------------------------------


def given(torch):
    a = NUMBERS.copy()
    return torch.from_numpy(a), a


def given_with_gaps(torch):
    a = np.zeros((4, 8), "float32")[1:3, 2::2]
    a[:] = NUMBERS
    return torch.from_numpy(a), a


def given_by_columns(torch):
    a = np.asfortranarray(NUMBERS)
    return torch.from_numpy(a), a


def as_a_tensor(torch):
    a = NUMBERS.copy()
    return torch.as_tensor(a), a


def as_an_array(torch):
    a = NUMBERS.copy()
    return torch.asarray(a, dtype=torch.float32), a


def of_a_buffer(torch):
    memory = bytearray(NUMBERS.tobytes())
    return torch.frombuffer(memory, dtype=torch.float32).view(2, 3), np.frombuffer(memory, "float32").reshape(2, 3)


def taken(torch):
    x = torch.arange(6.0).view(2, 3)
    return x, x.numpy()


def taken_of_a_result(torch):
    x = torch.arange(6.0).reshape(2, 3) + 0
    return x, x.numpy()


def taken_of_what_was_written(torch):
    x = torch.zeros(2, 3)
    x.copy_(torch.arange(6.0).reshape(2, 3))
    x.mul_(1)
    return x, np.asarray(x)


def taken_of_a_transposed(torch):
    x = torch.arange(6.0).reshape(3, 2).t()
    return x, x.numpy()


def taken_of_a_part(torch):
    x = torch.arange(24.0).reshape(4, 6)[1:3, 1::2]
    return x, x.numpy()


def taken_of_a_handle(torch):
    x = torch.arange(6.0).reshape(2, 3).clone()
    return x, x.detach().numpy()


def taken_from_a_base(torch):
    base = torch.arange(8.0)
    a = base.numpy()
    return base[2:].view(2, 3), a[2:].reshape(2, 3)


def through_dlpack_out(torch):
    x = torch.arange(6.0).reshape(2, 3)
    return x, np.from_dlpack(x)


def through_dlpack_in(torch):
    a = NUMBERS.copy()
    return torch.from_dlpack(a), a


SOURCES = [
    given, given_with_gaps, given_by_columns, as_a_tensor, as_an_array, of_a_buffer, taken, taken_of_a_result,
    taken_of_what_was_written, taken_of_a_transposed, taken_of_a_part, taken_of_a_handle, taken_from_a_base,
    through_dlpack_out, through_dlpack_in,
]  # fmt: skip


# -- writes ------------------------------------------------------------------------------------------------------------

WRITES = {
    "an element of the array": lambda torch, x, a: a.__setitem__((1, 2), 50),
    "a row of the array": lambda torch, x, a: a.__setitem__(0, [7, 8, 9]),
    "a ufunc": lambda torch, x, a: np.add(a, 2, out=a),
    "a view of the array": lambda torch, x, a: a.T[1:].__imul__(-1),
    "nothing left of the array": lambda torch, x, a: a.fill(0),
    "add_": lambda torch, x, a: x.add_(1),
    "add_ of itself": lambda torch, x, a: x.add_(x),
    "add_ of a row": lambda torch, x, a: x.add_(x[0].clone()),
    "an element": lambda torch, x, a: x.__setitem__((1, 2), 50),
    "a row of the tensor": lambda torch, x, a: x.__setitem__(0, torch.tensor([7.0, 8.0, 9.0])),
    "a row by another": lambda torch, x, a: x.__setitem__(0, x[1]),
    "a column": lambda torch, x, a: x.__setitem__((slice(None), 1), -1.5),
    "integers into floats": lambda torch, x, a: x.__setitem__(1, torch.tensor([1, 2, 3])),
    "a mask": lambda torch, x, a: x.__setitem__(x > 2, 0),
    "indices": lambda torch, x, a: x.__setitem__((torch.tensor([0, 1]), torch.tensor([2, 0])), 9.0),
    "all": lambda torch, x, a: x.__setitem__(..., 4),
    "a view": lambda torch, x, a: x[:, 1:].mul_(3),
    "a transposed view": lambda torch, x, a: x.t()[2].sub_(1),
    "copy_": lambda torch, x, a: x.copy_(torch.tensor([1.0, 2.0, 3.0])),
    "copy_ from the array": lambda torch, x, a: x.copy_(torch.from_numpy(a[::1] * 2)),
    "out": lambda torch, x, a: torch.mul(x, 2, out=x),
    "zero_": lambda torch, x, a: x.zero_(),
    "fill_": lambda torch, x, a: x.fill_(2.5),
    "clamp_": lambda torch, x, a: x.clamp_(1, 3),
    "index_add_": lambda torch, x, a: x.index_add_(0, torch.tensor([0, 0]), torch.ones(2, 3)),
    "data": lambda torch, x, a: x.data.mul_(3),
    "a handle": lambda torch, x, a: x.detach().add_(4),
    "nothing": lambda torch, x, a: None,
}


def seen(torch, x, a, *handles):
    """What the tensor, the array, and handles made before the write show."""
    tensors = [x, *handles, x[1], x.t(), x * 1, torch.cat([x, x]), x[torch.tensor([1, 0, 1])]]
    shown = [tensor.tolist() for tensor in tensors]
    return [
        shown, a.tolist(), x.sum().item(), float((x * x).mean()), np.asarray(x).tolist(), x.stride(), list(a.strides),
        [tensor._version for tensor in (x, *handles)], x.data_ptr() == a.ctypes.data,
        x[1].data_ptr() == a[1:].ctypes.data,
    ]  # fmt: skip


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
def test_who_sees_a_write(source, write):
    def program(torch):
        x, a = source(torch)
        handles = x[0], x.detach(), x.t(), x[:, 1:]
        before = [handle.sum().item() for handle in handles]
        after = []
        for _ in range(2):
            WRITES[write](torch, x, a)
            after.append(seen(torch, x, a, *handles))
        return before, after

    agree(program)


@pytest.mark.parametrize("source", [given, taken], ids=lambda source: source.__name__)
@pytest.mark.parametrize("write", ["a row of the array", "add_", "a column"])
def test_the_grid_finds_a_copy(monkeypatch, source, write):
    monkeypatch.setattr(tapegrad, "from_numpy", tapegrad.tensor)
    monkeypatch.setattr(tapegrad.Tensor, "numpy", lambda self: np.array(self))
    with pytest.raises(AssertionError):
        test_who_sees_a_write(source, write)


PAIRS = list(itertools.pairwise(["a ufunc", "a view", "a row of the array", "add_", "a ufunc"]))


@pytest.mark.parametrize("pair", PAIRS, ids=" and ".join)
@pytest.mark.parametrize("source", [given, given_with_gaps, taken, taken_of_a_part], ids=lambda source: source.__name__)
def test_writes_from_both_sides_without_looking_between(source, pair):
    def program(torch):
        x, a = source(torch)
        for write in (*pair, *pair):
            WRITES[write](torch, x, a)
        return seen(torch, x, a)

    agree(program)


# -- programs ----------------------------------------------------------------------------------------------------------

PROGRAMS = program = Programs()


@program
def a_buffer_is_filled_in_a_loop(torch):
    buffer, w = np.zeros((4, 3), "float32"), torch.ones(3, requires_grad=True)
    x, losses = torch.from_numpy(buffer), []
    for step in range(5):
        buffer[:] = np.arange(12).reshape(4, 3) * 0.1 - step
        loss = ((x @ w) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.01 * w.grad
        w.grad = None
        losses.append(loss.item())
    return losses, w.tolist()


@program
def parameters_are_watched_from_numpy(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    seen, numbers = w.detach().numpy(), []
    for _ in range(3):
        (w * w).sum().backward()
        with torch.no_grad():
            w.sub_(w.grad, alpha=0.25)
            w.grad.zero_()
        numbers.append(seen.tolist())
    return numbers, w._version, w.data_ptr() == seen.ctypes.data


@program
def parameters_are_set_from_numpy(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    memory = w.detach().numpy()
    found = []
    for step in range(3):
        memory[:] = step
        g = torch.autograd.grad((w**3).sum(), w)[0]
        found.append([g.tolist(), w.tolist(), w._version])
    return found


@program
def gradients_that_accumulate(torch):
    w = torch.ones(3, requires_grad=True)
    (w * 2).sum().backward()
    g = w.grad.numpy()
    first = g.tolist()
    (w * 3).sum().backward()
    second = g.tolist()
    g[:] = 0
    (w * w).sum().backward()
    return first, second, g.tolist(), w.grad.tolist()


@program
def a_gradient_that_numpy_gave(torch):
    w, g = torch.ones(3, requires_grad=True), np.zeros(3, "float32")
    w.grad = torch.from_numpy(g)
    (w * 2).sum().backward()
    first = g.tolist()
    w.grad.add_(1)
    return first, g.tolist()


@program
def a_leaf_that_numpy_gave(torch):
    a = np.arange(3.0)
    x = torch.from_numpy(a).requires_grad_()
    (x * x).sum().backward()
    with torch.no_grad():
        x += x.grad
    return a.tolist(), x.grad.tolist(), x._version, x.is_leaf


@program
def versions_count_writes_of_tensors_only(torch):
    a = np.zeros(3)
    x = torch.from_numpy(a)
    a += 1
    y = x.detach()
    y.add_(1)
    x[0] = 5
    np.asarray(x)[1] = 7
    return x._version, y._version, a.tolist()


@program
def data_and_set(torch):
    a, x, y = np.zeros(3), torch.ones(3, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    x.data = torch.from_numpy(a)
    x.add_(1)
    y.set_(torch.from_numpy(a))
    a[0] = 9
    y[2] = 4
    return a.tolist(), x.tolist(), y.tolist(), y.data_ptr() == x.data_ptr()


@program
def other_dtypes_of_one_memory(torch):
    z = torch.tensor([1 + 2j, 3 - 1j])
    real, imag, bits = z.real.numpy(), torch.view_as_real(z).numpy(), z.view(torch.float32).numpy()
    real[0] = 10
    imag[1, 1] = 20
    z.mul_(2)
    return z.tolist(), real.tolist(), imag.tolist(), bits.tolist(), real.strides, imag.strides


@program
def views_of_another_dtype(torch):
    a = np.zeros(4, "int32")
    x = torch.from_numpy(a).view(torch.float32)
    x[1] = 1.0
    x.view(torch.uint8)[3] = 64
    a[2] = 0x40000000
    return a.tolist(), x.tolist()


@program
def expanded_arrays(torch):
    x = torch.arange(3.0)
    a = x.expand(2, 3).numpy()
    x[0] = 5
    return a.tolist(), a.strides, torch.from_numpy(np.arange(3.0)[None]).expand(2, 3).numpy().strides


@program
def shapes_of_all_kinds(torch):
    shown = []
    for shape in ((), (1,), (0, 3), (1, 3), (2, 1, 2)):
        x = torch.zeros(shape)
        a = x.numpy()
        x += 1
        y = torch.from_numpy(np.ones(shape))
        shown.append([a.shape, a.tolist(), tuple(y.shape), y.tolist(), y.numpy().tolist()])
    return shown


@program
def all_dtypes(torch):
    shown = []
    for name in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64",
                 "complex128"):  # fmt: skip
        a = np.ones(3, name)
        x = torch.from_numpy(a)
        a[0] = 0
        x[1] = 0
        shown.append([str(x.dtype).split(".")[-1], x.tolist(), a.tolist(), x.numpy().dtype.name])
    return shown


@program
def numpy_functions_write_to_tensors(torch):
    x = torch.zeros(4)
    np.asarray(x)[1:3] = 5
    np.random.default_rng(0).permutation(3)
    np.copyto(x.numpy(), np.arange(4), where=[True, False, False, True])
    np.put(x.numpy(), [0], [9])
    x.numpy().sort()
    return x.tolist()


@program
def copies_are_copies(torch):
    a = np.zeros(3)
    made = [
        torch.tensor(a), torch.as_tensor(a, dtype=torch.float32), torch.asarray(a, copy=True),
        torch.from_numpy(a).clone(), torch.from_numpy(a).to(torch.float32), torch.from_numpy(a) + 0,
        torch.from_dlpack(torch.from_numpy(a), copy=True),
        torch.stack([torch.from_numpy(a)]), torch.Tensor(a), torch.from_numpy(a).repeat(1),
    ]  # fmt: skip
    a[:] = 1
    x = torch.zeros(3)
    arrays = [np.array(x), np.asarray(x, dtype="float64"), x.numpy().copy(), x.clone().numpy(), x.double().numpy()]
    x += 1
    return [one.tolist() for one in made], [one.tolist() for one in arrays]


@program
def the_array_is_gone(torch):
    x = torch.arange(3.0)
    x.numpy()[0] = 5
    first = x.tolist()
    x.add_(1)
    part = x.numpy()[1:]
    part += 10
    del part
    x.mul_(2)
    y = torch.from_numpy(np.ones(3))
    y += 1
    return first, x.tolist(), y.tolist()


@program
def the_tensor_is_gone(torch):
    x = torch.arange(3.0)
    a, b = x.numpy(), x[1:].numpy()
    del x
    a[1] = 7
    return b.tolist()


@program
def two_tensors_on_one_array(torch):
    a = np.zeros(4)
    x, y = torch.from_numpy(a), torch.from_numpy(a[1:])
    x.add_(1)
    y.mul_(5)
    return x.tolist(), y.tolist(), x._version, y._version, y.data_ptr() - x.data_ptr()


@program
def an_array_of_a_tensor_as_a_tensor(torch):
    x = torch.zeros(3)
    y = torch.from_numpy(x.numpy())
    y[0] = 1
    x[1] = 2
    return x.tolist(), y.tolist(), x.data_ptr() == y.data_ptr(), x._version, y._version


@program
def flags_and_errors_leave_all_as_it_was(torch):
    a = np.arange(3.0)
    x = torch.from_numpy(a)
    found = []
    for write in (lambda: x.add_(torch.ones(4)), lambda: x.copy_(torch.ones(2, 2)),
                  lambda: x.untyped_storage().resize_(800), lambda: x.__setitem__(3, 1.0)):  # fmt: skip
        with pytest.raises((RuntimeError, IndexError)) as error:
            write()
        found.append([a.tolist(), x.tolist(), x._version, str(error.value).splitlines()[0][:60]])
    return found, x.resize_(2).tolist()


@program
def modes_that_write(torch):
    a, b = np.zeros(3), np.zeros(3)
    with torch.inference_mode():
        x = torch.from_numpy(a)
        x += 1
        y = x.numpy()
        y[0] = 5
    with torch.no_grad():
        z = torch.from_numpy(b)
        z[1:] = torch.ones(2)
    return a.tolist(), x.is_inference(), b.tolist()


@program
def a_custom_function_looks_through_numpy(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return torch.from_numpy(x.detach().numpy() * 2)

        @staticmethod
        def backward(ctx, g):
            return torch.from_numpy(g.numpy() * 2)

    w = torch.ones(3, requires_grad=True)
    out = Double.apply(w)
    out.sum().backward()
    return out.tolist(), w.grad.tolist()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program(program):
    agree(program)


# -- lines, with their errors and warnings -----------------------------------------------------------------------------

LINES = """
torch.from_numpy(np.arange(3.0)[::-1])
torch.from_numpy(np.zeros(3, [("x", "f4"), ("y", "i8"), ("z", "i1")])["y"])
torch.from_numpy(np.zeros(3, [("x", "f4"), ("y", "f4")])["y"]).stride()
torch.from_numpy(np.arange(3).astype(">i4"))
torch.from_numpy([1, 2])
a = np.arange(6.0).reshape(2, 3); torch.from_numpy(a[:, 1:]).untyped_storage().nbytes(), torch.from_numpy(a.T).stride()
a = np.arange(3.0); a.flags.writeable = False; torch.from_numpy(a)
a = np.arange(3.0); a.flags.writeable = False; torch.as_tensor(a)
torch.frombuffer(b"12345678", dtype=torch.float32)
b = bytearray(8); torch.frombuffer(b, dtype=torch.int16, offset=2, count=2).fill_(257); bytes(b)
b = bytearray(4); x = torch.frombuffer(b, dtype=torch.uint8, requires_grad=True)
a = np.ones(3); torch.asarray(a, copy=False).data_ptr() == a.ctypes.data
a = np.ones(3); torch.asarray(a, copy=True).data_ptr() == a.ctypes.data
torch.asarray(np.ones(3), copy=False, dtype=torch.float32)
torch.asarray(np.float32(1), copy=False)
torch.asarray([1.0], copy=False)
a = np.ones(3); x = torch.asarray(a, requires_grad=True); x.requires_grad, x.data_ptr() == a.ctypes.data
torch.as_tensor(np.float64(2)), torch.as_tensor(np.array(2))
torch.ones(2, requires_grad=True).numpy()
torch.ones(2, requires_grad=True).numpy(force=True)
torch.ones(2, dtype=torch.complex64).conj().numpy()
torch.ones(2, dtype=torch.complex64).conj().imag.numpy()
torch.ones(2, dtype=torch.complex64).conj().numpy(force=True)
torch.ones(2, dtype=torch.bfloat16).numpy()
x = torch.ones(2); a = x.numpy(); x.resize_(100)
x = torch.ones(2); a = x.numpy(); torch.add(torch.ones(5), 1, out=x.resize_(0))
x = torch.ones(2); a = x.numpy(); x.untyped_storage().resize_(100)
a = torch.ones(2).numpy(); a.flags.writeable, a.flags.owndata
x = torch.ones(3); a = x.numpy(); c = copy.deepcopy(x); p = pickle.loads(pickle.dumps(x)); a[0] = 5; c, p, copy.copy(x)
"""


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_line(line):
    same_transcript(line)


def test_what_can_not_be_written_to_is_warned_of_once():
    def make(torch):
        a = np.arange(3.0)
        a.flags.writeable = False
        return torch.from_numpy(a), torch.as_tensor(a)

    assert len(warned(lambda: make(tapegrad))) <= 1
    assert warned(lambda: make(tapegrad)) == []


# -- between the libraries ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bool", "complex64", "float64", "int64", "uint8", "float16"])
def test_pytorch_and_tapegrad_share_memory_both_ways(name):
    theirs = pytorch.zeros(3, dtype=getattr(pytorch, name))
    ours = tapegrad.from_dlpack(theirs)
    back = pytorch.from_dlpack(ours)
    theirs[0] = 1
    ours[1] = 1
    back[2] = 1
    assert theirs.tolist() == ours.tolist() == back.tolist() == [1, 1, 1]
    assert theirs.data_ptr() == ours.data_ptr() == back.data_ptr()


def test_pytorch_takes_the_memory_of_a_tensor():
    ours = tapegrad.zeros(2, 3)
    theirs = pytorch.from_dlpack(ours.t())
    theirs[2, 1] = 5
    ours[0] = 1
    assert theirs.tolist() == ours.t().tolist() == [[1, 0], [1, 0], [1, 5]]


def test_capsules_share_memory():
    theirs = pytorch.zeros(3)
    ours = tapegrad.utils.dlpack.from_dlpack(pytorch.utils.dlpack.to_dlpack(theirs))
    back = pytorch.utils.dlpack.from_dlpack(tapegrad.utils.dlpack.to_dlpack(ours))
    ours.add_(1)
    back[0] = 4
    assert theirs.tolist() == ours.tolist() == [4, 1, 1]


def test_arrays_that_pytorch_and_tapegrad_look_at():
    a = np.zeros(3)
    ours, theirs = tapegrad.from_numpy(a), pytorch.from_numpy(a)
    ours.add_(1)
    theirs.mul_(3)
    assert ours.tolist() == theirs.tolist() == a.tolist() == [3, 3, 3]
    assert tapegrad.as_tensor(theirs).data_ptr() == theirs.data_ptr()


BEHIND_THE_END = {
    "transposed": lambda x: x.transpose(0, 1)[2:, :, 1:],
    "row": lambda x: x[0, 2:, 1:],
    "flat": lambda x: x.flatten()[6:],
    "strided": lambda x: x.as_strided((0, 3), (6, 1), 9),
}


@pytest.mark.parametrize("part", BEHIND_THE_END.values(), ids=BEHIND_THE_END.keys())
def test_a_part_with_nothing_in_it_may_begin_behind_the_end(part):
    def program(torch):
        x = torch.arange(6.0).reshape(1, 2, 3)
        empty = part(x)
        array = x.numpy()
        shapes = [empty.numpy().shape, tuple((empty + 1).shape), tuple(empty.fill_(2).shape)]
        seen = array.tolist()
        del array
        return shapes, seen, x + 1, empty * 2, empty.storage_offset()

    agree(program)
