"""Where tangents lie on both: which are kept and which copied, what writes touch, and that all end with their level."""

import pytest
from forward_mode import level
from harness import Programs, agree, attempt

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


def values(torch, *, grad=False):
    return torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]], requires_grad=grad)


def tangent(torch):
    return torch.tensor([[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]])


def make(torch, *, grad=False):
    return torch.autograd.forward_ad.make_dual(values(torch, grad=grad), tangent(torch))


def parts(torch, tensor):
    """Primal and tangent as they are now, without their graphs; anything else as it is."""
    if not isinstance(tensor, torch.Tensor):
        return tensor
    found = torch.autograd.forward_ad.unpack_dual(tensor)
    return [None if part is None else part.detach().clone() for part in found]


def each(torch, *actions):
    """What each action gives on a dual of its own, and what that dual is then."""
    account = []
    for action in actions:
        dual = make(torch)
        result = attempt(lambda action=action, dual=dual: action(dual))
        results = result if isinstance(result, tuple) else (result,)
        account.append([[parts(torch, one) for one in results], parts(torch, dual), dual._version])
    return account


@program
def copies_in_another_order(torch):
    account, x = [], values(torch).t()
    channels = torch.arange(16.0).reshape(1, 2, 2, 4)
    copies = [
        (x, lambda x: x.ravel()),
        (x, lambda x: x.contiguous()),
        (x, lambda x: x.reshape(-1)),
        (x, lambda x: x.clone(memory_format=torch.contiguous_format)),
        (channels, lambda x: x.contiguous(memory_format=torch.channels_last)),
    ]
    for given, copy in copies:
        with level(torch):
            found = torch.autograd.forward_ad.unpack_dual(copy(torch.autograd.forward_ad.make_dual(given, given * 2)))
            account += [[part.clone(), part.stride()] for part in found]
    return account


# Made -----------------------------------------------------------------------------------------------------------------


@program
def the_tangent_is_kept_or_copied(torch):
    row, three = torch.arange(6.0), torch.arange(3.0)
    pairs = [
        (three, three),
        (three, row[:3]),
        (row[:3], three),
        (row[3:], (row * 2)[3:]),
        (row[:3], (row * 2)[3:]),
        (row[::2], three),
        (three + 0j, (three + 1j).conj()),
        ((three + 1j).conj(), three + 0j),
        (values(torch).t(), values(torch).t()),
        (values(torch).t(), torch.ones(3, 2)),
        (torch.ones(1, 3), torch.ones(3, 1).t()),
        (torch.ones(1).expand(3), torch.ones(1).expand(3)),
        (torch.ones(1).expand(3), three),
        (three, torch.ones(1).expand(3)),
        (torch.tensor(1.0), row[2]),
    ]

    def made(primal, given):
        found = torch.autograd.forward_ad.unpack_dual(torch.autograd.forward_ad.make_dual(primal, given)).tangent
        return [found is given, found, found.is_conj() if found is given else None]

    with level(torch):
        return [attempt(lambda pair=pair: made(*pair)) for pair in pairs]


@program
def tangents_of_other_dtypes(torch):
    forward_ad, account = torch.autograd.forward_ad, []
    three = torch.tensor([1.0, 2.0, 3.0])
    pairs = [(three, three.double()), (three, three * 1j), (three.half(), three)]
    with level(torch):
        for primal, given in pairs:
            dual = forward_ad.make_dual(primal, given)
            results = [dual * 2, dual + 1, dual.sum(), dual[0], dual.clone(), dual * dual]
            account += [forward_ad.unpack_dual(result).tangent for result in results]
        half = forward_ad.make_dual(three.half(), three.half())
        return [*account, *[forward_ad.unpack_dual(out).tangent for out in (half + three, half * three, half / three)]]


@program
def a_tangent_with_a_graph(torch):
    forward_ad = torch.autograd.forward_ad
    with level(torch):
        direction = tangent(torch).requires_grad_()
        dual = forward_ad.make_dual(values(torch), direction)
        found = forward_ad.unpack_dual(dual * dual).tangent
        account = [parts(torch, dual * dual), found.requires_grad, torch.autograd.grad(found.sum(), direction)]
        with torch.no_grad():
            dual.mul_(2)
        return [*account, attempt(lambda: dual.mul_(3)), direction]


# Views and writes -----------------------------------------------------------------------------------------------------


