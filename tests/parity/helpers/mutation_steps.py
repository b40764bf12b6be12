"""Programs that share and write to memory, drawn at random: what a step may be.

Each step is drawn in view of what the program has done so far, by running it on PyTorch: a line that fails there is
left out, except now and then, when it is what is wanted. Shapes, strides and numbers are few, so that kernels are
compiled once; numbers are small integers (and halves), so that results are exact and equal.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import torch as pytorch
from hypothesis import strategies as st
from mutation_programs import memory_of, quiet
from mutation_writer import LETTERS, Writer, elements, flags, literal

SHAPES = [(4,), (6,), (2, 3), (2, 3), (2, 2), (2, 2, 2)]
DTYPES = [pytorch.float32] * 17 + [pytorch.float64, pytorch.complex64, pytorch.int64]

STEPS: list[Callable[[Writer], str | None]] = []
"""What a step may be: functions which draw a line, or give None if the pool doesn't allow it. Some stand here often."""


def step(weight: int) -> Callable[[Callable], Callable]:
    """Put a function among the steps, so many times."""

    def enlist(function: Callable[[Writer], str | None]) -> Callable:
        STEPS.extend([function] * weight)
        return function

    return enlist


# -- making ------------------------------------------------------------------------------------------------------------


@step(2)
def create(w: Writer, grad: int = 50) -> str:
    shape, dtype = w.choice(SHAPES), w.choice(DTYPES)
    options = ", requires_grad=True" if dtype != pytorch.int64 and w.chance(grad) else ""
    text = literal(w, shape, dtype, options)
    if len(shape) == 2 and w.chance(15):
        text = f"{text}.t().detach().clone(){'.requires_grad_()' if options else ''}"
    elif options and w.chance(60):
        text += w.choice((".clone()", ".mul(2)", ".add(1)"))
    return f"{w.new_name()} = {text}"


@step(1)
def create_like(w: Writer) -> str | None:
    name = w.tensor()
    return name and f"{w.new_name()} = torch.{w.choice(('zeros_like', 'ones_like'))}({name})"


@step(1)
def forget(w: Writer) -> str | None:
    return f"del {w.tensor()}" if len(w.world.pool) > 2 else None


@step(1)
def rename(w: Writer) -> str | None:
    name = w.tensor()
    return name and f"{w.new_name()} = {name}"


# -- views -------------------------------------------------------------------------------------------------------------

FACTORS = {
    1: ["1", "1, 1", ""], 2: ["2", "1, 2", "2, 1"], 3: ["3", "1, 3", "3, 1"], 4: ["4", "2, 2", "-1, 2", "4, 1"],
    6: ["6", "2, 3", "3, 2", "-1", "2, -1", "6, 1"], 8: ["8", "2, 4", "4, 2", "2, 2, 2", "-1, 2, 2"],
    12: ["12", "2, 6", "3, 4", "-1, 3", "2, 3, 2"],
}  # fmt: skip


def in_shape(name: str) -> Callable:
    def reshape(w: Writer, x: Any) -> str:
        shape = "5" if w.daring and w.chance(20) else w.choice(FACTORS.get(x.numel(), ["-1"]))
        return f".{name}({shape or '()'})"

    return reshape


def unary(name: str) -> Callable:
    return lambda w, x: f".{name}()"


def with_axes(name: str, count: int) -> Callable:
    return lambda w, x: f".{name}({', '.join(str(w.axis(x)) for _ in range(count))})"


def permute(w: Writer, x: Any) -> str:
    axes = list(range(x.ndim))
    for i in reversed(range(1, len(axes))):
        j = w.number(0, i)
        axes[i], axes[j] = axes[j], axes[i]
    return f".permute({', '.join(map(str, axes)) or '()'})"


def expand(w: Writer, x: Any) -> str:
    shape = [str(w.choice((2, -1, 3)) if length == 1 else w.choice((length, -1))) for length in x.shape]
    return f".expand({', '.join(([str(w.choice((2, 1)))] if not shape or w.chance(60) else []) + shape)})"


def narrow(w: Writer, x: Any) -> str | None:
    if not x.ndim:
        return None
    axis = w.axis(x)
    length = x.shape[axis] if axis < x.ndim else 1
    start = w.number(0, max(length - 1, 0))
    return f".narrow({axis}, {start}, {w.number(1, max(length - start, 1)) + (w.daring and w.chance(20))})"


