"""``python -m tapegrad.ops``: every operator with kind, formulas, saved values, forward-mode and complex support."""

from argparse import ArgumentParser

from tapegrad.ops.page import page

if __name__ == "__main__":
    parser = ArgumentParser(prog="python -m tapegrad.ops", description=__doc__)
    parser.add_argument("--markdown", action="store_true", help="as tables of Markdown")
    print(page(parser.parse_args().markdown))
