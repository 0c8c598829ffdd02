"""A collection to begin with: one question of each kind that is asked for, with what there is to say about it.

words:
  question   a metric of a kind, as somebody who has never written one could want it
  needs      kinds without which a question can not be asked: what it is fed from
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from deniable import Collection
from deniable._section import nearest
from deniable_aggregator.planning.update import DAYS, Cost

__all__ = ["FIRST", "QUESTIONS", "start"]

FIRST = ("boolean", "category", "number")
"""What is asked unless somebody says what."""
_UNNAMED, _PLENTY = "unnamed", 1000.0
"""Of a collection that is only looked at for what it costs."""


class Question(NamedTuple):
    """A metric of one kind."""

    text: str
    """Its table, as it stands in the file."""
    needs: tuple[str, ...] = ()
    """Kinds that have to be asked as well, before it."""


QUESTIONS = {
    "boolean": Question("""\
[metrics.dark_mode]
kind = "boolean"
description = "The dark theme is on"    # in words that the person counted would understand
reason = "We decide which theme new installations begin with"   # what the answer is for
epsilon = 1.0                           # the odds of one answer against another: at most e to one
memoize = true                          # remember the lie, so that nobody can average it away
expires = "never"                       # or the first day on which it is not asked any more
"""),
    "category": Question("""\
[metrics.browser]
kind = "category"
description = "The default browser"
reason = "We test where most people are"
values = ["chrome", "edge", "firefox", "safari", "other"]   # exactly one of these is recorded
epsilon = 1.0
expires = "never"
"""),
    "ordinal": Question("""\
[metrics.skill]
kind = "ordinal"
description = "How well somebody knows the program, in their own words"
reason = "We decide how much to explain"
values = ["beginner", "regular", "expert"]   # in order: medians and shares up to one of them are told
epsilon = 1.0
expires = "never"
"""),
    "number": Question("""\
[metrics.session_minutes]
kind = "number"
description = "Minutes in the foreground"
reason = "We see whether a release is used"
range = [0, 480]    # beyond it the nearest end is recorded; the wider, the less certain the mean
unit = "minutes"
reduce = "sum"      # several values of one day are added up; unless said, the last one is kept
epsilon = 1.0
expires = "never"
"""),
    "count": Question("""\
[metrics.files_saved]
kind = "count"
description = "Files that were saved"
reason = "We decide how often to save by itself"
max = 200           # more are counted as so many; the larger, the less certain the mean
unit = "files"
epsilon = 1.0
expires = "never"
"""),
    "distribution": Question("""\
[metrics.load_ms]
kind = "distribution"
description = "Milliseconds until the window could be used"
reason = "We find out where starting takes too long"
range = [0, 4000]   # medians, percentiles and shares of any range are told, to a bucket
buckets = 64
unit = "ms"
epsilon = 1.0
expires = "never"
"""),
    "flags": Question("""\
[metrics.features]
kind = "flags"
description = "Features that were used"
reason = "We keep what is used"
flags = ["search", "spelling", "export"]   # any number of these is recorded
reduce = "any"                             # used at any time of the day; unless said, only the last value is kept
epsilon = 2.0
expires = "never"
"""),
    "set": Question("""\
[metrics.languages]
kind = "set"
description = "Languages that files were written in"
reason = "We choose which languages to support next"
values = ["python", "rust", "go", "c", "other"]
max_items = 2       # of more, a device draws two
reduce = "any"
epsilon = 1.0
expires = "never"
"""),
    "text": Question("""\
[metrics.search_words]
kind = "text"
description = "The word that was searched for last"   # any word: found are those that many devices have
reason = "We write help on what people look for"
normalize = "casefold"
epsilon = 2.0
expires = "never"
"""),
    "tree": Question("""\
[metrics.region]
kind = "tree"
description = "Where the device is"
reason = "We place our servers near people"
paths = ["europe/france", "europe/germany", "europe/other", "america", "asia", "other"]   # a leaf is recorded
epsilon = 1.0
expires = "never"
"""),
    "vector": Question("""\
[metrics.keys]
kind = "vector"
description = "How often each of eight shortcuts was used, as a direction"
reason = "We place shortcuts that go together side by side"
dimensions = 8      # a list of so many numbers is recorded
norm = "l2"
clip = 1.0          # a longer one is shortened to this
epsilon = 2.0
expires = "never"
"""),
    "joint": Question("""\
[metrics.theme_by_browser]
kind = "joint"      # nothing is recorded for it: it is answered from what is recorded for these
description = "Which theme goes with which browser"
reason = "We find themes that look bad in one browser"
of = ["dark_mode", "browser"]
epsilon = 1.0
expires = "never"
""", ("boolean", "category")),
}  # fmt: skip
"""By kind: what is asked."""
_HEAD = """\
# What {name} asks of the devices it runs on. All that can stand here: docs/collections.md.
# What it costs, and what is unwise about it: deniable check {file}

[collection]
name = {quoted:<33}# a-z, 0-9 and _
epoch = "1d"                            # how often a device answers: 1h, 1d or 7d
owner = "telemetry@example.org"         # who asks: people are shown it
version = 1                             # a greater one with every change that devices get: docs/changing.md

[budget]
epoch = {epoch:<32}# what a device may spend in an epoch: the sum of the epsilons below
lifetime = {lifetime:<29}# and ever: what is remembered, and {days} days of fresh answers

[segments]                              # sent in the clear, to split answers by; a device is in one of each
platform = ["linux", "macos", "windows"]
"""


def start(name: str, kinds: Sequence[str], file: str) -> str:
    """The text of a collection of that name with a question of each of these kinds; ValueError where one is none."""
    for kind in kinds:
        if kind not in QUESTIONS:
            near = nearest(kind, QUESTIONS)
            hint = f"; did you mean {near}?" if near else ""
            raise ValueError(f"{kind!r} is no kind of question: it is one of {', '.join(QUESTIONS)}{hint}")
    asked = dict.fromkeys(kind for given in kinds for kind in (*QUESTIONS[given].needs, given))
    questions = [QUESTIONS[kind].text for kind in asked]
    cost = Cost.of(Collection.loads(_text(_UNNAMED, "", _PLENTY, _PLENTY, questions)))
    return _text(name, file, cost.epoch, cost.year + cost.once, questions)


def _text(name: str, file: str, epoch: float, lifetime: float, questions: Sequence[str]) -> str:
    head = _HEAD.format(name=name, quoted=f'"{name}"', file=file, epoch=epoch, lifetime=lifetime, days=DAYS)
    return "\n".join([head, *questions])