def select(w: Writer, x: Any) -> str | None:
    if not x.ndim:
        return None
    axis = w.axis(x)
    return f".select({axis}, {w.number(0, max(x.shape[axis] - 1, 0)) if axis < x.ndim else 0})"


def diagonal(w: Writer, x: Any) -> str | None:
    return f".diagonal({w.choice(('', '1', '0, -1, -2', '-1'))})" if x.ndim > 1 or w.daring else None


def unfold(w: Writer, x: Any) -> str | None:
    return f".unfold({w.axis(x)}, 2, {w.choice((2, 1))})" if 0 < x.ndim < 3 else None


def as_strided(w: Writer, x: Any) -> str:
    shape, strides, offset = w.choice((
        ((2,), (1,), ""), ((2,), (2,), ""), ((2, 2), (1, 2), ""), ((2, 2), (2, 1), ""), ((2,), (1,), ", 1"),
        ((3,), (1,), ""), ((2,), (2,), ", 1"), ((2, 2), (1, 1), ""), ((2, 2), (0, 1), ""), ((), (), ", 2"),
    ))  # fmt: skip
    return f".as_strided({shape}, {strides}{offset})"


def other_dtype(w: Writer, x: Any) -> str | None:
    if x.dtype is pytorch.float32:
        return w.choice((".view(torch.int32)", ".view(torch.complex64)", ".real")) if w.chance(40) else None
    if x.dtype is pytorch.complex64:
        return w.choice((".real", ".imag", ".real", ".view(torch.float32)", ".conj()"))
    return ".view(torch.float32)" if x.dtype is pytorch.int32 else None


def index(w: Writer, x: Any) -> str:
    """A basic index: of integers, slices, None and an ellipsis."""
    items: list[str] = []
    for length in x.shape[: w.number(1, x.ndim) if x.ndim else 0]:
        if w.chance(8):
            items.append("None")
        last = length + (w.daring and w.chance(15)) - 1
        items.append(w.choice((str(w.number(-length, max(last, 0))), ":", "1:", f"{w.number(0, 1)}::2", ":-1", "0:1")))
    if not items or w.chance(12):
        items.insert(w.number(0, len(items)), w.choice(("...", "None")))
    return f"[{', '.join(items)}]"


SUFFIXES: list[Callable[[Writer, Any], str | None]] = [
    in_shape("view"), in_shape("reshape"), index, index, index, permute, expand, narrow, select, select,
    with_axes("transpose", 2), unary("t"), with_axes("swapaxes", 2), with_axes("movedim", 2), with_axes("squeeze", 1),
    unary("squeeze"), with_axes("unsqueeze", 1), diagonal, unfold, as_strided, other_dtype, unary("flatten"),
    unary("ravel"), unary("detach"), unary("detach"), lambda w, x: ".data", lambda w, x: "",
    lambda w, x: ".T" if x.ndim == 2 else ".mT" if x.ndim > 2 else None,
]  # fmt: skip
"""Suffixes that make a view of a tensor (or what may be one)."""


DETACHED = (".detach()", ".data")
"""Of inference tensors these are not drawn: PyTorch counts and allows writes to what they give outside the mode. Nor is
what may copy or compute one in several steps, for it counts these."""


def view_of(w: Writer, name: str) -> str:
    """A view of a tensor, as an expression."""
    suffix = w.choice(SUFFIXES)(w, w[name])
    if w[name].is_inference() and (suffix in DETACHED or not w[name].is_contiguous()):
        suffix = None
    return f"{name}{suffix}" if suffix else f"{name}.view_as({name})"


@step(18)
def view(w: Writer) -> str | None:
    name = w.tensor()
    return name and f"{w.new_name()} = {view_of(w, name)}"


@step(2)
def view_of_pairs(w: Writer) -> str | None:
    name = w.tensor(lambda x: x.is_complex() or (x.dtype == pytorch.float32 and x.ndim and x.shape[-1] == 2))
    if name is None:
        return None
    return f"{w.new_name()} = torch.{'view_as_real' if w[name].is_complex() else 'view_as_complex'}({name})"