@program
def views_of_all_kinds(torch):
    with level(torch):
        return each(
            torch,
            lambda d: d.split(1),
            lambda d: d.split([1, 2], 1),
            lambda d: d.unbind(1),
            lambda d: d.as_strided((2, 2), (1, 1), 2),
            lambda d: d.unfold(1, 2, 1),
            lambda d: d.view(torch.int32),
            lambda d: d.tensor_split(2, 1),
            lambda d: d.detach(),
            lambda d: d.data,
            lambda d: d.real,
            lambda d: torch.view_as_complex(d[:, :2]),
            lambda d: d.requires_grad_().is_leaf,
        )


@program
def writes_of_all_kinds(torch):
    row, forward_ad = torch.tensor([1.0, 2.0, 3.0]), torch.autograd.forward_ad
    places = torch.tensor([0])
    with level(torch):
        return each(
            torch,
            lambda d: d.mul_(row),
            lambda d: d.exp_(),
            lambda d: d.zero_(),
            lambda d: d.fill_(2),
            lambda d: d.fill_(forward_ad.make_dual(torch.tensor(2.0), torch.tensor(5.0))),
            lambda d: d.copy_(row),
            lambda d: d.copy_(2 * d),
            lambda d: d.addcmul_(d.clone(), row),
            lambda d: d.masked_fill_(d > 0, forward_ad.make_dual(torch.tensor(2.0), torch.tensor(5.0))),
            lambda d: d.index_add_(1, places, d[:, :1].clone()),
            lambda d: d.scatter_(1, torch.tensor([[0], [1]]), 9.0),
            lambda d: d.uniform_(1, 1),
            lambda d: d.addmm_(torch.ones(2, 2), d.clone()),
            lambda d: d.round_(),
            lambda d: d.gt_(0),
            lambda d: d.detach_(),
            lambda d: d.t_(),
            lambda d: d.unsqueeze_(0),
            lambda d: d.as_strided_((3, 2), (1, 3)),
            lambda d: d.as_strided_((2,), (1,), 1),
            lambda d: d.__setitem__(0, d[1].clone()),
            lambda d: d.__setitem__((slice(None), 1), row[:2]),
            lambda d: d.__setitem__(torch.tensor([True, False]), 2.0),
            lambda d: d.__setitem__((torch.tensor([0, 1]), torch.tensor([1, 2])), d[:, 0].clone()),
            lambda d: d.detach().mul_(2),
            lambda d: d.data.zero_(),
        )


@program
def duals_written_into_what_has_no_tangent(torch):
    account = []
    writes = [
        lambda x, d: x.add_(d),
        lambda x, d: x[0].copy_(d[0]),
        lambda x, d: x.__setitem__((slice(None), torch.tensor([1])), d[:, :1]),
        lambda x, d: x.fill_(d[0, 0]),
        lambda x, d: x.masked_fill_(x > 1, d[0, 0]),
        lambda x, d: x.view(-1)[1:4].mul_(d.view(-1)[1:4]),
        lambda x, d: x.t().add_(d.t()),
        lambda x, d: x.data.copy_(d),
        lambda x, d: x.detach().copy_(d),
        lambda x, d: x.expand(1, 2, 3).add_(d),
        lambda x, d: x.long().copy_(d),
    ]
    with level(torch):
        for write in writes:
            x = torch.arange(6.0).reshape(2, 3)
            view, dual = x[0], make(torch)
            raised = attempt(lambda write=write, x=x, dual=dual: [write(x, dual), None][1])
            account.append([raised, *[parts(torch, one) for one in (x, view, x[1], dual)]])
    return account


@program
def results_have_tangents_of_their_own(torch):
    """What is written to a result must not reach the tangent of the operand, which it may be."""
    account, zeros = [], torch.zeros(2, 3)
    functions = [
        lambda d: d + zeros,
        lambda d: zeros + d,
        lambda d: d - 1,
        lambda d: torch.where(zeros == 0, d, zeros),
        lambda d: d.clone(),
        lambda d: torch.permute_copy(d, (1, 0)).t(),
        lambda d: torch.cat([d]),
        lambda d: d.to(torch.float32, copy=True),
        lambda d: d.t().contiguous().t(),
    ]
    with level(torch):
        for grad in (False, True):
            for function in functions:
                dual = make(torch, grad=grad) * 1
                result = function(dual)
                with torch.no_grad():
                    result.add_(make(torch))
                account.append([parts(torch, dual), parts(torch, result)])
    return account


