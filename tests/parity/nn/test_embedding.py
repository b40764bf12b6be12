"""Embedding, beside PyTorch's."""

import numpy as np
import pytest
from case_tables import case_of, of
from harness import same, same_error

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

ROWS = of(4, 3)
LOOKUPS = np.array([[1, 3], [3, 0]])

EMBEDDINGS = {
    "plain": (lambda F, w, i: F.embedding(i, w), ROWS, LOOKUPS),
    "padding": (lambda F, w, i: F.embedding(i, w, padding_idx=3), ROWS, LOOKUPS),
    "negative padding": (lambda F, w, i: F.embedding(i, w, padding_idx=-1), ROWS, LOOKUPS),
    "by frequency": (lambda F, w, i: F.embedding(i, w, scale_grad_by_freq=True), ROWS, LOOKUPS),
    "int32": (lambda F, w, i: F.embedding(i.int(), w), ROWS, LOOKUPS),
    "one": (lambda F, w, i: F.embedding(i, w), ROWS, np.array(2)),
    "none": (lambda F, w, i: F.embedding(i, w), ROWS, np.zeros(0, "int64")),
    "int table": (lambda F, w, i: F.embedding(i, w.long()), ROWS, LOOKUPS),
}


@case_of(EMBEDDINGS)
def test_embeddings(case):
    program, *inputs = EMBEDDINGS[case]
    same(lambda torch, *args: program(torch.nn.functional, *args), *inputs)


def test_embedding_max_norm():
    def program(torch, w, i):
        w = w.detach().clone()
        return torch.nn.functional.embedding(i, w, max_norm=1.0), w

    same(program, ROWS, np.array([1, 3]))


EMBEDDING_ERRORS = {
    "range": (lambda F, w: F.embedding(w.detach().long() * 0 + 4, w), ROWS),
    "negative": (lambda F, w: F.embedding(w.detach().long() * 0 - 1, w), ROWS),
    "float": (lambda F, w: F.embedding(w.float(), w), ROWS),
    "bytes": (lambda F, w, i: F.embedding(i, w), ROWS, LOOKUPS.astype("uint8")),
    "bool": (lambda F, w, i: F.embedding(i > 0, w), ROWS, LOOKUPS),
    "vector": (lambda F, w, i: F.embedding(i, w[0]), ROWS, LOOKUPS),
    "padding": (lambda F, w, i: F.embedding(i, w, padding_idx=4), ROWS, LOOKUPS),
    "low padding": (lambda F, w, i: F.embedding(i, w, padding_idx=-5), ROWS, LOOKUPS),
    "no rows": (lambda F, w, i: F.embedding(i, w[:0]), ROWS, LOOKUPS),
}


@case_of(EMBEDDING_ERRORS)
def test_embedding_errors(case):
    program, *inputs = EMBEDDING_ERRORS[case]
    same_error(lambda torch, *args: program(torch.nn.functional, *args), *inputs)
