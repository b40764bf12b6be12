"""Samples of the operators in ``ops/svd.py``."""

from __future__ import annotations

import numpy as np

from samples import Sample, array
from samples.eigen import without_phase

COMPLEX = {"dtype": "complex128"}
A, TALL, WIDE = array(3, 3), array(3, 2), array(2, 3)
Z, TALL_Z, WIDE_Z = array(3, 3, **COMPLEX), array(3, 2, **COMPLEX), array(2, 3, **COMPLEX)
BATCH, NOTHING = array(2, 3, 2), array(0, 3, 3)


def phaseless_pairs(outputs, tangents, cotangents):
    """The same of singular vectors, (u, s, vh); and tangents along which their phases don't move, as JAX has other
    ones."""
    u, _, vh = outputs
    turned = [np.einsum("...ji,...jk,...ik->...i", u.conj(), t, vh.conj()).imag for t in tangents]
    tangents = [t - 1j * (u * along[..., None, :]) @ vh for t, along in zip(tangents, turned, strict=True)]
    g_vh = without_phase(np.swapaxes(vh, -1, -2).conj(), np.swapaxes(cotangents[2], -1, -2).conj())
    return tangents, [without_phase(u, cotangents[0]), cotangents[1], np.swapaxes(g_vh, -1, -2).conj()]


SAMPLES = [
    *(Sample("svd", (x,), {"full_matrices": False}) for x in (A, TALL, WIDE, BATCH, NOTHING)),
    *(Sample("svd", (x,), {"full_matrices": False}, directions=phaseless_pairs, second=False, note=" complex")
      for x in (Z, TALL_Z, WIDE_Z)),
    Sample("svdvals", (TALL,)),
]  # fmt: skip
