"""``GivenByOdds``: distributions that are given by probabilities, or by their logits."""

from __future__ import annotations

from typing import Any

from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions.distribution import Distribution
from tapegrad.distributions.utils import lazy_property, logits_to_probs, probs_to_logits


def only_one(probs: Any, logits: Any) -> dict[str, Any]:
    """The one of the two that is given, by its name. Raises ValueError: both are, or none."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return {"logits": logits} if probs is None else {"probs": probs}


class GivenByOdds(Distribution):
    """A distribution with ``probs`` and ``logits``, one of which is given; the other is worked out when asked for."""

    _is_binary = True

    @lazy_property
    def logits(self) -> Any:
        return probs_to_logits(self.probs, self._is_binary)

    @lazy_property
    def probs(self) -> Any:
        return logits_to_probs(self.logits, self._is_binary)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that is given."""
        return self._param.size()

    @property
    def _param(self) -> Tensor:
        return vars(self)["probs" if "probs" in self._given else "logits"]

    def _keep_odds(self, probs: Any, logits: Any, **parameters: Any) -> Size:
        """Keep the one that is given, with other parameters."""
        given = only_one(probs, logits)
        self._given = tuple(given)
        return self._keep(**parameters, **given)

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)
