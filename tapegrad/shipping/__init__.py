"""Files that come with the package so that a first call need not trace: see Note [Shipped structures] in
``structures.py``.

``python -m tapegrad.shipping`` writes the file anew.
"""
