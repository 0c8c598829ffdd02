"""The collection: what is asked of a fleet, at what privacy cost, read from metrics.toml.

words:
  collection   one file of metrics, loaded by device and aggregator alike; immutable once shipped
  metric       one question: a kind, its parameters, its epsilon
  column       one mechanism collecting one thing; its number is what a report names
  digest       64 bits of SHA-256 over everything that gives a report its meaning, down to the thresholds: two
               ends that would randomise and debias differently do not know each other's digest
  version      one of several collections of a name; the file says by a number which is newer
  identity     64 bits of SHA-256 over what gives one metric's reports their meaning, but not over the words that it
               is asked in: where they are the same in two versions, reports can be added
  revision     a metric's own number in its identity: who changes what the words mean raises it
  segment      public attributes sent in the clear, as one mixed-radix index
  source       a metric whose values another one is fed from, which is answered from nothing else
  bundle       a collection whose metrics name files, and these files, in one text: what ships, and is served
"""

from __future__ import annotations

from deniable.collection._collection import Collection, bundle, text_of
from deniable.collection._files import Files, Stamp, stamp_of
from deniable.collection._metric import Budget, Column, Metric, Report, meaning
from deniable.collection._reader import EPOCHS

__all__ = [
    "EPOCHS",
    "Budget",
    "Collection",
    "Column",
    "Files",
    "Metric",
    "Report",
    "Stamp",
    "bundle",
    "meaning",
    "stamp_of",
    "text_of",
]
