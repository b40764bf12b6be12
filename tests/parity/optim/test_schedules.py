"""Schedules of learning rates beside PyTorch's: rates, momenta, state dicts, warnings, errors."""

import warnings

import pytest
import torch

import tapegrad

pytestmark = [pytest.mark.parity, pytest.mark.once("numbers of Python")]

SCHEDULES = {
    "LambdaLR": [
        {"lr_lambda": lambda step: 0.9**step},
        {"lr_lambda": [lambda step: 0.9**step, lambda step: 1 / (step + 1)]},
    ],
    "MultiplicativeLR": [{"lr_lambda": lambda step: 0.9}],
    "StepLR": [{"step_size": 3}, {"step_size": 2, "gamma": 0.5}],
    "MultiStepLR": [{"milestones": [2, 5, 5]}],
    "ConstantLR": [{}, {"factor": 0.5, "total_iters": 3}],
    "LinearLR": [{}, {"start_factor": 0.2, "end_factor": 0.7, "total_iters": 4}],
    "ExponentialLR": [{"gamma": 0.8}],
    "PolynomialLR": [{}, {"total_iters": 8, "power": 2.0}],
    "CosineAnnealingLR": [{"T_max": 4}, {"T_max": 5, "eta_min": 0.01}],
    "CosineAnnealingWarmRestarts": [{"T_0": 3}, {"T_0": 2, "T_mult": 2, "eta_min": 0.01}],
    "CyclicLR": [
        {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 3},
        {"base_lr": 0.01, "max_lr": [0.1, 0.2], "step_size_up": 2, "step_size_down": 3, "mode": "triangular2"},
        {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 3, "mode": "exp_range", "gamma": 0.9},
        {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 3, "scale_fn": lambda x: 0.5**x, "cycle_momentum": False},
    ],
    "OneCycleLR": [
        {"max_lr": 0.1, "total_steps": 12},
        {"max_lr": 0.1, "epochs": 3, "steps_per_epoch": 4, "three_phase": True, "anneal_strategy": "linear"},
    ],
}  # fmt: skip
CASES = [
    pytest.param(name, kwargs, id=f"{name}-{i}") for name, some in SCHEDULES.items() for i, kwargs in enumerate(some)
]
STEPS = 12


def optimizer_of(lib, kind="SGD", **options):
    options = {"momentum": 0.9} | options if kind == "SGD" else options
    groups = [{"params": [lib.zeros(1)]}, {"params": [lib.zeros(1)], "lr": 0.5}]
    return getattr(lib.optim, kind)(groups, lr=0.1, **options)


def course(optimizer, schedule, steps=STEPS, metrics=None):
    """The options that a schedule may change, after each step."""
    seen = []
    for step in range(steps):
        seen.append([{key: group.get(key) for key in ("lr", "momentum", "betas")} for group in optimizer.param_groups])
        seen.append(schedule.get_last_lr())
        optimizer.step()
        schedule.step(*([] if metrics is None else [metrics[step]]))
    return seen


def alike(one, other):
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        for x, y in zip(a, b, strict=True):
            assert x == pytest.approx(y, rel=1e-12) if not isinstance(x, dict) else same_options(x, y)


def same_options(x, y):
    return all(x[key] == pytest.approx(y[key], rel=1e-12) if x[key] is not None else y[key] is None for key in x)


def both(program):
    return program(tapegrad), program(torch)


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize(("name", "kwargs"), CASES)
def test_rates_step_by_step(name, kwargs, kind):
    def program(lib):
        optimizer = optimizer_of(lib, kind)
        return course(optimizer, getattr(lib.optim.lr_scheduler, name)(optimizer, **kwargs))

    alike(*both(program))


@pytest.mark.parametrize(("name", "kwargs"), CASES)
def test_closed_forms(name, kwargs):
    """``step(epoch)`` goes to any step."""

    def program(lib):
        optimizer = optimizer_of(lib)
        schedule = getattr(lib.optim.lr_scheduler, name)(optimizer, **kwargs)
        seen = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for epoch in (4, 1, 7):
                schedule.step(epoch)
                seen.append(schedule.get_last_lr())
        return seen

    alike(*both(program))


