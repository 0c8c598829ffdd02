"""CSV files of trees: a line each is a leaf, and the collection that names the file is the same without it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from deniable import Collection, CollectionError
from deniable.collection._collection import bundle
from deniable.kinds.tree import Tree
from fuzzing.target import Target
from support.collection_files import head, metric

__all__ = ["TARGET"]

_DIRECTORY = tempfile.TemporaryDirectory(prefix="deniable-trees-")
_HERE = Path(_DIRECTORY.name)
_COLLECTION = _HERE / "metrics.toml"
_TABLE = _HERE / "places.csv"
_COLLECTION.write_text(head("trees", 2.0) + metric("place", "tree", "The place", paths="places.csv"))
_SEEDS = (
    "europe,france\neurope,spain\nasia,japan\n",
    'a,"b, c"\r\na,d\r\n\r\n"e",\r\n',
    "\ufeffnorth,a,b\nnorth,a,c\nnorth,d\nsouth,x,y,z\nsouth,x,w\n",
    "a\nb\nc\n",
    "日本, 東京 \n日本,大阪\n",
)


def judge(data: bytes) -> str:
    """What is taken has the leaves that a plain look at its lines finds, and travels in a bundle."""
    _TABLE.write_bytes(data)
    try:
        own = Collection.load(_COLLECTION)
    except CollectionError as error:
        assert error.problems
        assert all(problem.what and len(problem.what) < 1000 + 8 * len(data) for problem in error.problems)
        return "refused"
    kind = own.metrics["place"].kind
    assert isinstance(kind, Tree)
    text = data.decode("utf-8").removeprefix("\ufeff")
    if '"' not in text:
        assert set(kind.paths) == _plainly(text)
    assert own.metrics["place"].kind == Collection.loads(head("trees", 2.0) + _listed(kind)).metrics["place"].kind
    again = Collection.loads(bundle(_COLLECTION))
    assert (again.digest, again.identities) == (own.digest, own.identities)
    for leaf in kind.index:
        assert kind.check(leaf) == leaf
    return "loaded"


def _plainly(text: str) -> set[str]:
    lines = (line.split(",") for line in text.replace("\r", "\n").split("\n"))
    paths = ("/".join(cell.strip() for cell in cells).rstrip("/") for cells in lines)
    return {path for path in paths if path}


def _listed(kind: Tree) -> str:
    return metric("place", "tree", "The place", paths=list(kind.paths))


TARGET = Target(
    judge,
    lambda: [text.encode() for text in _SEEDS],
    frozenset({"loaded", "refused"}),
    words=(b",", b"\n", b'"', b"/", b"\r\n", "\u2028".encode(), b",,"),
    text=True,
    longest=2000,
)