@program
def with_tangents_switched_off(torch):
    forward_ad = torch.autograd.forward_ad
    with level(torch):
        dual, written = make(torch), make(torch)
        with forward_ad._set_fwd_grad_enabled(False):
            account = [forward_ad._is_fwd_grad_enabled(), str(dual), parts(torch, dual), parts(torch, dual * 2)]
            written.mul_(2)
            copy, into = dual.clone(), values(torch).mul_(dual)
        return [account, *[parts(torch, one) for one in (copy, into, written, dual)]]


# Refused --------------------------------------------------------------------------------------------------------------


def refused(action):
    """Whether an action is not implemented, and what is said of it without PyTorch's request for a report."""
    try:
        action()
    except Exception as error:
        return [isinstance(error, NotImplementedError), str(error).splitlines()[0]]
    raise AssertionError("nothing was raised")


@program
def what_has_no_tangents(torch):
    with level(torch):
        d, x = make(torch), values(torch)
        empty, places = torch.empty(0), torch.empty(0, dtype=torch.int64)
        actions = [
            lambda: torch.add(d, 1, out=empty),
            lambda: torch.exp(x, out=d),
            lambda: torch.matmul(d, d.t(), out=empty),
            lambda: torch.max(d, 1, out=(empty, places)),
            lambda: torch.concat([x, d], out=empty),
            lambda: torch.arccos(d, out=empty),
            lambda: torch.argmax(d, out=places),
            lambda: torch.linalg.vector_norm(d, out=empty),
            lambda: d.resize_(6),
            lambda: d.resize_as_(torch.ones(3, 2)),
            lambda: make(torch).set_(x),
            lambda: values(torch).set_(d),
            lambda: torch.floor_divide(d, 2),
            lambda: torch.heaviside(x, d),
            lambda: torch.remainder(3.0, d),
        ]
        return [refused(action) for action in actions]


# The end of a level ---------------------------------------------------------------------------------------------------


def swapped(torch, dual, other):
    base = dual * 1
    base[0] = other[0]
    return base


def filled(torch, dual, other):
    base = torch.ones(4, 3)
    view = base[:2]
    view.copy_(dual)
    return base


BUILT = {
    "a saved output": lambda torch, d, y: d.exp(),
    "a saved output that was written": lambda torch, d, y: (d * 1).exp_(),
    "a saved input": lambda torch, d, y: d * y,
    "an input saved before the write": lambda torch, d, y: (d * 1).mul_(y),
    "written by a dual": lambda torch, d, y: (y * 1).mul_(d),
    "written through a view": swapped,
    "written into what had no tangent": filled,
    "a copy of a view": lambda torch, d, y: torch.t_copy(d),
    "a view": lambda torch, d, y: d[0],
    "moved on its memory": lambda torch, d, y: (d * 1).as_strided_((3, 2), (1, 3)),
    "softmax": lambda torch, d, y: d.softmax(-1),
    "a tangent": lambda torch, d, y: torch.autograd.forward_ad.unpack_dual(d * d).tangent,
}


def after_the_level(torch, build):
    """The tangents, in the next level, of something that was built in this one, and of its gradients."""
    with level(torch):
        x, y = values(torch, grad=True), values(torch, grad=True)
        built = build(torch, torch.autograd.forward_ad.make_dual(x, tangent(torch)), y)
    with level(torch):
        account = [parts(torch, built)]
        for create_graph in (False, True) if built.requires_grad else ():
            options = {"retain_graph": True, "allow_unused": True, "create_graph": create_graph}
            found = torch.autograd.grad((built * 1).sum(), [x, y], **options)
            account.append([parts(torch, grad) for grad in found])
    return account


@pytest.mark.parametrize("build", BUILT.values(), ids=BUILT.keys())
def test_tangents_end_with_their_level(build):
    agree(lambda torch: after_the_level(torch, build), rtol=1e-5, atol=1e-6)


@program
def tangents_saved_by_hooks_and_for_good(torch):
    graph, account = torch.autograd.graph, []
    for context in (graph.saved_tensors_hooks(lambda x: x, lambda x: x), graph.allow_mutation_on_saved_tensors()):
        with context:
            account += [after_the_level(torch, BUILT[name]) for name in list(BUILT)[:4]]
    return account


@program
def an_alias_shares_its_tangent(torch):
    account = []
    for grad in (False, True):
        primal = values(torch, grad=grad) * 1
        given = primal * 2 if grad else tangent(torch)
        with level(torch):
            dual = torch.autograd.forward_ad.make_dual(primal, given)
            for view in (dual[...], dual[...][...], dual[:]):
                found = torch.autograd.forward_ad.unpack_dual(view).tangent
                account.append([found is given, found._is_view(), found.is_leaf])
    return account


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.__name__ for program in PROGRAMS])
def test_programs(program):
    agree(program, rtol=1e-5, atol=1e-6)


