"""The tape: nodes, edges, and what a thread has switched on. It knows neither arrays nor tensors."""
