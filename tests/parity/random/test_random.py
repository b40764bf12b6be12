"""Random tensors against PyTorch: distributions, shapes and dtypes, errors, seeds. The numbers themselves differ."""

import numpy as np
import pytest
import torch as pytorch
from case_tables import lines
from harness import agree, attempt
from transcripts import MODULES, same_transcript

import tapegrad

pytestmark = pytest.mark.parity

SHAPES = """
torch.rand(2).shape, torch.rand(2, 3).shape, torch.rand([2, 3]).shape, torch.rand(()).shape, torch.rand(size=(2,)).shape
torch.rand(2, dtype=torch.bfloat16).dtype, torch.rand(2, dtype=torch.complex64).dtype, torch.randn(0, 3)
torch.rand(2, requires_grad=True).requires_grad, torch.rand(2, generator=torch.Generator(), device="cpu").shape
torch.rand(2, out=torch.ones(2)).shape
torch.randn(2, dtype=torch.float64).dtype, torch.randn(2, dtype=torch.complex128).dtype
torch.rand_like(torch.ones(2, 3, requires_grad=True)).requires_grad
torch.rand_like(torch.ones(2), dtype=torch.float64)[:0]
torch.randn_like(torch.ones(2), generator=torch.Generator(), memory_format=torch.preserve_format).shape
torch.randint(5, (2,)).dtype, torch.randint(0, 5, (2,)).shape, torch.randint(high=5, size=(2,)).shape
torch.randint(low=1, high=5, size=(2,), dtype=torch.int32).dtype, torch.randint(5, (2,), dtype=torch.float32).dtype
torch.randint(3, 4, (2,)), torch.randint(-3, -2, (2,)), torch.randint(0, 1, (2,), dtype=torch.bool)
torch.randint(2**62, 2**62 + 1, (2,)), torch.randint(255, 256, (2,), dtype=torch.uint8)
torch.randint_like(torch.ones(2), 1), torch.randint_like(torch.ones(2), 1, 2), torch.randint_like(torch.ones(2), high=1)
torch.randperm(4).dtype, torch.randperm(4, dtype=torch.float32).dtype, torch.randperm(0), torch.randperm(1)
torch.randperm(100).sort().values.tolist() == list(range(100))
torch.normal(0.0, 1.0, (2,)).shape, torch.normal(0, 1, size=(2,)).dtype
torch.normal(torch.zeros(2, 1), torch.ones(3)).shape
torch.normal(torch.tensor([1.0, 2.0]), 0.0), torch.normal(3.0, torch.zeros(2)), torch.normal(torch.ones(2)).shape
torch.normal(torch.zeros(1), torch.zeros(1, dtype=torch.float64))
torch.normal(torch.zeros(1, dtype=torch.float64), 0.0)
torch.normal(mean=0.0, std=1.0, size=(2,), requires_grad=True).requires_grad
torch.normal(torch.zeros(2, requires_grad=True), 1.0).grad_fn
torch.normal(0.0, torch.ones(2, requires_grad=True)).grad_fn
torch.normal(torch.zeros(2, requires_grad=True), torch.ones(2)).grad_fn
out = torch.ones(2, 2); torch.normal(torch.tensor([1.0, 2.0]), 0.0, out=out) is out, out, out._version
torch.normal(torch.tensor([1, 2]), 0.0, out=torch.ones(2)), torch.normal(1.0, torch.zeros(2), out=torch.ones(0))
torch.normal(torch.ones(2), torch.zeros(2, 1), out=torch.ones(0, dtype=torch.float64))
torch.normal(torch.zeros(3, 2).t(), torch.zeros(2, 3), out=torch.ones(0)).stride()
torch.normal(torch.ones(2), 0.0, out=torch.ones(2, dtype=torch.complex64))
torch.bernoulli(torch.tensor([0.0, 1.0])), torch.bernoulli(torch.tensor([0.0, 1.0], requires_grad=True))
torch.bernoulli(torch.ones(2), 0.0), torch.ones(2).bernoulli(0.0), torch.ones(2, dtype=torch.int64).bernoulli(p=0.0)
torch.ones(2).bernoulli(), torch.bernoulli(torch.empty(0))
torch.multinomial(torch.tensor([0.0, 1.0, 0.0]), 1), torch.multinomial(torch.tensor([0.0, 1.0, 0.0]), 2, True)
torch.multinomial(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), 1), torch.multinomial(torch.ones(0, 2), 1)
torch.multinomial(torch.ones(2, 3, requires_grad=True), 2).requires_grad, torch.ones(2, 3).multinomial(2).shape
torch.multinomial(torch.ones(5, dtype=torch.float16), 5).sort().values
torch.poisson(torch.tensor([0.0, 0.0])), torch.poisson(torch.ones(2, requires_grad=True)).grad_fn
torch.binomial(torch.tensor([10.0, 3.0]), torch.tensor([1.0, 0.0]))
"""