@step(3)
def several_views(w: Writer) -> str | None:
    name = w.tensor(lambda x: 2 in x.shape or 4 in x.shape)
    if name is None:
        return None
    x = w[name]
    axis = next((axis for axis, length in enumerate(x.shape) if length == 2), 0)
    forms = [f"chunk(2, {axis})", f"tensor_split(2, {axis})"]
    if x.ndim:
        forms.append(f"split({max(x.shape[axis] // 2, 1)}, {axis})")
    if axis < x.ndim and x.shape[axis] == 2:
        forms += [f"unbind({axis})", f"split_with_sizes((1, 1), {axis})", f"unsafe_chunk(2, {axis})"]
    one, other = w.new_name(), w.choice(LETTERS)
    return f"{one}, {other if other != one else '_'} = {name}.{w.choice(forms)}"


# -- operators ---------------------------------------------------------------------------------------------------------


@step(10)
def compute(w: Writer) -> str | None:
    name = w.tensor()
    if name is None:
        return None
    operand = w.operand(w[name])
    forms = (
        f"{name} * {operand}", f"{name} + {operand}", f"{name} - {operand}", f"{name} * {name}", f"-{name}",
        f"{name}.abs()", f"{name}.relu()", f"{name}.clone()", f"{name}.contiguous()", f"{name}.sum()",
        f"{name}.add({operand}, alpha=2)",
    )  # fmt: skip
    return f"{w.new_name()} = {w.choice(forms[:5] if w[name].is_inference() else forms)}"


@step(14)
def write(w: Writer) -> str | None:
    """An operator in place, on a tensor of the pool or on a view of one that dies with the step."""
    name = w.target()
    if name is None:
        return None
    text = view_of(w, name) if w.chance(30) else name
    x = w.value(text)
    if x is None or not w.may_be_written(x):
        return None
    operand = w.operand(x)
    forms = (
        f".mul_({operand})", f".add_({operand})", f".sub_({operand})", f".copy_({w.operand(x, numbers=False)})",
        f".mul_({operand})", f".add_({operand}, alpha={w.choice((2, -1))})", f".fill_({w.scalar(x)})", ".zero_()",
        ".neg_()", ".abs_()", ".relu_()", f".clamp_({w.choice(('min=0', '-1, 1', 'max=1'))})", ".square_()", ".pow_(2)",
        f".div_({w.choice(('2', '0.5', '-1'))})", f".sub_({operand}, alpha=2)",
        f".masked_fill_({flags(w, x)}, {w.scalar(x)})", *by_index(w, x),
    )  # fmt: skip
    where = "" if x.is_inference() or w.chance(85) else w.choice(DETACHED)
    return f"{text}{where}{w.choice(forms)}"


def by_index(w: Writer, x: Any) -> list[str]:
    """Operators that write to the places that an index names; each place once, but for those that add."""
    if not x.ndim or not all(x.shape) or len(set(elements(x))) < x.numel():
        return []
    last, row = x.shape[0] - 1, (2, *x.shape[1:])
    places, source = f"torch.tensor([{last}, 0])", literal(w, row, x.dtype)
    forms = [f".index_add_(0, {places}, {source})", f".index_fill_(0, {places}, {w.scalar(x)})"]
    forms += [f".index_put_(({places},), {source}, accumulate=True)"]
    if last:
        forms += [f".index_copy_(0, {places}, {source})", f".index_put_(({places},), {source})"]
    if x.ndim == 1:
        forms += [f".scatter_add_(0, {places}, {source})", f".scatter_(0, {places}, 2)"]
    return forms


@step(12)
def assign(w: Writer) -> str | None:
    """``x[...] = value``, with every kind of index."""
    name = w.target()
    if name is None:
        return None
    x = w[name]
    key = w.choice((index, index, index, fancy_index))(w, x)
    part = w.value(name + key)
    if part is None:
        return f"{name}{key} = {w.operand(x)}"
    if memory_of(part) == memory_of(x):
        return f"{name}{key} = {w.operand(part)}" if w.may_be_written(part) else None
    return f"{name}{key} = {w.operand(part, near=x, moved=True)}" if w.may_be_written(x, moved=True) else None


