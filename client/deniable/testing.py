"""For tests of applications: a client whose state is in memory, without network, threads or a clock of its own.

Nothing is faked: values are checked, reduced, charged and randomised as on a person's device, and mistakes raise. But
the device of a test takes part in every epoch, also where the collection asks a part of its devices only.

    client = TestClient(Collection.load("metrics.toml"))
    application(client)
    assert client.recorded("dark_mode") is True
    client.flush()
    estimate(client.collection.metrics["dark_mode"], client.reports("dark_mode"))

`pytest_plugins = ["deniable.pytest_plugin"]` in a conftest.py gives the fixture `deniable_client`.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from deniable.client import Client
from deniable.collection import Collection, Report
from deniable.device import outbox
from deniable.device.consent import Consent
from deniable.device.settings import Settings
from deniable.payload import PAYLOAD_BITS

__all__ = ["TestClient"]

_BEGIN = 1_800_000_000.0
_PAYLOAD = (1 << PAYLOAD_BITS) - 1


class TestClient(Client):
    """One device, whose epochs end when its test says so."""

    _heeds_environment = False  # a test is the same wherever it runs
    __test__ = False  # pytest takes it for a test otherwise

    def __init__(
        self,
        collection: Collection,
        *,
        segment: Mapping[str, str] | None = None,
        consent: Consent = Consent.GRANTED,
        settings: Settings | None = None,
    ) -> None:
        self._now = _BEGIN
        self._reports: list[Report] = []
        if segment is None:
            segment = {name: values[0] for name, values in collection.segments.items()}
        clock = replace(settings or Settings(), clock=lambda: self._now)
        super().__init__(collection.unsampled, consent=consent, segment=segment, strict=True, settings=clock)

    def recorded(self, metric: str) -> Any:
        """What the metric's values of this epoch have become so far; None where there is none.

        Of a metric that is fed: what those of its sources have, by their names.
        """
        self._write()
        found = self.collection.metric(metric)
        if found.sources:
            values = {name: self.recorded(name) for name in found.kind.of}
            return None if None in values.values() else values
        row = self._state.run(
            lambda connection: connection.execute("SELECT state FROM raw WHERE metric = ?", (metric,)).fetchone()
        )
        return None if row is None else found.reducer.finish(json.loads(row[0]))

    def flush(self, timeout: float = 5.0) -> bool:
        """End the epoch, and begin the next one; its reports are those that would have been sent."""
        super().flush(timeout)
        requests = self._state.run(lambda connection: connection.execute("SELECT request FROM queue").fetchall())
        self._state.run(outbox.clear)
        for (request,) in requests:
            self._reports += _decoded(request)
        self._now += self.collection.epoch_seconds
        return True

    def reports(self, metric: str) -> list[Report]:
        """All reports of a metric in the epochs that have ended, for `deniable_aggregator.estimate`."""
        columns = {column.number for column in self.collection.metric(metric).columns}
        return [report for report in self._reports if report.column in columns]

    def _start(self) -> None:
        """A test waits for nobody."""


def _decoded(request: bytes) -> list[Report]:
    from deniable.v1.report_service_pb2 import SubmitReportsRequest

    message = SubmitReportsRequest.FromString(request)
    rows = [Report(row >> PAYLOAD_BITS, row & _PAYLOAD) for (row,) in struct.iter_unpack("<Q", message.rows)]
    return rows + [Report(row.column, int.from_bytes(row.payload, "little")) for row in message.wide_rows]