MISTAKES = """
torch.rand()
torch.rand("a")
torch.rand(2.5)
torch.rand(-1)
torch.randn(2, -1)
torch.randn([2, 2.5])
torch.rand(2, dtype=torch.int64)
torch.rand(2, dtype=torch.bool)
torch.randn(2, dtype=torch.int64)
torch.rand_like(torch.ones(2, dtype=torch.int64))
torch.randn_like(torch.ones(2, dtype=torch.int64))
torch.randn_like(3)
torch.randint()
torch.randint(3)
torch.randint(5, 2)
torch.randint(5.5, (2,))
torch.randint("a", (2,))
torch.randint(0, "a", (2,))
torch.randint(5, 5, (2,))
torch.randint(5, 3, (2,))
torch.randint(0, (2,))
torch.randint(0, 300, (2,), dtype=torch.uint8)
torch.randint(-5, 5, (2,), dtype=torch.uint8)
torch.randint(0, 3, (2,), dtype=torch.bool)
torch.randint(-200, 3, (2,), dtype=torch.int8)
torch.randint(0, 40000, (2,), dtype=torch.int16)
torch.randint(0, 2**32, (2,), dtype=torch.int32)
torch.randint(0, 2**63, (2,))
torch.randint(0, 70000, (2,), dtype=torch.float16)
torch.randint(0, 2**40, (2,), dtype=torch.float32).shape
torch.randint(0, 300, (2,), dtype=torch.bfloat16).shape
torch.randint(0, 5, (2,), requires_grad=True)
torch.randperm()
torch.randperm("a")
torch.randperm(2.5)
torch.randperm(-1)
torch.randperm(300, dtype=torch.uint8)
torch.randperm(3, dtype=torch.bool)
torch.normal("a", 1.0)
torch.normal(torch.ones(2), "a")
torch.normal(torch.ones(2), 1.0, (2,))
torch.normal(0.0, 1.0)
torch.normal(0.0, 1.0, 2)
torch.normal(0.0, 1.0, (2,), dtype=torch.int64)
torch.normal(0.0, -1.0, (2,))
torch.normal(torch.zeros(2), -1.0)
torch.normal(torch.zeros(2), -torch.ones(2))
torch.normal(torch.zeros(2), torch.ones(3))
torch.normal(torch.zeros(2), torch.ones(2, dtype=torch.complex64))
torch.normal(torch.zeros(2, dtype=torch.int64), torch.ones(2))
torch.normal(torch.ones(2), 0.0, out=torch.ones(0))
torch.normal(torch.ones(2), out=torch.ones(3))
torch.normal(torch.ones(2), 0.0, out=torch.ones(2, dtype=torch.int64))
torch.normal(torch.ones(2) + 0j, 0.0, out=torch.ones(2))
torch.normal(torch.ones(2), torch.zeros(2), out=torch.ones(2, requires_grad=True))
torch.normal(torch.ones(2, requires_grad=True), 0.0, out=torch.ones(2))
torch.normal(0.0, 0.0, (2,), out=torch.ones(2), dtype=torch.float64)
torch.normal(0.0, 0.0, (2,), out=torch.ones(2, requires_grad=True))
torch.normal(torch.ones(2), -1.0, out=torch.ones(2))
torch.bernoulli(3)
torch.bernoulli(torch.tensor([0, 1]))
torch.bernoulli(torch.tensor([0.5 + 0j]))
torch.bernoulli(torch.tensor([0.0, 2.0]))
torch.bernoulli(torch.tensor([0.0, float("nan")]))
torch.bernoulli(torch.ones(2), p=2.0)
torch.multinomial(torch.ones(3), 2.5)
torch.multinomial(torch.ones(3), 0)
torch.multinomial(torch.ones(3), 4)
torch.multinomial(torch.zeros(3), 1)
torch.multinomial(torch.zeros(3), 1, True)
torch.multinomial(torch.tensor([-1.0, 1.0]), 1)
torch.multinomial(torch.tensor([float("nan"), 1.0]), 1)
torch.multinomial(torch.tensor([float("inf"), 1.0]), 1)
torch.multinomial(torch.tensor([1, 1]), 1)
torch.multinomial(torch.tensor(1.0), 1)
torch.multinomial(torch.ones(2, 2, 2), 1)
torch.multinomial(torch.ones(2, 0), 1)
torch.poisson(torch.tensor([-1.0]))
torch.poisson(torch.tensor([1]))
"""

