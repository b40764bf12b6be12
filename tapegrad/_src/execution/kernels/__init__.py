"""Kernels: the interface through which all arithmetic goes."""
