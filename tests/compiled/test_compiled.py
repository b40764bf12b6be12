"""Every entry of the table gives compiled what it gives at once; and what is compared can tell."""

import contextlib
import io
import itertools
import os
import random
import re

import numpy as np
import pytest

import tapegrad as torch
from tests.compiled.running import difference, entries
from tests.compiled.status import is_in_parts
from tests.rings import is_drawn

REPLAYED = frozenset("""
tutorial lazy_meter scheduler_inside scheduler_outside nanogpt_rate micro_steps clip_value scaler_off decay_groups
two_optimizers other_optimizers closure_step sgd_by_hand functional_update ema ema_warms_up sam lookahead own_optimizer
noisy_gradients freezing spectral hooked_gradients optimizer_in_backward compiled_update compiled_both compiled_twice
compiled_inference compiled_predict dcgan wgan_gp wgan vq_vae diffusion diffusion_samples gpt td_update a2c sac lstm
gru_lengths gru_dynamic state_goes_round unrolled padded attention_kept ctc resnet unet augments_by_torch smoothing
focal byol triplets adversarial style func_grad per_sample hessian_product pinn maml reptile own_function
own_function_of_several
reversed_gradient binary_weights checkpointed neural_ode newton langevin model_output ragged_lists last_batch
infers running_numbers large_global cached_list cached_tensors registry
making_dictionary context_variable_within environment_changes signature who_looks_on hessian jacobian_penalty
read_between_new_kernels object_returned objects_nested object_twice object_in_circle object_in_slots object_careful
object_changed_outside objects_appended object_from_before cache_returned numbers_in_object asks_for_tracer
object_trains net_of_object record namespace nested order_of_attributes two_or_one one_list_or_two given_method
methods_in_turn given_lambda
""".split())  # noqa: SIM905
"""Of which calls must be replayed: what only runs as it stands is right, and shows nothing."""


IN_PARTS = frozenset("""
clip_and_item early_stopping fine_tuning updates_at_rates updates_on_schedule updates_with_hooks updates_counted
updates_wrapped
""".split())  # noqa: SIM905
"""Of which the models and the updates must be replayed."""


def drawn(kind, share):
    """The names of a table, of which only so many are run by default, the others in the widest rings."""
    wide = pytest.mark.ring("whole")
    return [name if is_drawn(name, share) else pytest.param(name, marks=wide) for name in sorted(entries(kind))]


IN_TURN = "accumulation", "running_numbers", "train_and_eval"
"""Of which calls of several kinds come in turn, by their gradients, flags or numbers: each has a program of its own."""


@pytest.fixture(autouse=True)
def settings():
    """What programs set is taken back."""
    before = np.get_printoptions()
    yield
    np.set_printoptions(**before)
    torch.use_deterministic_algorithms(False)
    torch.set_printoptions(profile="default")


@pytest.mark.once("a program is compared with itself at once")
@pytest.mark.parametrize("name", drawn("steps", 24))
def test_step(name):
    assert_right(entries()[name])


@pytest.mark.once("a program is compared with itself at once")
@pytest.mark.parametrize("name", IN_TURN)
def test_calls_in_turn_are_replayed(name):
    fault, compile = difference(entries()[name], calls=24)
    assert fault is None, fault
    (calls, replayed), (last, most) = compile.counts[-8], compile.counts[-1]
    assert last - calls == most - replayed, [one.report() for one in compile.known()]


def test_gradients_of_other_kinds_have_programs_of_their_own():
    """A gradient that is not there, that nobody has written to, and one that was written to."""
    w, versions = torch.ones(2, requires_grad=True), []
    add = torch.compile(lambda x: (w * x).sum().backward())
    for number in range(24):
        if number % 4 == 0:
            w.grad = None
        kept, before = w.grad, [] if w.grad is None else w.grad.tolist()
        add(torch.full((2,), 1.0 + number))
        assert kept is None or kept is w.grad
        assert w.grad.tolist() == [1.0 + number + (before or [0.0])[0]] * 2
        versions.append(w.grad._version)
    assert versions == [0, 1, 2, 3] * 6 and add.replayed >= 12


