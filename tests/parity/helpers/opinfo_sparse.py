"""The samples of PyTorch's database of operators for sparse layouts, run on both: see ``test_opinfo_sparse.py``.

An entry says for which layouts it has samples (``sample_inputs_sparse_coo`` and so on) and which inputs are errors.
"""

import importlib
import sys
import unittest
import warnings

import numpy as np
import opinfo
import torch as pytorch
from harness import close
from opinfo import counterpart, flat, translated

import tapegrad

LAYOUTS = {
    name: getattr(pytorch, name) for name in ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
}


def is_sparse(x):
    return str(x.layout) != "torch.strided"


def sparse_tensor(source):
    """A sparse tensor of PyTorch's as tapegrad's: of the same layout, indices and values."""
    values = source.detach()
    shape = tuple(source.shape)
    if source.layout is pytorch.sparse_coo:
        parts = opinfo.tensor(values._indices()), opinfo.tensor(values._values())
        made = tapegrad.sparse_coo_tensor(*parts, shape)
        made = made._coalesced_(True) if source.is_coalesced() else made
    else:
        rows = source.layout in (pytorch.sparse_csr, pytorch.sparse_bsr)
        plain = (values.crow_indices(), values.col_indices()) if rows else (values.ccol_indices(), values.row_indices())
        parts = [opinfo.tensor(one) for one in (*plain, values.values())]
        layout = getattr(tapegrad, str(source.layout).rpartition(".")[2])
        made = tapegrad.sparse_compressed_tensor(*parts, shape, layout=layout)
    return made.requires_grad_() if source.requires_grad else made


def ours(value):
    """A value of a sample as tapegrad has it."""
    if isinstance(value, pytorch.Tensor) and is_sparse(value):
        return sparse_tensor(value)
    if type(value) in (tuple, list):
        return type(value)(map(ours, value))
    if type(value) is dict:
        return {key: ours(one) for key, one in value.items()}
    return translated(value)


def samples(entry, layout, dtype, grads):
    """The samples of an entry for a layout; none if the database has none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return list(entry.sample_inputs_sparse(LAYOUTS[layout], "cpu", dtype, requires_grad=grads))
        except (NotImplementedError, unittest.SkipTest):
            return []


def errors(entry, layout):
    """The inputs of an entry that are errors, for a layout."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return list(entry.error_inputs_sparse("cpu", LAYOUTS[layout]))
        except (NotImplementedError, TypeError, unittest.SkipTest):  # the second: an entry that says nothing of errors
            return []


def described(x):
    """What can be seen of a result: layout, dtype, shape, whether it requires grad, and the parts of a sparse one."""
    if not isinstance(x, (pytorch.Tensor, tapegrad.Tensor)):
        return x
    seen = [str(x.layout), str(x.dtype), tuple(x.shape), x.requires_grad]
    if str(x.layout) == "torch.sparse_coo":
        seen += [x.sparse_dim(), x.dense_dim(), x._nnz(), x.is_coalesced()]
    elif is_sparse(x):
        seen += [x._nnz(), tuple(x.values().shape)]
    return seen


def numbers(x):
    """The elements of a result as an array."""
    x = x.detach()
    return (x.to_dense() if is_sparse(x) else x).resolve_conj().numpy()


def seen_of(module, op, parts):
    """What one module does with a sample: its results, and the gradients of their sum."""
    input, args, kwargs = parts
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = op(input, *args, **kwargs)
        outs = [x for x in flat(out) if isinstance(x, module.Tensor)]
        if not outs:
            return {"values": out}
        seen = {"kinds": [described(x) for x in outs], "values": [numbers(x) for x in outs]}
        leaves = [x for x in flat(parts) if isinstance(x, module.Tensor) and x.requires_grad]
        roots = [x for x in outs if x.requires_grad and x.dtype.is_floating_point]
        if leaves and roots:
            total = sum((x.to_dense() if is_sparse(x) else x).sum() for x in roots)
            grads = module.autograd.grad(total, leaves, allow_unused=True)
            seen["layouts"] = [None if one is None else (str(one.layout), tuple(one.shape)) for one in grads]
            seen["gradients"] = [None if one is None else numbers(one) for one in grads]
    return seen


def attempt(action):
    try:
        return action(), None
    except Exception as error:  # what it raises is what is compared
        return None, error


def disagreement(entry, sample):
    """How the two libraries differ on a sample; None if they agree."""
    parts = (sample.input, tuple(sample.args), dict(sample.kwargs))
    theirs, their_error = attempt(lambda: seen_of(pytorch, entry.op, parts))
    mine, my_error = attempt(lambda: seen_of(tapegrad, counterpart(entry), tuple(map(ours, parts))))
    if their_error is not None:
        if my_error is None:
            found = against_dense(entry, parts, mine)
            return f"PyTorch raises {their_error!r:.300}" if found is None else f"beside dense tensors: {found}"
        ok = isinstance(my_error, type(their_error)) or isinstance(their_error, type(my_error))
        return None if ok else f"raised {my_error!r:.300}, expected {their_error!r:.300}"
    if my_error is not None:
        return f"raised {type(my_error).__name__}: {my_error!s:.300}"
    return misfit(mine, theirs)


def misfit(mine, theirs):
    """How what is seen on one differs from what is seen on the other."""
    try:
        for stage, expected in theirs.items():
            close(mine.get(stage), expected, rtol=1e-6, atol=1e-8, where=stage)
    except AssertionError as error:
        return str(error)[:400]
    return None


def against_dense(entry, parts, mine):
    """How our results, and our gradients at the places of their leaves, differ from PyTorch's of dense tensors."""
    places = [pattern(x) for x in flat(parts) if isinstance(x, pytorch.Tensor) and x.requires_grad]
    theirs = seen_of(pytorch, entry.op, tuple(map(densified, parts)))
    found = {"values": [np.nan_to_num(one, posinf=0, neginf=0) for one in theirs["values"]]}  # lines without elements
    if "gradients" in theirs:
        found["gradients"] = [grad * at for grad, at in zip(theirs["gradients"], places, strict=True)]
    return misfit(mine, found)


def densified(value):
    """A value of a sample, with dense tensors for sparse ones."""
    if isinstance(value, pytorch.Tensor):
        return value.detach().to_dense().requires_grad_(value.requires_grad) if is_sparse(value) else value
    if type(value) in (tuple, list):
        return type(value)(map(densified, value))
    return {key: densified(one) for key, one in value.items()} if type(value) is dict else value


def pattern(leaf):
    """1 where a tensor has elements, 0 elsewhere."""
    ones = leaf.detach().clone()
    if not is_sparse(leaf):
        return ones.fill_(1).numpy()
    (ones._values() if leaf.layout is pytorch.sparse_coo else ones.values()).fill_(1)
    return numbers(ones).clip(max=1)


def all_entries():
    """PyTorch's entries, with those for sparse layouts."""
    opinfo.ENTRIES.entries()
    importlib.import_module("torch.testing._internal.opinfo.definitions.sparse")  # it fills the database
    return sys.modules["torch.testing._internal.common_methods_invocations"].op_db


def database():
    """The entries with samples for a sparse layout, and their layouts."""
    for entry in all_entries():
        for layout in LAYOUTS:
            if samples(entry, layout, pytorch.float64, False):
                yield entry, layout
