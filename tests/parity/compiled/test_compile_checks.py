"""Checks that need numbers, in compiled calls: PyTorch's errors, when the results are read."""

import subprocess
import sys

import pytest
from harness import agree, sentence

import tapegrad
from tapegrad._src.execution.kernels.deferred_checks import CALLS

pytestmark = [
    pytest.mark.once("a compiled step is recorded in either mode"),
    pytest.mark.filterwarnings("ignore:.*torch.jit.script.* is deprecated"),
]


def functional(torch):
    return torch.nn.functional


X, NAN = [[0.5, 2.0, 0.25], [1.0, -1.0, 0.5]], float("nan")
SINGULAR, NEGATIVE = [[1.0, 2.0], [2.0, 4.0]], [[-1.0, 0.0], [0.0, 1.0]]
PLAIN = {
    "index": (lambda torch, x, i: x[i], X, [0, 2]),
    "index of the second": (lambda torch, x, i: x[:, i] + x[:, i], X, [0, -4]),
    "index_put": (lambda torch, x, i: x.index_put((i,), x[0]), X, [1, -3]),
    "gather": (lambda torch, x, i: x.gather(1, i), X, [[0, 3], [0, 0]]),
    "scatter": (lambda torch, x, i: x.scatter(0, i, 1.0), X, [[-1, 0, 0]]),
    "scatter_add": (lambda torch, x, i: x.scatter_add(0, i, x), X, [[0, 7, 0]]),
    "index_select": (lambda torch, x, i: x.index_select(0, i), X, [2]),
    "index_copy": (lambda torch, x, i: x.index_copy(0, i, x), X, [0, 5]),
    "index_fill": (lambda torch, x, i: x.index_fill(1, i, 2.0), X, [3]),
    "take": (lambda torch, x, i: x.take(i), X, [6]),
    "embedding": (lambda torch, x, i: functional(torch).embedding(i, x), X, [1, 2]),
    "one_hot": (lambda torch, x, i: x[0, 0] + functional(torch).one_hot(i, 3), X, [1, 3]),
    "cross_entropy": (lambda torch, x, i: functional(torch).cross_entropy(x, i), X, [3, 0]),
    "nll_loss": (lambda torch, x, i: functional(torch).nll_loss(x, i), X, [0, -1]),
    "multi_margin_loss": (lambda torch, x, i: functional(torch).multi_margin_loss(x, i), X, [0, 4]),
    "binary_cross_entropy": (lambda torch, x, i: functional(torch).binary_cross_entropy(x, x), X, 0),
    "gaussian_nll_loss": (lambda torch, x, i: functional(torch).gaussian_nll_loss(x, x, x), X, 0),
    "division": (lambda torch, x, i: i // (i - 2), X, [1, 2]),
    "solve": (lambda torch, x, i: torch.linalg.solve(x, x), SINGULAR, 0),
    "solve of a batch": (lambda torch, x, i: torch.linalg.solve(torch.stack([x + torch.eye(2), x]), x), SINGULAR, 0),
    "inv": (lambda torch, x, i: torch.linalg.inv(x), SINGULAR, 0),
    "cholesky": (lambda torch, x, i: torch.linalg.cholesky(x), NEGATIVE, 0),
    "svd of nan": (lambda torch, x, i: torch.linalg.svdvals(x * NAN), X, 0),
    "eig of nan": (lambda torch, x, i: torch.linalg.eig(x * NAN)[0], SINGULAR, 0),
    "quantile": (lambda torch, x, i: torch.quantile(x, i * 0.75), X, [1.0, 2.0]),
    "ctc_loss, targets": (lambda torch, x, i: ctc(torch, x, torch.tensor([[1, 1], [1, 2]]), i), X, [2, 3]),
    "ctc_loss, a row of targets": (lambda torch, x, i: ctc(torch, x, torch.tensor([1, 2, 1]), i), X, [2, 2]),
    "bernoulli": (lambda torch, x, i: torch.bernoulli(x), X, 0),
    "multinomial": (lambda torch, x, i: torch.multinomial(x, 2), X, 0),
    "multinomial of nothing": (lambda torch, x, i: torch.multinomial(x * 0, 2), X, 0),
    "normal": (lambda torch, x, i: torch.normal(x, x), X, 0),
    "poisson": (lambda torch, x, i: torch.poisson(x), X, 0),
}  # fmt: skip


def ctc(torch, x, targets, lengths):
    """The loss of two sequences of four steps."""
    scores = (x.sum() * torch.arange(24.0).reshape(4, 2, 3) / 10).log_softmax(2)
    return functional(torch).ctc_loss(scores, targets, torch.tensor([4, 4]), lengths)


def raised(action):
    try:
        action()
    except Exception as error:  # what it raises is what is compared
        return [type(error).__name__, sentence(error)]
    return None


@pytest.mark.parametrize("name", PLAIN)
def test_what_pytorch_refuses(name):
    function, x, index = PLAIN[name]

    def program(torch):
        x_, index_ = torch.tensor(x), torch.tensor(index)
        step = (torch.compile if torch is tapegrad else lambda step: step)(lambda x, i: function(torch, x, i))
        errors = [raised(lambda: (step(x_, index_), torch.ones(1).item())) for _ in range(4)]
        return [errors, torch is not tapegrad or step.replayed > 0]

    agree(program)


def near_zero(torch, x):
    """The second derivatives of determinants, of which some are 0, or nearly."""
    x = x.clone().requires_grad_()
    (first,) = torch.autograd.grad(torch.linalg.det(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad((first * first).sum(), x)
    return first.detach(), second


SECOND = [[[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [2.0, 4.0 + 1e-6]]]


@pytest.mark.parametrize("matrices", [SECOND, SECOND[1:2], SECOND[0]], ids=["some", "none", "one"])
def test_derivatives_of_determinants_near_zero(matrices):
    def program(torch):
        call = torch.compile(near_zero, fullgraph=True) if torch is tapegrad else near_zero
        return [call(torch, torch.tensor(matrices)) for _ in range(4)][-1]

    agree(program, rtol=1e-4, atol=1e-4)


def test_a_singular_matrix_of_slogdet_in_backward():
    def program(torch):
        def step(x):
            x = x.clone().requires_grad_()
            return torch.autograd.grad(torch.linalg.slogdet(x)[1], x, create_graph=True)[0]

        call = torch.compile(step, fullgraph=True) if torch is tapegrad else step
        return raised(lambda: [call(torch.tensor(SINGULAR)).tolist() for _ in range(3)])

    agree(program)


@pytest.mark.parametrize("driver", ["gelsd", "gelss", "gels", "gelsy"])
def test_residuals_of_least_squares_by_rank(driver):
    """There are none where a matrix has not full rank: the shape of a result depends on the elements."""

    def program(torch):
        def step(x):
            found = torch.linalg.lstsq(x, x[:, :1] + 1, driver=driver)
            return found.solution * 2, found.residuals + 1

        call = torch.compile(step) if torch is tapegrad else step
        full = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
        deficient = torch.tensor([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
        matrices = [full, full, full] if driver == "gels" else [full, deficient, full, deficient]
        return [[tuple(one.shape) for one in call(x)] for x in matrices], call(full)

    agree(program, rtol=1e-4, atol=1e-4)


def test_an_error_in_backward():
    def program(torch):
        a = torch.tensor([[2.0, 1j], [-1j, 3.0]], requires_grad=True)

        def step():
            _, vectors = torch.linalg.eigh(a)
            (vectors.real * torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()

        step = torch.compile(step) if torch is tapegrad else step
        return [raised(lambda: (step(), torch.ones(1).item())) for _ in range(4)]

    agree(program)


def lookup():
    """A compiled look-up that counts, and its count; twice with good indices, so that it is replayed."""
    count, table = tapegrad.zeros(()), tapegrad.tensor([1.0, 2.0, 3.0])

    @tapegrad.compile
    def step(index):
        count.add_(1)
        return table[index] * 2

    good = tapegrad.tensor([0, 2])
    for _ in range(3):
        assert step(good).tolist() == [2, 6]
    assert step.replayed
    return step, count, good


BAD = [1, 5]


READS = {
    "a result": lambda given: given.tolist(),
    "another tensor": lambda given: tapegrad.ones(1).item(),
    "nothing": lambda given: tapegrad.cpu.synchronize(),
}
TOLD = (
    r"(?s)^index 5 is out of bounds for dimension 0 with size 3.*in a compiled call.*"
    r"test_compile_checks.py:\d+ in step: return table\[index\]"
)


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_it_is_raised_when_something_is_read(read):
    step, count, good = lookup()
    given = step(tapegrad.tensor(BAD))
    with pytest.raises(IndexError, match=TOLD):
        read(given)
    assert count.item() == 4, "what the call has written stays written"
    assert given.tolist()[0] == 4
    assert step(good).tolist() == [2, 6]


def test_it_is_raised_after_some_calls():
    step, count, good = lookup()
    step(tapegrad.tensor(BAD))
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        for _ in range(2 * CALLS):
            step(good)
    assert 4 < count.item() <= 4 + 2 * CALLS
    assert step(good).tolist() == [2, 6]


def test_the_first_wrong_call_is_told_of_and_the_next_one_after_that():
    step, _, good = lookup()
    for wrong in (5, -7):
        step(tapegrad.tensor([1, wrong]))
        step(tapegrad.tensor([1, 9]))
        step(good)
        with pytest.raises(IndexError, match=f"index {wrong} is out of bounds"):
            tapegrad.ones(1).item()
        assert tapegrad.ones(1).item() == 1
    assert step(good).tolist() == [2, 6]


def test_it_is_raised_where_a_program_is_split():
    table = tapegrad.tensor([1.0, 2.0, 3.0])
    told = []

    @tapegrad.compile
    def step(index):
        value = table[index].sum().item()
        told.append(value)
        return value

    for _ in range(6):
        with pytest.raises(IndexError, match="index 5 is out of bounds"):
            step(tapegrad.tensor(BAD))
    assert not told


def test_a_call_that_keeps_its_result_is_checked():
    kept, table = [], tapegrad.tensor([1.0, 2.0, 3.0])

    @tapegrad.compile
    def step(index):
        kept.append(table[index])

    for _ in range(6):
        with pytest.raises(IndexError, match="index 5 is out of bounds"):
            (step(tapegrad.tensor(BAD)), kept[-1].tolist())
    assert step.replayed


def test_checks_of_examples_of_a_vmap():
    step = tapegrad.compile(lambda x, i: tapegrad.func.vmap(lambda x, i: x[i])(x, i))
    x = tapegrad.ones(2, 3)
    for _ in range(4):
        assert step(x, tapegrad.tensor([0, 2])).tolist() == [1, 1]
        with pytest.raises(IndexError, match="index 3 is out of bounds"):
            step(x, tapegrad.tensor([0, 3])).tolist()


AT_THE_END = """
import tapegrad as torch
step = torch.compile(lambda i: torch.ones(3)[i], fullgraph=True)
for index in (0, 0, 0, 5):
    torch.execution.wait_for_compiler()
    given = step(torch.tensor([index]))
"""


def test_it_is_told_at_the_end_of_the_process():
    done = subprocess.run([sys.executable, "-c", AT_THE_END], capture_output=True, text=True, check=True)
    assert "index 5 is out of bounds for dimension 0 with size 3" in done.stderr
