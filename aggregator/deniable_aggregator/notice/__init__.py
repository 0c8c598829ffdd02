"""What people are told about a collection, in their own language, and those who have to agree to it.

words:
  notice     for the people who are asked: what, how it is changed, how sure anybody can be of it, what it costs, and
             how to say no
  record     of processing, for whoever is responsible for privacy; what the collection can not know is left open
  review     a sheet for each question, for those who agree to it
  language   the sentences, in a file; languages differ in nothing else, as all numbers come from the same rooms
  document   headings, paragraphs, lists and tables: as HTML, as Markdown and as plain text

Numbers are those of `deniable explain`: of `telling/reveals.py`, the device's own ledger, and `deniable.linkage`.
"""

from __future__ import annotations

from deniable_aggregator.notice._document import Document, escaped, page
from deniable_aggregator.notice._language import Language, LanguageError, languages
from deniable_aggregator.notice.officer import record
from deniable_aggregator.notice.people import notice
from deniable_aggregator.notice.review import sheets

__all__ = ["FORMS", "WRITERS", "Document", "Language", "LanguageError", "escaped", "languages", "page"]

WRITERS = {"people": notice, "officer": record, "review": sheets}
"""By whom it is for: what writes it."""
FORMS = {"html": Document.html, "md": Document.markdown, "text": Document.text}
"""By its name: what a document is written as."""
