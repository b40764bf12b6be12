"""Steps as people write them, each run at once and compiled, with all that can be seen of both compared.

    python -m tests.compiled --status [--only TEXT] [--cost]

An entry of the table is a function in one of the files ``steps_*.py`` or ``attacks_*.py`` (``declaring.py``). It sets a
program up, and gives a function that makes the call of a number, and what can be observed. ``running.py`` makes these
calls, ``seeing.py`` says what is seen and how it differs, ``status.py`` what has become of each entry when it was
compiled. Steps are what users want to be quick, attacks are what was once silently wrong, or might be.
"""