IN_PLACE = """
x = torch.ones(2); x.uniform_() is x, x._version
x = torch.ones(2); x.normal_(3.0, 0.0), x.log_normal_(std=1e-30).shape, x.exponential_(float("inf"))
x = torch.ones(2, dtype=torch.complex64); x.uniform_().dtype, x.normal_().dtype
x = torch.ones(2); x.bernoulli_(0.0), x.bernoulli_(torch.tensor([0.0, 1.0])), x.bernoulli_(torch.tensor(1.0))
x = torch.ones(2, dtype=torch.int64); x.bernoulli_(0.0), x.geometric_(0.999999).dtype, x.random_(1)
x = torch.ones(2, dtype=torch.bool); x.random_().dtype, x.bernoulli_(1.0)
x = torch.ones(2); x.random_(5, None).dtype, x.random_().dtype, x.random_(3, 4), x.random_(to=1)
torch.ones(2, requires_grad=True).uniform_()
(torch.ones(2, requires_grad=True) * 2).uniform_().grad_fn
(torch.ones(2, requires_grad=True) * 2).normal_().grad_fn
(torch.ones(2, requires_grad=True) * 2).bernoulli_().grad_fn
(torch.ones(2, requires_grad=True) * 2).bernoulli_(torch.ones(2)).grad_fn
(torch.ones(2, requires_grad=True) * 2).exponential_().grad_fn
(torch.ones(2, requires_grad=True) * 2).cauchy_().grad_fn
(torch.ones(2, requires_grad=True) * 2).log_normal_().grad_fn
(torch.ones(2, requires_grad=True) * 2).geometric_(0.5).grad_fn
(torch.ones(2, requires_grad=True) * 2).random_().grad_fn
(torch.ones(2, requires_grad=True) * 2).random_(5).grad_fn
(torch.ones(2, requires_grad=True) * 2).random_(2, 5).grad_fn
x = torch.ones(2, requires_grad=True); (x * 2).uniform_().sum().backward(); x.grad
x = torch.ones(2, requires_grad=True); torch.bernoulli(x).sum().backward(); x.grad
x = torch.zeros(2, 1, requires_grad=True); torch.normal(x, torch.ones(3)).sum().backward(); x.grad
x = torch.ones(3, requires_grad=True); torch.normal(torch.zeros(2, 1), x).sum().backward(); x.grad
torch.ones(2).uniform_(2, 1)
torch.ones(2).uniform_(0, 1e39)
torch.ones(2).uniform_(-3e38, 3e38)
torch.ones(2).uniform_(0, "a")
torch.ones(2, dtype=torch.int64).uniform_()
torch.ones(2).normal_(0, -1)
torch.ones(2).normal_("a")
torch.ones(2, dtype=torch.int64).normal_()
torch.ones(2).exponential_(0)
torch.ones(2, dtype=torch.int64).exponential_()
torch.ones(2).cauchy_(0, -1)
torch.ones(2, dtype=torch.int64).cauchy_()
torch.ones(2).log_normal_(0, -1)
torch.ones(2, dtype=torch.int64).log_normal_()
torch.ones(2).geometric_(0)
torch.ones(2).geometric_(1)
torch.ones(2).geometric_("a")
torch.ones(2, dtype=torch.bool).geometric_(0.5)
torch.ones(2).bernoulli_(2.0)
torch.ones(2).bernoulli_("a")
torch.ones(2).bernoulli_(torch.tensor([0, 1]))
torch.ones(2).bernoulli_(torch.ones(3))
torch.ones(2, dtype=torch.complex64).bernoulli_(0.5)
torch.ones(2).random_(5, 2)
torch.ones(2).random_(0)
torch.ones(2).random_(2.5)
torch.ones(2).random_("a")
torch.ones(2, dtype=torch.uint8).random_(300)
torch.ones(2, dtype=torch.complex64).random_(2)
"""