@pytest.mark.parametrize(("name", "kwargs"), CASES)
def test_states_are_taken_over(name, kwargs):
    """A schedule that is loaded goes on where the other was; the keys of its state are PyTorch's."""

    def program(lib):
        first, second = optimizer_of(lib), optimizer_of(lib)
        schedule = getattr(lib.optim.lr_scheduler, name)(first, **kwargs)
        course(first, schedule, 5)
        again = getattr(lib.optim.lr_scheduler, name)(second, **kwargs)
        state = schedule.state_dict()
        keys = state.keys() - {"_scale_fn_ref"}
        again.load_state_dict(state)
        second.load_state_dict(first.state_dict())
        return course(second, again, 5), keys

    (mine, keys), (theirs, others) = both(program)
    alike(mine, theirs)
    assert keys == others


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"mode": "max"},
        {"threshold_mode": "abs", "patience": 1},
        {"patience": 1, "cooldown": 2, "min_lr": [0.05, 0.0]},
    ],
)
def test_plateaus(kwargs):
    metrics = [3.0, 2.0, 2.0, 2.0, 1.9999, 2.5, 2.5, 2.5, 1.0, 1.0, 1.0, 1.0]

    def program(lib):
        optimizer = optimizer_of(lib)
        schedule = lib.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **({"patience": 2} | kwargs))
        return course(optimizer, schedule, metrics=metrics), schedule.state_dict()

    (mine, state), (theirs, other) = both(program)
    alike(mine, theirs)
    assert state == other


def one_after_the_other(lib, optimizer):
    schedules = lib.optim.lr_scheduler
    parts = [
        schedules.LinearLR(optimizer, total_iters=3),
        schedules.ExponentialLR(optimizer, 0.9),
        schedules.StepLR(optimizer, 2),
    ]
    return schedules.SequentialLR(optimizer, parts, [3, 7])


def test_one_after_the_other():
    def program(lib):
        optimizer = optimizer_of(lib)
        return course(optimizer, one_after_the_other(lib, optimizer))

    alike(*both(program))


def several_at_each_step(lib, optimizer):
    schedules = lib.optim.lr_scheduler
    parts = [schedules.ConstantLR(optimizer, 0.1, 2), schedules.ExponentialLR(optimizer, 0.9)]
    return schedules.ChainedScheduler(parts)


def test_several_at_each_step():
    def program(lib):
        optimizer = optimizer_of(lib)
        chained = several_at_each_step(lib, optimizer)
        seen = course(optimizer, chained, 5)
        state = chained.state_dict()
        return seen, sorted(state), [sorted(one) for one in state["_schedulers"]]

    (mine, *keys), (theirs, *others) = both(program)
    alike(mine, theirs)
    assert keys == others


def built_in(name, kwargs):
    return lambda lib, optimizer: getattr(lib.optim.lr_scheduler, name)(optimizer, **kwargs)


