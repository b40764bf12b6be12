"""Draws and states that a compiled step must not miss: NumPy's, Python's, SciPy's, those in objects of C."""

import itertools
import random
import secrets
from random import random as draw

import numpy as np
from numpy.random import random as np_draw

import tapegrad as torch
from tests.compiled.declaring import program, regression

X = torch.tensor([[1.0, -2.0, 3.0], [0.5, 0.25, -1.0]])


def by(compile, function, *state):
    """The usual shape of these: a function of a tensor and its state."""
    step = compile(function)
    return lambda n: step(X), list(state)


@program("a discrete draw of np.random decides", calls=16)
def numpy_flip(compile):
    return by(compile, lambda x: x.flip(-1) if np.random.random() < 0.5 else x * 1)


@program("np.random.rand under another name", calls=16)
def numpy_alias(compile):
    return by(compile, lambda x: x.flip(-1) if np_draw() < 0.5 else x * 1)


@program("np.random.binomial", calls=12)
def numpy_binomial(compile):
    return by(compile, lambda x: x * np.random.binomial(1, 0.5))


@program("np.random.beta and permutation: mixup", calls=8)
def numpy_mixup(compile):
    def mix(x):
        lam = float(np.random.beta(0.4, 0.4))
        order = torch.tensor(np.random.permutation(len(x)))
        return lam * x + (1 - lam) * x[order]

    return by(compile, mix)


@program("other draws of np.random: poisson, exponential, gamma, laplace, multinomial")
def numpy_others(compile):
    def noisy(x):
        n = np.random.poisson(3.0) + np.random.exponential() + np.random.gamma(2.0) + np.random.laplace()
        return x * float(n) + int(np.random.multinomial(3, [0.5, 0.5])[0])

    return by(compile, noisy)


@program("np.random.integers of a Generator in a closure", calls=12)
def numpy_generator(compile):
    rng = np.random.default_rng(0)
    return by(compile, lambda x: x.roll(int(rng.integers(3)), -1), rng)


@program("a RandomState that is an attribute", calls=12)
def numpy_random_state(compile):
    class Augment:
        def __init__(self):
            self.rng = np.random.RandomState(0)

        def __call__(self, x):
            return x.flip(0) if self.rng.rand() < 0.5 else x + 0

    augment = Augment()
    return by(compile, lambda x: augment(x), augment)


@program("a bound method of a generator", calls=12)
def numpy_bound(compile):
    rng = np.random.default_rng(1)
    coin = rng.random
    return by(compile, lambda x: x * (2.0 if coin() < 0.5 else 3.0), rng)


@program("np.random.seed in the step")
def numpy_seeds(compile):
    def step(x):
        np.random.seed(0)
        return x + float(np.random.rand())

    return by(compile, step)


@program("np.random.get_state and set_state in the step")
def numpy_sets_state(compile):
    def step(x):
        state = np.random.get_state()
        noise = float(np.random.rand())
        np.random.set_state(state)
        return x + noise

    return by(compile, step)


@program("random.random", calls=12)
def python_random(compile):
    return by(compile, lambda x: x.flip(-1) if random.random() < 0.5 else x * 1)


@program("random.random under another name", calls=12)
def python_alias(compile):
    return by(compile, lambda x: x.flip(-1) if draw() < 0.5 else x * 1)


@program("random.choice and sample", calls=12)
def python_choice(compile):
    return by(compile, lambda x: x * random.choice([1.0, 2.0]) + sum(random.sample(range(5), 2)))


@program("a random.Random in a default", calls=12)
def python_own(compile):
    own = random.Random(5)

    def step(x, rng=own):
        return x * rng.randint(1, 3)

    return by(compile, step, own)


@program("random.shuffle of a list", calls=12)
def python_shuffle(compile):
    order = [0, 1, 2]

    def step(x):
        random.shuffle(order)
        return x[:, order]

    return by(compile, step, order)


@program("SciPy's distributions draw of np.random", calls=12)
def scipy_draw(compile):
    from scipy import stats

    return by(compile, lambda x: x * float(stats.norm.rvs()))


@program("SciPy's bernoulli decides", calls=12)
def scipy_bernoulli(compile):
    from scipy import stats

    return by(compile, lambda x: x.flip(-1) if stats.bernoulli.rvs(0.5) else x + 0)


@program("a frozen distribution of SciPy's with a state of its own", calls=8)
def scipy_frozen(compile):
    from scipy import stats

    frozen = stats.uniform()
    frozen.random_state = np.random.RandomState(3)
    return by(compile, lambda x: x + float(frozen.rvs()))