GENERATORS = """
torch.manual_seed(3) is torch.default_generator, torch.random.default_generator is torch.default_generator
torch.manual_seed(-1).initial_seed(), torch.manual_seed(-(2**63)).initial_seed(), torch.manual_seed(1.5).initial_seed()
torch.manual_seed(torch.tensor(3)).initial_seed(), torch.manual_seed("7").initial_seed()
torch.manual_seed(2**64)
torch.manual_seed(-(2**63) - 1)
torch.manual_seed("a")
torch.manual_seed(None)
torch.Generator().initial_seed(), torch.Generator().manual_seed(5).initial_seed(), torch.Generator().device
torch.Generator("cpu").device, torch.Generator(device="cpu").device, torch.Generator().get_state().dtype
torch.Generator().manual_seed("a")
torch.Generator().manual_seed(1.5)
torch.Generator().manual_seed(2**64)
torch.Generator("foo")
torch.Generator().set_state(3)
torch.Generator().set_state(torch.ones(3))
torch.Generator().seed() > 0, torch.seed() == torch.initial_seed(), torch.get_rng_state().dtype
torch.set_rng_state(3)
torch.manual_seed(3); x = torch.rand(2); torch.manual_seed(3); torch.equal(x, torch.rand(2))
torch.manual_seed(3); s = torch.get_rng_state(); x = torch.rand(2); torch.set_rng_state(s); x.equal(torch.rand(2))
g = torch.Generator().manual_seed(3); h = g.clone_state(); torch.rand(2, generator=g).equal(torch.rand(2, generator=h))
g, h = torch.Generator(), torch.Generator(); h.set_state(g.get_state()).initial_seed() == g.initial_seed()
g = torch.Generator(); x = torch.rand(2, generator=g); x.equal(torch.rand(2, generator=g))
"""


@pytest.mark.parametrize("line", lines(SHAPES, MISTAKES, IN_PLACE, GENERATORS))
def test_line(line):
    same_transcript(line)


DISTRIBUTIONS = {
    "rand": lambda torch, g: torch.rand(4000, generator=g, dtype=torch.float64),
    "randn": lambda torch, g: torch.randn(4000, generator=g, dtype=torch.float64),
    "complex randn": lambda torch, g: torch.randn(4000, generator=g, dtype=torch.complex128).imag,
    "randint": lambda torch, g: torch.randint(-3, 9, (4000,), generator=g),
    "normal": lambda torch, g: torch.normal(2.0, 3.0, (4000,), generator=g),
    "normal of tensors": lambda torch, g: torch.normal(torch.full((4000,), 2.0), torch.tensor(3.0), generator=g),
    "bernoulli": lambda torch, g: torch.bernoulli(torch.full((4000,), 0.3), generator=g),
    "poisson": lambda torch, g: torch.poisson(torch.full((4000,), 2.5), generator=g),
    "binomial": lambda torch, g: torch.binomial(torch.full((4000,), 9.0), torch.full((4000,), 0.3), generator=g),
    "multinomial": lambda torch, g: torch.multinomial(torch.tensor([1.0, 5.0, 2.0]), 4000, True, generator=g),
    "multinomial without replacement": lambda torch, g: torch.multinomial(
        torch.tensor([[1.0, 5.0, 2.0, 1.0]]).expand(4000, 4).contiguous(), 2, generator=g
    )[:, 1],
    "uniform_": lambda torch, g: torch.empty(4000).uniform_(-2, 5, generator=g),
    "exponential_": lambda torch, g: torch.empty(4000).exponential_(1.5, generator=g),
    "cauchy_": lambda torch, g: torch.empty(4000).cauchy_(1, 2, generator=g).atan(),
    "log_normal_": lambda torch, g: torch.empty(4000).log_normal_(0.5, 0.7, generator=g),
    "geometric_": lambda torch, g: torch.empty(4000).geometric_(0.3, generator=g),
    "random_": lambda torch, g: torch.empty(4000, dtype=torch.int8).random_(generator=g),
    "randperm": lambda torch, g: torch.randperm(4000, generator=g)[:2000],
}


