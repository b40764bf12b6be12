"""Functions of arrays that are no operators: windows, copies, random keys, sums, updates."""