def fancy_index(w: Writer, x: Any) -> str:
    if not x.ndim:
        return w.choice(("[...]", "[()]", "[None]"))
    last = x.shape[0] - 1
    forms = [f"[{flags(w, x)}]", f"[[{last}, 0]]" if last > 0 else "[[0]]", "[torch.tensor([0])]"]
    forms += [f"[torch.tensor({max(last, 0)})]"]
    if x.ndim > 1:
        forms += ["[:, [0]]", "[[0], [0]]", "[0, torch.tensor([True, False])]", "[None, [0]]"]
        if x.shape[-1] > 1:  # PyTorch notices that an index tensor is out of range when it has written a part
            forms.append("[..., torch.tensor([0, 1])]")
    return w.choice(forms)


@step(6)
def augment(w: Writer) -> str | None:
    name = w.target()
    if name is None:
        return None
    text = name + (index(w, w[name]) if w.chance(60) else "")
    part = w.value(text)
    if part is None or not w.may_be_written(part):
        return None
    return f"{text} {w.choice(('+=', '*=', '-='))} {w.operand(part)}"


TURNS = [
    with_axes("transpose_", 2), unary("t_"), unary("squeeze_"), with_axes("unsqueeze_", 1), with_axes("swapaxes_", 2),
    with_axes("squeeze_", 1),
    lambda w, x: "" if x._base is None else as_strided(w, x).replace("as_strided", "as_strided_"),
]  # fmt: skip
"""A base may not come to begin elsewhere: PyTorch would make places of views in front of it, and fail."""


@step(3)
def turn_in_place(w: Writer) -> str | None:
    """Views of the tensor in another dtype are made again by PyTorch as if it had been so before, which may fail."""
    name = w.target()
    if any(x._base is not None and x.dtype != x._base.dtype for x in w.world.pool.values()):
        return None
    return name and name + w.choice(TURNS)(w, w[name])


@step(1)
def write_out(w: Writer) -> str | None:
    name = w.tensor(lambda x: not x.requires_grad and w.may_be_written(x))
    if name is None:
        return None
    x = w[name]
    one = literal(w, tuple(x.shape), x.dtype) if w.chance(50) else name
    return f"torch.{w.choice(('add', 'mul'))}({one}, {w.operand(x)}, out={name})"


@step(2)
def customize(w: Writer) -> str | None:
    """A custom function that writes to its argument, or gives it back, or a view of it."""
    name = w.target()
    if name is None:
        return None
    text = name if w.chance(60) else view_of(w, name)
    x = w.value(text)
    if x is None or not w.may_be_written(x):
        return None
    return f"{w.choice((f'{w.new_name()} = ', ''))}{w.choice(('Double', 'Double', 'Same', 'Flat'))}.apply({text})"


# -- flags and data ----------------------------------------------------------------------------------------------------


@step(4)
def change(w: Writer) -> str | None:
    name = w.tensor()
    if name is None or w[name].is_inference():
        return None
    forms = (
        f"{name}.requires_grad_()", f"{name}.requires_grad_()", f"{name}.requires_grad = False", f"{name}.detach_()",
        f"{name}.retain_grad()", f"{name}.retain_grad()", f"{name}.grad = None",
        f"torch.autograd.graph.increment_version({name})",
        f"torch._C._autograd._unsafe_set_version_counter(({name},), (50,))",
    )  # fmt: skip
    if w.may_be_written(w[name]):
        forms += (f"with torch.autograd._unsafe_preserve_version_counter({name}): {name}.detach().mul_(2)",)
    return w.choice(forms)


@step(1)
def set_data(w: Writer) -> str | None:
    """Give a tensor the memory of another one. Views stay what they are in PyTorch's books, though memory does not."""
    name = w.tensor(lambda x: not x.is_inference() and x._base is None)
    other = name and w.tensor(lambda y: not y.is_inference() and y.shape == w[name].shape)
    if name is None or other is None or w[name]._base is not None or w[other].is_inference():
        return None
    if w[name].shape != w[other].shape:
        return None
    if any(x._base is w[name] for x in w.world.pool.values()):
        return None
    forms = [f"{name}.data = {other}", f"{name}.data = {other}.data"]
    return w.choice(forms if w[name].requires_grad or w[other].requires_grad else [*forms, f"{name}.set_({other})"])