@program("itertools.count in a closure")
def counts_in_c(compile):
    numbers = itertools.count()
    return by(compile, lambda x: x * next(numbers), numbers)


@program("itertools.cycle over scales")
def cycles_in_c(compile):
    scales = itertools.cycle([1.0, 2.0, 3.0])
    return by(compile, lambda x: x * next(scales))


@program("the next item of an iterator that is an attribute")
def iterators_in_c(compile):
    class Source:
        numbers = iter(range(100))

    return by(compile, lambda x: x + next(Source.numbers))


@program("a generator function that is sent on")
def generators(compile):
    def schedule():
        rate = 1.0
        while True:
            yield rate
            rate *= 0.5

    rates = schedule()
    return by(compile, lambda x: x * next(rates))


@program("a bound __next__")
def bound_next(compile):
    step_of = iter(range(50)).__next__
    return by(compile, lambda x: x + (1 if step_of() < 4 else 2))


@program("an array's iterator, np.nditer's kind of state")
def array_iterators(compile):
    flat = iter(np.arange(40.0))
    return by(compile, lambda x: x + float(next(flat)))


@program("a sampler that draws with the global generator of torch", calls=10)
def sampler(compile):
    indices = torch.utils.data.RandomSampler(range(6))

    def step(x):
        return x[:, :1] * torch.tensor(list(indices)[:3])

    return by(compile, step)


@program("WeightedRandomSampler and its generator", calls=8)
def weighted_sampler(compile):
    generator = torch.Generator().manual_seed(4)
    indices = torch.utils.data.WeightedRandomSampler([0.1, 0.2, 0.7], 4, generator=generator)
    return by(compile, lambda x: x[:, next(iter(indices))], generator)


@program("torch.randint of which an element is read", calls=10)
def torch_drawn_index(compile):
    return by(compile, lambda x: x[:, torch.randint(3, (1,)).item()])


@program("torch.rand decides", calls=12)
def torch_coin(compile):
    return by(compile, lambda x: x.flip(-1) if torch.rand(()) < 0.5 else x * 1)


@program("dropout, randn and a generator of one's own")
def torch_streams(compile):
    generator = torch.Generator().manual_seed(7)

    def step(x):
        noise = torch.randn(2, 3, generator=generator)
        return torch.nn.functional.dropout(x, 0.5) + noise + torch.randn_like(x)

    return by(compile, step, generator)


@program("manual_seed in the step")
def seeds(compile):
    def step(x):
        torch.manual_seed(0)
        return x + torch.rand(2, 3)

    return by(compile, step)


@program("manual_seed by getattr")
def seeds_by_name(compile):
    def step(x):
        getattr(torch, "manual" + "_seed")(0)
        return x + torch.rand(2, 3)

    return by(compile, step)


@program("the default generator's state is put back")
def rng_state_put_back(compile):
    def step(x):
        state = torch.get_rng_state()
        noise = torch.rand(2, 3)
        torch.set_rng_state(state)
        return x + noise

    return by(compile, step)


@program("fork_rng in the step")
def forks(compile):
    def step(x):
        with torch.random.fork_rng():
            noise = torch.rand(2, 3)
        return x + noise + torch.rand(2, 3)

    return by(compile, step)


@program("initial_seed is read")
def reads_seed(compile):
    step = compile(lambda x: x + torch.initial_seed())

    def call(n):
        torch.manual_seed(n // 4)
        return step(X)

    return call, []


@program("distributions' samples", calls=8)
def distributions(compile):
    def step(x):
        return x + torch.distributions.Normal(0.0, 1.0).sample((2, 3)) + torch.distributions.Categorical(
            logits=torch.zeros(3)).sample((2, 3))  # fmt: skip

    return by(compile, step)


@program("numbers from the system", calls=4)
def from_the_system(compile):
    found = []

    def step(x):
        found.append(secrets.token_bytes(8))
        return x + 1

    call, _ = by(compile, step)
    return lambda n: (call(n), len(set(found))), []


@program("random initialisation in the step", calls=6)
def initialises(compile):
    def step(x):
        weight = torch.empty(3, 3)
        torch.nn.init.xavier_uniform_(weight)
        return x @ weight

    return by(compile, step)


@program("a batch is shuffled by randperm", calls=8)
def shuffles(compile):
    step = compile(lambda x, y: (x[(order := torch.randperm(len(x)))], y[order]))
    return lambda n: step(*regression(n)), []