@pytest.mark.once("a program is compared with itself at once")
@pytest.mark.parametrize("name", drawn("attacks", 6))
def test_attack(name):
    assert_right(entries()[name])


def keeps_first(function, **options):
    """A compiler that gives what the first call gave."""
    found = []
    return lambda *args, **kwargs: found[0] if found else (found.append(function(*args, **kwargs)), found[0])[1]


def of(change):
    """A compiler whose functions do something more after each call: ``change(result, number)`` gives the result."""

    def by(function, **options):
        numbers = itertools.count()
        return lambda *args, **kwargs: change(function(*args, **kwargs), next(numbers))

    return by


class Odd(int):
    """A number that isn't the user's own."""


def silent(function, **options):
    """A compiler whose functions print nothing."""

    def call(*args, **kwargs):
        with contextlib.redirect_stdout(io.StringIO()):
            return function(*args, **kwargs)

    return call


def keeps_arguments(function, **options):
    """A compiler that never forgets."""
    kept = []
    return lambda *args, **kwargs: (kept.append((args, kwargs)), function(*args, **kwargs))[1]


def draws(stream):
    return of(lambda result, number: (stream(), result)[1])


FAULTS = {
    "a result is the former one": ("tutorial", keeps_first, "result"),
    "a step is left out": ("returns_item", keeps_first, "result"),
    "an append is left out": ("dict_methods", keeps_first, "state"),
    "a gradient is dropped": ("accumulation", of(lambda result, n: result if n != 3 else None), "call 3"),
    "numbers are of another type": ("count_returned", of(lambda result, n: (result[0], Odd(result[1]))), "Odd"),
    "a dtype is another one": ("tutorial", of(lambda result, n: result.double()), "float64"),
    "results require no grad": ("tutorial", of(lambda result, n: result.detach()), "marks"),
    "prints are left out": ("prints", silent, "printed"),
    "a warning is left out": ("warns", keeps_first, "warned"),
    "a stream of torch is ahead": ("tutorial", draws(lambda: torch.rand(1)), "torch random"),
    "a stream of NumPy is ahead": ("tutorial", draws(np.random.rand), "numpy random"),
    "a stream of Python is ahead": ("tutorial", draws(random.random), "random"),
    "batches are kept": ("dataclass_batch", keeps_arguments, "is 36, expected 0"),
    "a file is written": ("tutorial", draws(lambda: open("left.txt", "w").close()), "files"),
    "a mode is left": ("tutorial", draws(lambda: torch.set_num_threads(torch.get_num_threads() + 1)), "threads"),
    "a variable is left": ("tutorial", draws(lambda: os.environ.update(STEP_LEFT="1")), "environment"),
    "it raises": ("tutorial", of(lambda result, n: result / int(1 // (n - 4) < 1)), "raised ZeroDivisionError"),
}
"""What a wrong compiler does; an entry that must find it; and where."""


@pytest.mark.once("a program is compared with itself at once")
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_found(fault):
    name, by, where = FAULTS[fault]
    found, _ = difference(entries()[name], by)
    assert found is not None and re.search(where, found), found


REPEATED = sorted(entries())
MOST_OF_ALL = [pytest.param(name, marks=pytest.mark.ring("whole")) for name in REPEATED[1:]]


@pytest.mark.once("a program is compared with itself at once")
@pytest.mark.parametrize("name", [REPEATED[0], *MOST_OF_ALL])
def test_program_is_repeatable(name):
    """What two plain runs differ in can't be told from what a compiler does wrong."""
    found, _ = difference(entries()[name], lambda function, **options: function)
    assert found is None


def assert_right(entry):
    fault, compile = difference(entry)
    assert fault is None, fault
    if entry.name in REPLAYED:
        assert compile.counts[-1][1] > 0, [one.report() for one in compile.known()]
    if entry.name in IN_PARTS:
        assert is_in_parts(entry, compile), [one.report() for one in compile.known()]
