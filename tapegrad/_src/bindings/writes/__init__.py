"""Functions that write: in place, to parts of a tensor, to ``out=``; and the short ways of those that come again."""
