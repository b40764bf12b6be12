"""Files that come with the package so that a first call need not trace: see Note [Shipped classes] in
``shape_class.py``.

``python -m tapegrad._src.shipping`` writes the file anew.
"""
