"""Programs that see what PyTorch's dispatcher sees: the calls that a mode is shown, as texts."""

import importlib

import tapegrad


def shown(lib, x):
    """An argument of a call as a text that is the same on both libraries."""
    if isinstance(x, lib.Tensor):
        return f"T{list(x.shape)}"
    if isinstance(x, (tuple, list)):
        return f"[{', '.join(shown(lib, one) for one in x)}]"
    if isinstance(x, float) and x.is_integer():
        return str(int(x))
    return repr(x)


def dispatch_of(lib):
    return importlib.import_module(f"{lib.__name__}.utils._python_dispatch")


def logging_mode(lib, arguments=True):
    """A mode whose ``seen`` lists the calls."""

    class Log(dispatch_of(lib).TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.seen = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            named = [f"{name}={shown(lib, one)}" for name, one in sorted(kwargs.items())]
            told = f"({', '.join([*(shown(lib, one) for one in args), *named])})" if arguments else ""
            self.seen.append(f"{func}{told}")
            return func(*args, **kwargs)

    return Log()


def calls_of(lib, program, arguments=True):
    """What a mode sees of a program."""
    with logging_mode(lib, arguments) as mode:
        program(lib)
    return mode.seen


def ours(lib):
    return lib is tapegrad
