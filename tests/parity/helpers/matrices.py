"""Matrices to decompose: square, tall, wide, in batches, complex, definite."""

import numpy as np
from samples import array

A, TALL, WIDE, BATCH = array(3, 3), array(3, 2), array(2, 3), array(2, 3, 2)
Z, TALL_Z, WIDE_Z = (array(*x.shape, dtype="complex128") for x in (A, TALL, WIDE))
POSITIVE = A @ A.T + 2 * np.eye(3)
POSITIVE_Z = Z @ Z.conj().T + 2 * np.eye(3)
NOTHING = np.zeros((0, 3, 3))
