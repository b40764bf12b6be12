"""Guards: what a call depends on besides its arguments, found by what it has run, and whether that has changed.

``what_ran`` is told by Python what the call executes (``watching``), ``allowed`` judges what that may call, and
``reachable`` finds the places from which it could have read something (``locations``, by the names in ``code``).
``guards`` and ``tensor_guards`` compare these before a call is replayed, by an expression that is written for it.
"""
