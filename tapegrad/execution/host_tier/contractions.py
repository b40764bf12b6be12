"""Rules of products of matrices."""

from __future__ import annotations
