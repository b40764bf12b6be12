"""Hostile calls: every public function, with each argument replaced by what does not belong there.

    python tests/parity/helpers/hostile.py --calls 6000 --seed 1

draws calls, makes them on PyTorch and here, and counts how the answers differ: ``type`` (another exception), ``passes``
(only PyTorch refuses), ``refuses`` (only tapegrad does), ``text`` (the messages have little in common), ``foreign``
(the text is jax's, or Python's own). ``test_hostile.py`` runs a handful; what may differ, and why, is in ``accepted``.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import inspect
import io
import random
import sys
import warnings
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import torch as pytorch

import tapegrad
from tapegrad._src.bindings.declaration.parser import overloads_of
from tapegrad._src.bindings.declaration.registry import NAMESPACES, NATIVE_IN_NN, PREFIXES

HOSTILE = {
    "None": lambda torch: None, "'a'": lambda torch: "a", "1.5": lambda torch: 1.5, "1j": lambda torch: 1j,
    "True": lambda torch: True, "-1": lambda torch: -1, "nan": lambda torch: float("nan"), "2**63": lambda torch: 2**63,
    "2**64": lambda torch: 2**64, "-2**70": lambda torch: -(2**70), "10**400": lambda torch: 10**400,
    "[]": lambda torch: [], "[1, 'a']": lambda torch: [1, "a"], "(1.5,)": lambda torch: (1.5,),
    "(None,)": lambda torch: (None,), "{}": lambda torch: {}, "object": lambda torch: len,
    "tensor of 0 dims": lambda torch: torch.tensor(0.5), "int tensor of 0 dims": lambda torch: torch.tensor(1),
    "tensor": lambda torch: torch.ones(2), "int tensor": lambda torch: torch.tensor([1]),
    "bool tensor": lambda torch: torch.tensor([True, False]), "complex tensor": lambda torch: torch.tensor([1j]),
    "tensors": lambda torch: [torch.ones(2), 1], "np.float32": lambda torch: np.float32(1),
    "np.int64": lambda torch: np.int64(1), "np.bool": lambda torch: np.bool_(True), "array": lambda torch: np.ones(2),
    "dtype": lambda torch: torch.float32, "device": lambda torch: torch.device("cpu"),
}  # fmt: skip
"""What is put in the place of an argument."""

FITTING = {
    "Tensor": lambda torch: torch.ones(2, 2), "Number": lambda torch: 1.0, "int": lambda torch: 0,
    "index": lambda torch: 1, "float": lambda torch: 0.5, "bool": lambda torch: False, "str": lambda torch: "a",
    "ints": lambda torch: (0,), "indices": lambda torch: (1,), "floats": lambda torch: (1.0,),
    "Numbers": lambda torch: (1.0,), "Tensors": lambda torch: [torch.ones(2, 2)], "dtype": lambda torch: torch.float32,
    "layout": lambda torch: torch.strided, "device": lambda torch: "cpu", "object": lambda torch: 1,
    "memory_format": lambda torch: torch.contiguous_format, "Generator": lambda torch: torch.Generator(),
    "Storage": lambda torch: torch.ones(2).untyped_storage(),
}  # fmt: skip
"""What fits a parameter of a type of the table."""

HOMES = ("torch", "Tensor", "linalg", "fft", "special", "nn.functional")

LEFT_OUT = frozenset("""
set_default_dtype set_default_device set_default_tensor_type set_grad_enabled set_rng_state manual_seed seed save load
set_warn_always set_printoptions set_flush_denormal initial_seed get_rng_state set_num_threads compile deferred
set_execution empty empty_like empty_strided new_empty new_empty_strided Tensor __reduce__ __reduce_ex__ __deepcopy__
__setstate__ apply_ map_ map2_ share_memory_ storage typed_storage untyped_storage data_ptr from_file frombuffer
register_hook register_post_accumulate_grad_hook retain_grad resize_ set_
""".split())  # noqa: SIM905 - a table is easier to read without the quotes
"""What changes the process, shows memory that nobody wrote to, or takes any object."""


class Call(NamedTuple):
    """A call to make: where the function is, by what its arguments are made."""

    home: str
    name: str
    args: tuple[str, ...]
    kwargs: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        named = [f"{name}={kind}" for name, kind in self.kwargs]
        return f"{self.home}.{self.name}({', '.join([*self.args, *named])})"

    def run(self, torch: Any) -> Any:
        """The exception of this call on a module; None if there is none."""
        made = {**FITTING, **HOSTILE}
        args = [made[kind](torch) for kind in self.args]
        kwargs = {name: made[kind](torch) for name, kind in self.kwargs}
        owner = torch
        for part in self.home.split("."):
            owner = owner if part == "torch" else getattr(owner, part)
        try:
            with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                getattr(owner, self.name)(*args, **kwargs)
        except Exception as error:  # what it raises is what is compared
            return error
        return None


def functions() -> list[tuple[str, str]]:
    """Homes and names of the functions to call."""
    found = []
    for home in HOMES:
        owner = pytorch
        for part in home.split("."):
            owner = owner if part == "torch" else getattr(owner, part)
        names = [name for name in NAMESPACES[home] if hasattr(owner, name) and not name.startswith("_")]
        found += [(home, name) for name in names if name not in LEFT_OUT and inspect.isroutine(getattr(owner, name))]
    return found


def parameters(home: str, name: str) -> list[tuple[list[tuple[str, str]], list[tuple[str, str]]]]:
    """For each signature the names and types of its parameters: those by position, and those by name only."""
    overloads = overloads_of(PREFIXES.get(home, "") + name, home == "Tensor")
    if overloads and (home != "nn.functional" or name in NATIVE_IN_NN):
        return [
            (
                [(p.name, p.type) for p in overload.parameters if not p.by_name],
                [(p.name, p.type) for p in overload.parameters if p.by_name and p.name != "out"],
            )
            for overload in overloads
            if not overload.hidden
        ]
    declared = list(inspect.signature(NAMESPACES[home][name]).parameters.values())[home == "Tensor" :]
    kinds = [(p.name, "Tensor" if p.annotation in ("Tensor", tapegrad.Tensor) else "index") for p in declared]
    return [([k for k, p in zip(kinds, declared, strict=True) if p.kind is p.POSITIONAL_OR_KEYWORD], [])]


def draw(rng: random.Random, home: str, name: str) -> Call:
    """A call of a function in which one argument is wrong: another thing, one too many or too few, or not known."""
    by_position, by_name = rng.choice(parameters(home, name))
    first = ("Tensor",) if home == "Tensor" else ()
    count = rng.randint(0, len(by_position))
    args = [kind for _, kind in by_position[:count]]
    kwargs: list[tuple[str, str]] = []
    what = rng.random()
    if what < 0.08:
        args += rng.choices(list(HOSTILE), k=len(by_position) + 1 - count)
    elif what < 0.14:
        args, kwargs = [kind for _, kind in by_position], [("foo", rng.choice(list(HOSTILE)))]
    elif what < 0.2:
        args = args[:-1]
    elif what < 0.35 and (by_name or count < len(by_position)):
        key, _ = rng.choice([*by_name, *by_position[count:]])
        kwargs = [(key, rng.choice(list(HOSTILE)))]
    elif args:
        args = [kind for _, kind in by_position[: max(count, rng.randint(1, len(by_position)))]]
        args[rng.randrange(len(args))] = rng.choice(list(HOSTILE))
    return Call(home, name, (*first, *args), tuple(kwargs))


def calls(count: int, seed: int) -> list[Call]:
    """So many calls, drawn from a seed."""
    rng = random.Random(seed)
    known = functions()
    return [draw(rng, *rng.choice(known)) for _ in range(count)]


FOREIGN = (
    "jax", "Traced", "tracer", "jnp", "XLA", "stablehlo", "NoneType' object", "unsupported operand", "not iterable",
    "ShapeDtypeStruct", "object is not", "object has no attribute", "cannot be interpreted",
)  # fmt: skip


def shown(text: str) -> str:
    """What of a message is compared: not the places in C++ that PyTorch names."""
    return text.replace("tapegrad", "torch").partition("Exception raised from")[0].partition("\n\n")[0].strip()


def accepted(call: Call, theirs: Any, ours: Any) -> str:
    """Why the answers to a call may differ; "" if they may not."""
    if call.home == "nn.functional":
        if type(theirs) is AttributeError and type(ours) is TypeError:
            return "PyTorch's Python stumbles over an attribute; here the error names the argument"
        if "max_pool" in call.name and "_with_indices" in call.name:
            return "PyTorch calls another function with the arguments as they are; here they are judged at once"
    if type(ours) is NotImplementedError and "is not in tapegrad" in str(ours):
        return "it is not there, and says so"
    text = str(theirs)
    if "not callable" in text or "truth value of an array" in text or "'<' not supported" in text:
        return "PyTorch falls over an object's methods; here it is named"
    if call.name.endswith("_") and "can't be cast to the desired output type" in text:
        return "the operator that does not know complex numbers is asked before the cast"
    if call.name in WITHIN:
        return WITHIN[call.name]
    return ""


OTHER_ORDER = """
stft istft lobpcg lp_pool1d lp_pool2d lp_pool3d max_unpool1d max_unpool2d max_unpool3d instance_norm embedding_bag
grid_sample fractional_max_pool2d fractional_max_pool3d tensordot norm multi_head_attention_forward
triplet_margin_with_distance_loss gaussian_nll_loss ctc_loss
"""
WITHIN = {
    **dict.fromkeys(OTHER_ORDER.split(), "several arguments are wrong, and another one is looked at first"),
    **dict.fromkeys(("new", "pin_memory"), "takes more kinds of objects"),
    "logsumexp": "over no dimensions PyTorch's result does not fit its own shape",
}
"""Functions whose order of checks is not PyTorch's, and others."""


