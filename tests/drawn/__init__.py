"""A machine that draws programs, and runs each on PyTorch and on tapegrad in every mode.

    python -m tests.drawn --minutes 60 --seed 1

From a seed it draws whole programs (``steps.py``, ``operators.py``), in view of what they have done so far
(``writer.py``). Each is run step by step on PyTorch, and on tapegrad at once, deferred and compiled (``playing.py``,
``modes.py``), and what can be seen of them is compared (``comparing.py``). What differs is made as small as it can be
(``shrinking.py``), and grouped by cause (``hunting.py``), so that ten thousand failures are a handful of programs that
can be pasted into a shell. ``left.py`` says what is known to differ, and why. Two fresh processes then run a share of
the programs once more, and their bits are compared (``bits.py``).

Without PyTorch the modes are compared with each other, and derivatives with ``jax.grad``.
"""
