"""What an operator's OpenTelemetry collector is told of what is done for who reads or runs an aggregator.

Nothing of a device: `spans.py` says why. Whatever room does such a thing may know of this one, which knows of none.
"""

from deniable_aggregator.tracing.spans import INSTALL, PATIENCE_SECONDS, Span, begin, can, end, note, resource, span

__all__ = ["INSTALL", "PATIENCE_SECONDS", "Span", "begin", "can", "end", "note", "resource", "span"]
