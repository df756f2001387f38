"""Where a lesson can be opened without installing anything: Colab, Codespaces, Binder."""

from __future__ import annotations

import re

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from dspark_mini.language import ENGLISH

REPOSITORY = ""  # owner/name on GitHub: the only place; while it is empty, README and notebooks say nothing of it
BADGES = re.compile(r'^<a href="https://colab\.research\..*\n\n', re.M)
LANGUAGES = re.compile(r'^<a href="README\.md">.*\n\n', re.M)  # the line below which the README has its badges
INSTALL = """\
# This installs the kit where there is none, as in Colab; elsewhere it does nothing.
import importlib.util
import site

if importlib.util.find_spec("grader") is None:
    !git clone -q --depth 1 https://github.com/{repository} kit && pip install -q -e ./kit
    site.main()  # finds what was installed just now"""


def hosts(repository: str, lesson: str, language: str = ENGLISH) -> dict[str, str]:
    """Return the addresses at which a lesson opens, by the name of the host.

    Args:
        repository: Owner and name on GitHub; "" if it is not known, and then there are none.
        lesson: Name of the lesson.
        language: Language of its notebook.
    """
    notebook = f"notebooks/{'' if language == ENGLISH else f'{language}/'}{lesson}.ipynb"
    addresses = {
        "Colab": f"https://colab.research.google.com/github/{repository}/blob/main/{notebook}",
        "Codespaces": f"https://codespaces.new/{repository}",
        "Binder": f"https://mybinder.org/v2/gh/{repository}/HEAD?urlpath=lab/tree/{notebook}",
    }
    return addresses if repository else {}


def with_badges(readme: str, repository: str = REPOSITORY) -> str:
    """Return the README with badges below the line of languages, or without any if the repository is not known."""
    pictures = ("https://colab.research.google.com/assets/colab-badge.svg", "https://github.com/codespaces/badge.svg")
    badges = zip(hosts(repository, "00_why_speculate").items(), (*pictures, "https://mybinder.org/badge_logo.svg"))
    line = " ".join(f'<a href="{to}"><img alt="{name}" src="{picture}"></a>' for (name, to), picture in badges)
    return LANGUAGES.sub(lambda above: above[0] + (f"{line}\n\n" if line else ""), BADGES.sub("", readme))


def install_cell(repository: str = REPOSITORY) -> list[NotebookNode]:
    """Return the cell, folded away in JupyterLab, that installs the kit; none if the repository is not known.

    Grading does not run it: it counts as a picture that the learner has left as it is.
    """
    metadata = {"dspark": {"role": "show"}, "jupyter": {"source_hidden": True}}
    return [new_code_cell(INSTALL.format(repository=repository), id="install", metadata=metadata)] if repository else []