MAKERS = {
    **{case.id: built_in(*case.values) for case in CASES},
    "SequentialLR": one_after_the_other,
    "ChainedScheduler": several_at_each_step,
    "ReduceLROnPlateau": built_in("ReduceLROnPlateau", {"patience": 1}),
    "SWALR": lambda lib, optimizer: lib.optim.swa_utils.SWALR(optimizer, 0.05, anneal_epochs=8),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("way", ["from PyTorch", "to PyTorch"])
def test_a_state_goes_on_in_the_other_library(name, way):
    """Five steps there, five here: the rates are those of ten steps in one place."""
    first, second = (torch, tapegrad) if way == "from PyTorch" else (tapegrad, torch)
    metrics = [3.0, 2.0, 2.0, 2.5, 2.0, 1.9, 1.9, 1.9, 1.9, 1.9] if name == "ReduceLROnPlateau" else None

    def begun(lib, steps):
        optimizer = optimizer_of(lib)
        schedule = MAKERS[name](lib, optimizer)
        return optimizer, schedule, course(optimizer, schedule, steps, metrics)

    expected = begun(torch, 10)[2]
    (optimizer, schedule, _), (other, again, _) = begun(first, 5), begun(second, 0)
    other.load_state_dict(optimizer.state_dict())
    again.load_state_dict(schedule.state_dict())
    alike(course(other, again, 5, metrics and metrics[5:]), expected[10:])


def test_a_rate_that_is_a_tensor_is_written_to():
    def program(lib):
        rate = lib.tensor(0.1)
        optimizer = lib.optim.SGD([lib.zeros(1)], lr=rate)
        schedule = lib.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        optimizer.step()
        schedule.step()
        return optimizer.param_groups[0]["lr"] is rate, rate.item(), schedule.get_last_lr()[0].item()

    assert program(tapegrad) == program(torch)


def first_step_before_the_optimizer(lib):
    optimizer = optimizer_of(lib)
    schedule = lib.optim.lr_scheduler.StepLR(optimizer, 2)
    schedule.step()


def step_overridden(lib):
    optimizer = optimizer_of(lib)
    schedule = lib.optim.lr_scheduler.StepLR(optimizer, 2)
    optimizer.step = lambda: None
    schedule.step()


def asked_from_outside(lib):
    lib.optim.lr_scheduler.StepLR(optimizer_of(lib), 2).get_lr()


def by_epoch(lib):
    optimizer = optimizer_of(lib)
    schedule = lib.optim.lr_scheduler.StepLR(optimizer, 2)
    optimizer.step()
    schedule.step(3)


@pytest.mark.parametrize("program", [first_step_before_the_optimizer, step_overridden, asked_from_outside, by_epoch])
def test_warnings(program):
    def said(lib):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            program(lib)
        return [(one.category, str(one.message)) for one in caught]

    assert said(tapegrad) == said(torch) != []


WRONG = {
    "no optimizer": lambda lib, s, o: s.StepLR(3, 2),
    "no initial rate": lambda lib, s, o: s.StepLR(o, 2, last_epoch=3),
    "functions": lambda lib, s, o: s.LambdaLR(o, [abs]),
    "no function": lambda lib, s, o: s.MultiplicativeLR(o, 3),
    "constant": lambda lib, s, o: s.ConstantLR(o, 2.0),
    "linear start": lambda lib, s, o: s.LinearLR(o, 0.0),
    "linear end": lambda lib, s, o: s.LinearLR(o, end_factor=-1),
    "T_0": lambda lib, s, o: s.CosineAnnealingWarmRestarts(o, 0),
    "T_mult": lambda lib, s, o: s.CosineAnnealingWarmRestarts(o, 1, 0),
    "restart": lambda lib, s, o: s.CosineAnnealingWarmRestarts(o, 1).step(-2),
    "mode": lambda lib, s, o: s.CyclicLR(o, 0.1, 0.2, mode="square"),
    "lengths": lambda lib, s, o: s.CyclicLR(o, [0.1], 0.2),
    "no momentum": lambda lib, s, o: s.CyclicLR(lib.optim.Adagrad([lib.zeros(1)]), 0.1, 0.2),
    "steps": lambda lib, s, o: s.OneCycleLR(o, 0.1),
    "total": lambda lib, s, o: s.OneCycleLR(o, 0.1, 0),
    "epochs": lambda lib, s, o: s.OneCycleLR(o, 0.1, epochs=-1, steps_per_epoch=2),
    "start": lambda lib, s, o: s.OneCycleLR(o, 0.1, 3, pct_start=2.0),
    "strategy": lambda lib, s, o: s.OneCycleLR(o, 0.1, 3, anneal_strategy="x"),
    "too many": lambda lib, s, o: s.OneCycleLR(o, 0.1, 1).step(3),
    "factor": lambda lib, s, o: s.ReduceLROnPlateau(o, factor=1.0),
    "least": lambda lib, s, o: s.ReduceLROnPlateau(o, min_lr=[0.0]),
    "plateau mode": lambda lib, s, o: s.ReduceLROnPlateau(o, "x"),
    "threshold": lambda lib, s, o: s.ReduceLROnPlateau(o, threshold_mode="x"),
    "none": lambda lib, s, o: s.SequentialLR(o, [], []),
    "milestones": lambda lib, s, o: s.SequentialLR(o, [s.StepLR(o, 2)], [1]),
    "no schedule": lambda lib, s, o: s.SequentialLR(o, [3], []),
    "plateau inside": lambda lib, s, o: s.ChainedScheduler([s.StepLR(o, 2), s.ReduceLROnPlateau(o)]),
    "chained none": lambda lib, s, o: s.ChainedScheduler([]),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_errors(name):
    def said(lib):
        with warnings.catch_warnings(), pytest.raises(Exception) as error:
            warnings.simplefilter("ignore")
            WRONG[name](lib, lib.optim.lr_scheduler, optimizer_of(lib))
        return error.type.__name__, str(error.value)

    assert said(tapegrad) == said(torch)
