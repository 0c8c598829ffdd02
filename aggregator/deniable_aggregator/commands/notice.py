"""`deniable notice`: what people are told about a collection, and those who have to agree to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deniable import Collection
from deniable_aggregator.commands._command import UsageError, command

__all__ = ["add"]

_FOR = ("people", "officer", "review")
_FORMS = ("text", "md", "html")


def add(commands: Any) -> None:
    """Add `deniable notice` to the commands, with its options."""
    what = "what people are told about a collection, in plain words, and those who have to agree to it"
    parser = command(commands, "notice", run, what, "metrics.toml --language de --format html -o notice.html")
    parser.add_argument("collection", metavar="COLLECTION", help="a collection file")
    parser.add_argument(
        "--for",
        dest="whom",
        choices=_FOR,
        default="people",
        help="people, who are asked; officer: a record of processing; review: a sheet a question (%(default)s)",
    )
    parser.add_argument("--language", default="en", metavar="en|de|FILE", help="or a file of sentences (%(default)s)")
    parser.add_argument("--format", choices=_FORMS, default="text", help="(%(default)s)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write there (standard output)")


def run(options: Any) -> None:
    """Run `deniable notice` with the options that were given."""
    from deniable_aggregator.notice import FORMS, WRITERS, Language, LanguageError

    collection = Collection.load(options.collection)
    try:
        language = Language.of(options.language)
    except LanguageError as error:
        raise UsageError(str(error)) from error
    written = FORMS[options.format](WRITERS[options.whom](collection, language))
    if options.output:
        options.output.write_text(written, encoding="utf-8")
    else:
        print(written, end="")
