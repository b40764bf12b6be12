"""What of PyTorch's wheel is known to be otherwise on tapegrad, and why, for ``test_wheel.py``."""

from __future__ import annotations

import fnmatch

ABSENT = ("hop_db", "two_tensor", "logging_tensor", "custom_tensor", "common_subclass", "subclasses")
"""Files whose operators of control flow, and tensors that wrap others, are not there (yet)."""

UNSAFE = ("tril", "triu", "hash_tensor")
"""Entries whose ``out=`` isn't run: PyTorch writes behind the end of a target's memory."""

TIES = "of equal elements PyTorch's unstable sort takes others, as the processor's instructions have it"
WINDOW = "PyTorch's result is a part of a larger memory, or keeps the gaps of the input's"
POSITIONS = "positions in large images, and numbers between those of uint8, are rounded otherwise"
HALVES = "PyTorch rounds sums to bfloat16 in between, or is nan where one overflows"
FACTORIES = "functions that make tensors: PyTorch has messages, and a way of resizing, of their own"
DEVICES = "a target on another device is refused in other words, or not at all"
NAMES = "the message names another of the functions that PyTorch's consists of"
WRITTEN_WRONG = "PyTorch writes the elements of targets that are not contiguous to wrong places"
RECORDED = "what PyTorch can't record, and refuses, is recorded"

KNOWN: dict[str, dict[str, str]] = {
    "anywhere": {
        TIES: "kthvalue* topk* mode* sort* argsort*",
        WINDOW: """linalg.lstsq* slice_scatter* select_scatter* diagonal_scatter* as_strided_scatter*
            as_strided.partial*""",
        "memory formats of another dimension": "max_pool2d_with_indices_backward",
        "PyTorch wants contiguous memory": "native_group_norm",
    },
    "reference inputs": {
        POSITIONS: "nn.functional.interpolate.* nn.functional.upsample_* _upsample_*",
        "exponents of integers are rounded": "logspace*",
        "rows or columns of one equation": "linalg.solve_ex linalg.lu_solve",
        HALVES: "matrix_exp grid_sampler_* nn.functional.grid_sample",
    },
    "out=": {
        FACTORIES: """arange/* linspace* logspace* randn/* ones/* zeros/* full/* empty/* eye/* normal* bernoulli/*
            multinomial/*""",
        DEVICES: "*/meta",
        NAMES: """inner/* tensordot/*
            diag/* max.binary/* min.binary/* scatter/* diff/* ldexp/* logsumexp/* searchsorted/* bucketize/*
            mvlgamma.* fft.* kron/* special.polygamma* linalg.ldl_factor* _native_batch_norm_legit/*
            linalg.householder_product/* linalg.matrix_rank*
            unbind_copy/* split*_copy/* _chunk_cat/* _batch_norm_with_update/*""",
        WRITTEN_WRONG: """nn.functional.gelu/* nn.functional.avg_pool3d/* narrow_copy/* nn.functional.linear/*""",
        "signs of vectors": "svd/*",
        "what is cast to bool": "all/narrower",
        "a function in Python, which copies its results": "lu/*",
        "targets are resized in another order": "histogram/*",
    },
    "methods and aliases": {
        "variances of complex numbers warn for each of two parts": "std* var*",
        "PyTorch warns once in a process": "softmax.with_dtype/* to/* index_reduce.*",
        "signs of vectors": "svd/*",
        "refused for integers, though ``torch.round`` isn't": "round/special.round",
    },
    "module_tests, get_new_module_tests, criterion_tests": {
        RECORDED: "CrossMapLRN2d",
    },
    "nn_functional_tests": {RECORDED: "conv_tbc huber_loss* binary_cross_entropy_with_logits"},
}
"""By part and reason, patterns of the names that may differ."""


def known(part: str, name: str) -> bool:
    """Whether a difference is one of those that are known.

    >>> known("out=", "svd/spaced"), known("reference inputs", "add")
    (True, False)
    """
    reasons = [names for where in ("anywhere", part) for names in KNOWN.get(where, {}).values()]
    return any(fnmatch.fnmatch(name, pattern) for names in reasons for pattern in names.split())
