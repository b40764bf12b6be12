"""Which of several processes this is, as far as they have met (``distributed/distributed_c10d.py``)."""


class Processes:
    """The processes that compute together.

    Attributes:
        rank: which of them this is.
        count: how many there are; 0 if they have not met.
    """

    rank = count = 0


processes = Processes()
