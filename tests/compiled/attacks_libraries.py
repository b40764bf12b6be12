"""What large libraries do around tensors: registries, context variables, signatures, questions about who looks on."""

import collections
import contextvars
import inspect
import os

import tapegrad as torch
from tests.compiled.declaring import program

X = torch.tensor([[1.0, -2.0, 3.0], [0.5, 0.25, -1.0]])


def changing(compile, function, changes):
    """A step before some of whose calls something is changed."""
    step = compile(function)

    def call(n):
        if n in changes:
            changes[n]()
        return step(X)

    return call, []


@program("a registry is a mapping of a class of its own", calls=12)
def registry(compile):
    class Registry(collections.abc.MutableMapping):
        def __init__(self):
            self.inside = {"scale": 2.0}

        def __getitem__(self, key):
            return self.inside[key]

        def __setitem__(self, key, value):
            self.inside[key] = value

        def __delitem__(self, key):
            del self.inside[key]

        def __iter__(self):
            return iter(self.inside)

        def __len__(self):
            return len(self.inside)

    kept = Registry()
    return changing(compile, lambda x: x * kept["scale"], {8: lambda: kept.update(scale=3.0)})


@program("a dictionary makes what it is asked for", calls=12)
def making_dictionary(compile):
    class Times:
        def __init__(self, factor):
            self.factor = factor

        def __call__(self, x):
            return x * self.factor

    class Makes(collections.OrderedDict):
        def __getitem__(self, key):
            cls, settings = super().__getitem__(key)
            return cls(**settings)

    kept = Makes(times=(Times, {"factor": 2.0}))

    def replace():
        dict.__setitem__(kept, "times", (Times, {"factor": 3.0}))

    return changing(compile, lambda x: kept["times"](x), {8: replace})


@program("a context variable has another value", calls=12)
def context_variable(compile):
    scale = contextvars.ContextVar("scale", default=1.0)
    return changing(compile, lambda x: x * scale.get(), {5: lambda: scale.set(2.0), 9: lambda: scale.set(3.0)})


@program("a context variable is set for the time of a call", calls=12)
def context_variable_within(compile):
    scale = contextvars.ContextVar("scale", default=1.0)

    def step(x):
        token = scale.set(scale.get() + 1)
        try:
            return x * scale.get()
        finally:
            scale.reset(token)

    return changing(compile, step, {8: lambda: scale.set(2.0)})


@program("a context variable counts", calls=12)
def context_variable_counts(compile):
    count = contextvars.ContextVar("count", default=1.0)
    call, _ = changing(compile, lambda x: (count.set(count.get() + 1), x * count.get())[1], {})
    return lambda n: (call(n), count.get()), []


@program("the environment is read, and changes", calls=14)
def environment_changes(compile):
    def change(**values):
        return lambda: os.environ.update(values)

    def step(x):
        return x * float(os.environ.get("STEP_SCALE", "1")) + float(os.getenv("STEP_SHIFT", "0"))

    return changing(compile, step, {6: change(STEP_SCALE="3"), 9: change(STEP_SHIFT="2"), 11: change(STEP_SCALE="4")})


@program("a function is asked for its arguments, and gets others", calls=12)
def signature(compile):
    def helper(x, factor=2.0):
        return x * factor

    def step(x):
        return x * inspect.signature(helper).parameters["factor"].default

    return changing(compile, step, {8: lambda: setattr(helper, "__defaults__", (3.0,))})


@program("it is asked who looks on", calls=8)
def who_looks_on(compile):
    def step(x):
        if torch.jit.is_tracing() or torch.jit.is_scripting() or torch.onnx.is_in_onnx_export():
            return x
        if torch.distributed.is_available() and torch.xpu.is_available():
            return x
        with torch.profiler.record_function("step"):
            return torch.jit.annotate(torch.Tensor, x * 2)

    return changing(compile, step, {})
