"""Replay: a captured call made again without its Python.

``cache_keys`` tells which calls are alike, ``cache_entry`` what is known of such, ``programs`` what is compiled.
``replay`` reads the inputs (``reading``), runs the program, and writes the outputs that the call would have
(``outgoing``). Where a step can't be replayed its modules and optimizers are (``compiled_modules``).
"""
