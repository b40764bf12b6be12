"""The Python that is written for plans: what makes calls, what nodes do in backward, what gives results tangents."""
