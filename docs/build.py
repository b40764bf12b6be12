"""What mkdocs asks when it builds the site: it gets the generated pages beside the others, and the order of all."""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))


def on_config(config: Any) -> None:
    """The chapters."""
    from docs.pages import chapters

    config.nav = chapters()


def on_files(files: Any, config: Any) -> None:
    """The generated pages; in place of those that they are made of, if there are any."""
    from mkdocs.structure.files import File

    from docs.pages import pages

    for path, text in pages():
        if (template := files.get_file_from_path(path)) is not None:
            files.remove(template)
        files.append(File.generated(config, path, content=text))
