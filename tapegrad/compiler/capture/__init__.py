"""Capture: one call of a function, made while all that it computes is recorded, and accounted for.

``captured_call`` makes the call: its arguments are taken apart (``arguments``), dynamic numbers have proxies
(``dynamic_number``, ``numbers``, ``proxies``), and ``capture`` records. Then each input of the program has a source
(``sources``), and all that is left behind is a side effect (``side_effects``, ``rebinding``, ``results``). Histories
that leave the call have a backward pass that is a program, too (``joint_graph`` to ``compiled_function``).
"""
