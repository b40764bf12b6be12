"""Samples of the operators in ``ops/attention.py``."""

from __future__ import annotations

import numpy as np

from samples import Sample, array

MATRIX = array(2, 3)
KEY = np.array([7, 11], "uint32")
QUERIES = array(1, 2, 3, 2)
KEYS = array(1, 2, 4, 2, seed=1)
VALUES = array(1, 2, 4, 3, seed=2)
MASK = np.array([[True, True, False, True], [False] * 4, [True, False, False, True]])


def attention(op, q, k, v, mask=None, key=None, p=0.0, causal=False):
    return Sample(op, (q, k, v, mask, key), {"scale": 0.7, "causal": causal, "p": p})


SAMPLES = [
    Sample("attention_scores", (QUERIES, KEYS), {"scale": 0.7}),
    Sample("attention_scores", (array(2, 1, 3, 2), KEYS), {"scale": 1.0}),
    Sample("safe_softmax", (MATRIX,), {"axis": 1}),
    Sample("causal_mask", (MATRIX,)),
    attention("attention", QUERIES, KEYS, VALUES),
    attention("attention", QUERIES, KEYS, VALUES, MASK),
    attention("attention", QUERIES, KEYS, VALUES, causal=True),
    attention("attention_by_parts", QUERIES, KEYS, VALUES, array(3, 4)),
    attention("attention_by_parts", QUERIES[0], KEYS[0], VALUES[0], None, KEY, p=0.3),
    attention("attention_by_parts", array(2, 1, 3, 2), KEYS, VALUES, array(1, 2, 1, 4)),
]  # fmt: skip
