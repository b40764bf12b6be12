"""``python -m tests.libraries NAME ...``: see ``running.py``."""

import sys

from tests.libraries.running import main

if __name__ == "__main__":
    sys.exit(main())
