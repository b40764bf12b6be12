"""What the tests of checkpoints share: wrappers, counters, leaves."""

import functools


def checkpoint_of(torch, **options):
    """``checkpoint`` as a wrapper of functions."""
    def wrap(function):
        return lambda *args, **kwargs: torch.utils.checkpoint.checkpoint(
            function, *args, use_reentrant=False, **options, **kwargs
        )

    return wrap


def counted(function):
    """A function, and a list with an entry for each of its calls."""
    calls = []

    def call(*args, **kwargs):
        calls.append(len(calls))
        return function(*args, **kwargs)

    return call, calls


def leaf(torch, *values):
    return torch.tensor(values or 0.5, dtype=torch.float64, requires_grad=True)


def first_line(outcome):
    """An outcome of ``attempt`` with the first line of the message."""
    if isinstance(outcome, list) and outcome[:1] == ["raised"]:
        return [*outcome[:2], outcome[2].splitlines()[0]]
    return outcome


def name_of(program):
    if isinstance(program, functools.partial):
        return f"{program.func.__name__}-{'-'.join(f'{k}={v}' for k, v in program.keywords.items())}"
    return program.__name__
