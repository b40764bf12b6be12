"""``python -m tapegrad._src.shipping [FILE]`` writes what comes with the package anew, for this Python."""

import sys
from pathlib import Path

from tapegrad._src.shipping.running import run
from tapegrad._src.shipping.writing import write
from tapegrad._src.tape import kept

if __name__ == "__main__":
    kept.keep_in(None)
    kept.shipped = kept.Shipped(None)
    failed = run()
    for call, why in failed.items():
        print(f"{call}: {why}"[:200])
    place = Path(sys.argv[1]) if sys.argv[1:] else kept.shipped_path()
    assert place is not None
    print(write(place), "bytes")