# Where PyTorch is wrong -----------------------------------------------------------------------------------------------


def test_an_operand_that_shares_memory_with_what_is_written_to():
    """PyTorch writes to the tangent before it has read the operand's, which is the same."""
    import tapegrad as torch

    with level(torch):
        dual = make(torch)
        dual.mul_(dual)
        primal, found = parts(torch, dual)
        assert torch.equal(primal, values(torch) ** 2)
        assert torch.equal(found, 2 * values(torch) * tangent(torch))


def test_what_is_detached_in_place_has_no_tangent():
    def account(torch):
        with level(torch):
            y, dual = make(torch) * 3, make(torch)
            torch.detach_(y)
            kept = [dual.detach(), dual.data, (dual * 2).detach().sin(), dual.clone()]
            refused = attempt(dual.detach_)
            return [parts(torch, y)[1], y.requires_grad, refused[:2], [parts(torch, one)[1] for one in kept]]

    agree(account)


def test_a_level_belongs_to_its_thread():
    """In PyTorch they are of the process. Here other threads compute without tangents, and have levels of their own."""
    import threading

    import tapegrad as torch

    account = []

    def run(dual):
        account.append(torch.autograd.forward_ad._current_level)
        account.append(parts(torch, dual * 2)[1])
        with level(torch):
            account.append(parts(torch, make(torch) * 2)[1])

    with level(torch):
        dual = make(torch)
        thread = threading.Thread(target=run, args=(dual,))
        thread.start()
        thread.join()
        assert torch.equal(parts(torch, dual)[1], tangent(torch))
    assert account[:2] == [-1, None]
    assert torch.equal(account[2], 2 * tangent(torch))


# -- tangents in the memory that is written ----------------------------------------------------------------------------

ALONG = {
    "add_": lambda torch, y, z: y.add_(1),
    "add_ of a tensor": lambda torch, y, z: y.add_(z, alpha=2),
    "sub_": lambda torch, y, z: y.sub_(z),
    "mul_": lambda torch, y, z: y.mul_(2),
    "mul_ of a tensor": lambda torch, y, z: y.mul_(z),
    "div_": lambda torch, y, z: y.div_(z),
    "neg_": lambda torch, y, z: y.neg_(),
    "sin_": lambda torch, y, z: y.sin_(),
    "exp_": lambda torch, y, z: y.exp_(),
    "sigmoid_": lambda torch, y, z: y.sigmoid_(),
    "sqrt_": lambda torch, y, z: y.sqrt_(),
    "pow_": lambda torch, y, z: y.pow_(2),
    "clamp_": lambda torch, y, z: y.clamp_(0.5, 1),
    "copy_": lambda torch, y, z: y.copy_(z),
    "zero_": lambda torch, y, z: y.zero_(),
    "lerp_": lambda torch, y, z: y.lerp_(z, 0.3),
    "addcmul_": lambda torch, y, z: y.addcmul_(z, z),
    "cumsum_": lambda torch, y, z: y.cumsum_(0),
    "index_add_": lambda torch, y, z: y.index_add_(0, torch.tensor([0]), z[:1]),
    "an element": lambda torch, y, z: y.__setitem__(0, z[1]),
    "a view": lambda torch, y, z: y[1:].mul_(3),
    "a view, added": lambda torch, y, z: y[1:].add_(3),
}


@pytest.mark.parametrize("name", ALONG)
def test_a_tangent_that_lies_where_is_written(name):
    """PyTorch computes tangents when a write is done, of what was the tensor's own if its value is needed as well."""

    def run(torch):
        account, forward_ad = [], torch.autograd.forward_ad
        for along in range(3):
            y, z = torch.tensor([0.3, 0.7]).double(), torch.tensor([0.2, 0.9]).double()
            with forward_ad.dual_level():
                dual = forward_ad.make_dual(y, z + 1 if along == 2 else y)
                other = forward_ad.make_dual(z, z if along == 0 else y)
                ALONG[name](torch, dual, other)
                both = forward_ad.unpack_dual(dual), forward_ad.unpack_dual(dual * other)
                account += [[one.primal, one.tangent] for one in both]
            account += [y, y._version, z]
        return account

    agree(run)