def sample(module, program):
    return program(module, module.Generator().manual_seed(7)).to(module.float64).numpy()


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distribution(name):
    """Two samples of one distribution: their distribution functions differ by less than chance would in 1 of 10**6."""
    theirs, ours = (np.sort(sample(module, DISTRIBUTIONS[name])) for module in MODULES)
    assert ours.shape == theirs.shape
    points = np.concatenate([ours, theirs])
    distance = np.abs(
        np.searchsorted(ours, points, side="right") / len(ours)
        - np.searchsorted(theirs, points, side="right") / len(ours)
    ).max()
    assert distance < 2.7 * (2 / len(ours)) ** 0.5


def test_neighbours_are_independent():
    x = sample(tapegrad, DISTRIBUTIONS["randn"])
    assert abs(np.corrcoef(x[:-1], x[1:])[0, 1]) < 0.08
    permutations = np.array([tapegrad.randperm(3).tolist() for _ in range(600)])
    _, counts = np.unique(permutations, axis=0, return_counts=True)
    assert len(counts) == 6
    assert counts.min() > 60


def test_other_generators_leave_the_default_one_alone():
    for module in (pytorch, tapegrad):
        state = module.manual_seed(3).get_state()
        module.rand(2, generator=module.Generator())
        assert module.equal(module.get_rng_state(), state)


def test_fork_rng():
    for module in (pytorch, tapegrad):
        module.manual_seed(3)
        with module.random.fork_rng():
            inside = module.rand(2)
            module.manual_seed(5)
        assert module.equal(module.rand(2), inside)


@pytest.mark.filterwarnings("ignore:`torch.jit.script`")
@pytest.mark.parametrize("draw", ["x.bernoulli(0.5)", "torch.bernoulli(x, 0.5)", "x[:0].bernoulli(0.5)"])
def test_a_draw_by_a_number_is_recorded_but_has_no_derivative(draw):
    def program(torch):
        x = torch.ones(3, requires_grad=True)
        y = eval(draw)
        level = torch.autograd.forward_ad.dual_level()

        def tangent():
            with level:
                dual = torch.autograd.forward_ad.make_dual(torch.ones(3), torch.ones(3))
                with pytest.raises(NotImplementedError, match="bernoulli"):
                    eval(draw, {"x": dual, "torch": torch})

        tangent()
        refused = attempt(lambda: y.sum().backward())
        with torch.no_grad():
            unrecorded = eval(draw).requires_grad
        around = [y.grad_fn.name(), y.grad_fn.next_functions[0][0].name(), y.requires_grad, y.shape]
        return around, refused, unrecorded, eval(draw, {"x": x.detach(), "torch": torch}).requires_grad

    agree(program)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_drawn_with_more_bits_than_they_have(dtype):
    """Else there are no tails, and zeros among exponential numbers, whose logarithm `gumbel_softmax` takes."""
    for torch in (pytorch, tapegrad):
        torch.manual_seed(0)
        x = torch.empty(100_000, dtype=getattr(torch, dtype))
        assert 3.8 < torch.randn_like(x).max().item() < 6
        assert x.exponential_().min().item() > 0 and 9 < x.max().item() < 20
        assert 19 < x.log_normal_().float().mean().item() < 22
        assert x.cauchy_().abs().max().item() > 5_000
        assert 0.495 < x.uniform_().float().mean().item() < 0.501 and x.max().item() < 1
        assert not torch.nn.functional.gumbel_softmax(torch.ones(10_000, 4, dtype=x.dtype), 1e-3).isnan().any()