@step(2)
def listen(w: Writer) -> str | None:
    name = w.tensor(lambda x: x.requires_grad)
    if name is None:
        return None
    hook = w.choice((f"lambda grad: log.append(('{name}', grad.tolist()))", "lambda grad: grad * 2"))
    if w.chance(20):
        return f"{name}.grad_fn.register_hook(lambda *grads: log.append('{name}'))"
    if w[name]._base is not None:  # PyTorch crashes if this is the first to ask for a history that was written over
        return f"{name}.is_leaf, {name}.register_hook({hook})"
    return f"{name}.register_hook({hook})"


@step(3)
def read(w: Writer) -> str | None:
    name, other = w.tensor(), w.tensor()
    if name is None:
        return None
    forms = (
        f"{name}.tolist()", f"{name}.sum().item()", f"{name}.is_set_to({other})", f"{name}.equal({other})",
        f"{name}[...].tolist()", f"{name}.is_leaf", f"{name}.numel()", f"({name} == {other}).tolist()",
        f"{name}.unsqueeze(0)", f"{name} * 1",
    )  # fmt: skip
    return w.choice(forms)


# -- gradients ---------------------------------------------------------------------------------------------------------


def root(w: Writer) -> str | None:
    """A sum of something, as an expression; of complex numbers, of their real parts."""
    name = w.tensor(lambda x: x.requires_grad)
    if name is None:
        return None
    x = w[name]
    text = w.choice((name, f"({name} * {w.operand(x, numbers=False)})", f"({name} * {name})", f"({name} * 2)"))
    return f"{text}.sum()" + (".real" if x.is_complex() else "")


@step(9)
def backward(w: Writer) -> str | None:
    text = root(w)
    if text is None:
        return None
    keep = w.choice(("retain_graph=True", "", "retain_graph=True", "create_graph=True"))
    if w.chance(15):
        name = text[0] if text[0] != "(" else text[1]
        return f"{name}.backward(torch.ones_like({name}){', ' if keep else ''}{keep})"
    return f"{text}.backward({keep})"


@step(5)
def gradients(w: Writer) -> str | None:
    text = root(w)
    if text is None:
        return None
    names = sorted({name for _ in range(w.number(1, 2)) if (name := w.tensor(lambda x: x.requires_grad))})
    options = f"{w.choice(('retain_graph=True, ', '', 'retain_graph=True, '))}allow_unused={not w.daring}"
    return f"values(torch.autograd.grad({text}, [{', '.join(names)}], {options}))"


@step(4)
def second_order(w: Writer) -> str | None:
    text, name = root(w), w.tensor(lambda x: x.requires_grad)
    return f"{w.new_name()} = derivative({text}, {name})" if text and name else None


@step(1)
def take_gradient(w: Writer) -> str | None:
    name = w.tensor(lambda x: x.grad is not None)
    return name and w.choice((f"{w.new_name()} = {name}.grad.data", f"{name}.grad *= 0", f"{name}.grad += 1"))


@step(3)
def write_between(w: Writer) -> None:
    """Record something, write to what it may have saved, go backward."""
    name = w.tensor(lambda x: x.requires_grad)
    if name is None:
        return
    result = w.new_name()
    forms = (f"{name} * {name}", f"{name} * {w.operand(w[name], numbers=False)}", f"{name}.pow(2)", f"{name}.relu()")
    w.keep(f"{result} = {w.choice(forms)}")
    for _ in range(w.number(1, 2)):
        line = w.choice((write, assign, augment))(w)
        if line is not None:
            w.keep(w.in_context(line))
    w.daring = True
    if result in w.world.pool:
        w.keep(f"{result}.sum(){'.real' if w[result].is_complex() else ''}.backward()")


def program(seed: int) -> list[str]:
    """A program of some 5 to 20 lines, valid on PyTorch but for one step in ten."""
    writer = Writer(Random(seed))
    with quiet():
        writer.keep(create(writer, grad=80))
        return writer.write(STEPS, writer.number(6, 16))


def programs() -> st.SearchStrategy[list[str]]:
    """Programs by their seeds: where hypothesis chooses every step, half of them are programs that it chose before."""
    return st.integers(0, 2**32 - 1).map(program)