def difference(call: Call) -> tuple[str, Any, Any]:
    """How the answers to a call differ, if they do, and what they are."""
    theirs, ours = call.run(pytorch), call.run(tapegrad)
    if accepted(call, theirs, ours):
        return "", theirs, ours
    if (theirs is None) != (ours is None):
        return ("refuses" if theirs is None else "passes"), theirs, ours
    if theirs is None or ours is None:
        return "", theirs, ours
    one, other = shown(str(theirs)), shown(str(ours))
    if type(theirs).__name__ != type(ours).__name__:
        return "type", theirs, ours
    if any(word in other and word not in one for word in FOREIGN):
        return "foreign", theirs, ours
    alike = one == other or difflib.SequenceMatcher(None, one[:300], other[:300]).ratio() > 0.6
    return ("" if alike else "text"), theirs, ours


def main() -> None:
    """Draw, compare, count."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--calls", type=int, default=6000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--show", type=int, default=20)
    chosen = options.parse_args()
    counts: Counter = Counter()
    seen: dict[str, list[str]] = {}
    for call in calls(chosen.calls, chosen.seed):
        kind, theirs, ours = difference(call)
        counts[kind or "same"] += 1
        if kind:
            text = f"{call}\n    {type(theirs).__name__}: {shown(str(theirs))[:160]!r}"
            seen.setdefault(kind, []).append(f"{text}\n    {type(ours).__name__}: {shown(str(ours))[:160]!r}")
    for kind, texts in seen.items():
        sys.stdout.write(f"-- {kind}: {len(texts)}\n" + "\n".join(texts[: chosen.show]) + "\n")
    sys.stdout.write(f"{chosen.calls} calls: {dict(counts)}\n")


if __name__ == "__main__":
    main()
