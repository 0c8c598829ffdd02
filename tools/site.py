"""The documentation as a site, in build/docs: the pages of docs and, from docstrings, every public name. `make docs`.

python -m tools.site            build it; a warning is an error
python -m tools.site --serve    and serve it, for this machine alone, until it is stopped

The pages are read on a forge, too, and stay as they are. docs/README.md is the front: each of its lists is a group of
the site. No server is needed to read it: search and menu work from files, and nothing comes from elsewhere.
"""

from __future__ import annotations

import fcntl
import functools
import gc
import hashlib
import http.server
import io
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from sphinx.addnodes import toctree
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.search.en import SearchEnglish
from sphinx.util.docutils import docutils_namespace, patch_docutils
from tools.site_pages import BUILD, ROOT, lay_out, pages
from tools.site_reference import MODULES, names, without_words

__all__ = ["build", "built"]

LOOK = ROOT / "docs" / "site"
"""What the site looks like: its style, and what its pages do."""
SETTINGS: dict[str, Any] = {
    "project": "Deniable",
    "html_title": "Deniable",
    "html_theme": "furo",
    "html_static_path": [str(LOOK)],
    "html_css_files": ["site.css"],
    "html_js_files": ["site.js"],
    "html_show_sphinx": False,
    "html_show_copyright": False,
    "html_copy_source": False,
    "html_use_index": True,
    "extensions": ["myst_parser", "sphinx.ext.autodoc"],
    "myst_heading_anchors": 6,
    "nitpicky": True,
    "default_role": "code",  # as docstrings mean it
    "autodoc_member_order": "bysource",
    "autodoc_class_signature": "separated",
    "python_use_unqualified_type_names": True,
    "language": "en",
}


def built() -> str:
    """Have the site as it would be if it was built now; what is wrong with it. Whoever comes second waits."""
    BUILD.parent.mkdir(exist_ok=True)
    with (BUILD.parent / "docs.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp, made_of = BUILD / ".made-of", _made_of()
        if stamp.exists() and stamp.read_text() == made_of:
            return ""
        wrong = build(BUILD)
        if not wrong:
            stamp.write_text(made_of)
        return wrong


def _made_of() -> str:
    """A hash of everything that the site is made of."""
    found = hashlib.sha256()
    code = [*ROOT.glob("tools/site*.py"), *ROOT.glob("client/deniable/**/*.py"), *ROOT.glob("aggregator/**/*.py")]
    shown = [ROOT / page for page in pages()] + [*ROOT.glob("docs/images/**/*"), *LOOK.iterdir()]
    for path in sorted({*code, *shown, ROOT / "requirements/dev.txt"}):
        if path.is_file():
            found.update(str(path).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


class _English(SearchEnglish):
    """The search's language, whose words are brought to their stems once each: of ten on a page nine come again."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._stems: dict[str, str] = {}

    def stem(self, word: str) -> str:
        """Its stem."""
        if word not in self._stems:
            self._stems[word] = super().stem(word)
        return self._stems[word]


def build(directory: Path) -> str:
    """Build the site anew into a directory; what is wrong with it, line by line."""
    shutil.rmtree(directory, ignore_errors=True)
    source, warnings = directory / ".source", io.StringIO()
    lay_out(source)
    with patch_docutils(), docutils_namespace():
        app = Sphinx(source, None, directory, directory / ".trees", "html", SETTINGS, io.StringIO(), warnings)
        app.add_search_language(_English)
        app.connect("autodoc-process-docstring", _process_docstring)
        app.connect("missing-reference", _link_to_public_name)
        app.connect("html-page-context", _menu_of_titles, priority=100)  # before the theme
        app.connect("html-page-context", _level_of_captions, priority=900)  # after the theme
        app.build()
    shutil.rmtree(source)
    shutil.rmtree(directory / ".trees")
    return re.sub("\x1b\\[[0-9;]*m", "", warnings.getvalue()).replace(f"{source}/", "")


def _process_docstring(_app: Sphinx, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    lines[:] = without_words(lines)


def _link_to_public_name(app: Sphinx, env: Any, node: Any, contnode: Any) -> Any:
    """A type of a signature: where it is public, its page; otherwise its name alone. Pages' links stay."""
    if node.get("refdomain") != "py":
        return None
    name = node["reftarget"].rpartition(".")[2]
    for module in MODULES:
        if name in names(module):
            found = env.get_domain("py").resolve_xref(
                env, node["refdoc"], app.builder, "obj", f"{module}.{name}", node, contnode
            )
            return contnode if found is None else found
    return contnode


def _menu_of_titles(app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """The menu of each page names pages alone: their headings are not copied for each only to be left out again."""
    whole = context.get("toctree")
    if whole is None:
        return

    def menu(**said: Any) -> Any:
        contents, app.env.tocs = app.env.tocs, _titles(app.env)
        try:
            return whole(**said)
        finally:
            app.env.tocs = contents

    context["toctree"] = menu


@functools.cache
def _titles(env: BuildEnvironment) -> dict[str, Any]:
    """Of each page's contents its title, and the pages that are below it."""
    titles = {}
    for name, contents in env.tocs.items():
        titles[name] = contents.deepcopy()
        for entry in titles[name].children:
            if len(entry) > 1:
                entry[1][:] = list(entry[1].findall(toctree))
    return titles


def _level_of_captions(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """The theme calls a menu's captions headings, and leaves out of which level."""
    tree = "furo_navigation_tree"
    context[tree] = context[tree].replace('role="heading"', 'role="heading" aria-level="2"')


def serve() -> None:
    """Show the site on this machine until somebody stops it."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(BUILD))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 8480), handler) as server:
        print("http://127.0.0.1:8480/")
        server.serve_forever()


def main() -> int:
    """Build it; 1 where something is wrong with it."""
    gc.disable()  # what is read stays until all is written: a third of the build looked for rubbish, and found none
    if wrong := built():
        print(wrong, end="", file=sys.stderr)
        return 1
    print(f"{BUILD.relative_to(ROOT)}/index.html")
    if "--serve" in sys.argv[1:]:
        serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
