"""Stubs, which type checkers and editors read: the functions and methods that are put into their places at import.

The package's ``.pyi`` files are written by ``python -m tapegrad._src.stubs``, from the declarations
(``bindings/declaration/registry.py``) and from PyTorch's signatures (``bindings/declaration/parser_table.py``); a test
holds them in step. Nothing imports them when a program runs. The writer is here.
"""
