"""A course through Flower: its ServerApp sends weights down, updates come up as answers (the extra `flower`).

words:
  mod       what stands between Flower and a ClientApp on a device: of its update it makes an answer
  strategy  what makes messages of weights, and weights of a round's answer
  record    a named part of a Flower message's content
  asked     nodes that have been sent weights

Nothing about a device's data goes through Flower. Its reply says that it is done, and whether its report is stored:
losses, numbers of examples, the words of an error stay where they are. The report goes the way of all reports:
charged to the device's ledger, counted once, in the transcript. What a server sends can not make it tell more: the
bounds are in the collection that the device has.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable
from secrets import SystemRandom
from typing import Any

import numpy as np
from flwr.app import (
    Array,
    ArrayRecord,
    ConfigRecord,
    Context,
    Error,
    Message,
    MessageType,
    MetricRecord,
    RecordDict,
)  # fmt: skip
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy
from numpy.typing import NDArray

from deniable import Client
from deniable_aggregator.answers import Estimate
from deniable_aggregator.learning._course import Course

__all__ = ["AnsweringMod", "CourseStrategy"]

_log = logging.getLogger("deniable.learning")
_ARRAYS, _CONFIG, _DONE = "arrays", "config", "done"
"""Records of messages."""
_ROUND, _NORM, _STORED = "server-round", "norm", "stored"
"""What is in them; the first is Flower's own word."""
_REFUSED = 6
"""Flower's code of an error: what a mod needs is not there."""
_LARGEST = 1e300

_Next = Callable[[Message, Context], Message]


class AnsweringMod:
    """A mod of a ClientApp: the update becomes an answer of the device, and nothing else of the reply leaves it.

    `client` gives the node's own `Client`, with its state file and its person's consent: the same one each time, or
    one for which it sees to closing. The metric of a round is `metric`, in which `{}` stands for the round's number.
    It answers training alone: what an app says when it is evaluated or queried is not private, and is refused.
    """

    def __init__(self, client: Callable[[Context], Client], metric: str = "round_{}", timeout: float = 60.0) -> None:
        self._client = client
        self._metric = metric
        self._timeout = timeout

    def __call__(self, message: Message, context: Context, call_next: _Next) -> Message:
        """Have the app train, and answer with the update."""
        if message.metadata.message_type.partition(".")[0] != MessageType.TRAIN:
            return Message(Error(_REFUSED, "this device answers training alone"), reply_to=message)
        records, config = message.content.array_records, message.content.config_records
        if len(records) != 1 or _CONFIG not in config:
            return Message(Error(_REFUSED, "training takes one record of arrays and a config"), reply_to=message)
        number, norm = config[_CONFIG].get(_ROUND), config[_CONFIG].get(_NORM)
        if not isinstance(number, int) or not isinstance(norm, float) or not 0 < norm < math.inf:
            return Message(Error(_REFUSED, "a round has a number, and a norm above 0"), reply_to=message)
        (sent,) = records.values()
        before = flat(sent)
        try:
            after = _after(before, call_next(message, context))
        except Exception:  # noqa: BLE001 - whether it fails is the device's own, and what it says, too
            _log.exception("the app failed: its update counts as nothing, and the server is not told")
            after = before
        client = self._client(context)
        client.record(self._metric.format(number), _update(before, after, norm))
        done = MetricRecord({_STORED: int(client.flush(self._timeout))})
        return Message(RecordDict({_DONE: done}), reply_to=message)


def _after(before: NDArray[np.float64], reply: Message) -> NDArray[np.float64]:
    """The weights of an app's reply; where it has none, those that it was sent."""
    if reply.has_error():
        raise RuntimeError(reply.error.reason)
    records = list(reply.content.array_records.values())
    after = flat(records[0]) if len(records) == 1 else before
    return after if after.shape == before.shape else before


def _update(before: NDArray[np.float64], after: NDArray[np.float64], norm: float) -> list[float]:
    """What an app has added to the weights, over the norm. What is no update is one of nothing, and so is that of an
    app that has failed: that a device has none would tell something of it, and nothing would be charged for that."""
    with np.errstate(all="ignore"):
        update = (after - before) / norm
        known = bool((np.abs(update) <= _LARGEST).all())  # False of what is no number, too
    return [float(entry) for entry in update] if known else [0.0] * len(before)


class CourseStrategy(Strategy):  # type: ignore[misc]  # Flower's types are not there where the house's are checked
    """A strategy of a ServerApp: a round asks nodes to train, and its step is the answer that an aggregator gives.

    `read` gives the answer to a metric, such as `lambda metric: reader.estimates(metric, collection="learning")`.
    A round asks `devices` nodes, or all that there are; no node twice, unless `again` is set. Once the course has
    ended nobody is asked any more. Weights are the course's: the arrays that Flower begins with say their names,
    shapes and types.
    """

    def __init__(
        self,
        course: Course,
        read: Callable[[str], Estimate | Iterable[dict[str, Any]]],
        *,
        metric: str = "round_{}",
        devices: int | None = None,
        again: bool = False,
    ) -> None:
        self.course = course
        """What has come of the rounds."""
        self._read = read
        self._metric = metric
        self._devices = devices
        self._again = again
        self._asked: set[int] = set()
        self._like: ArrayRecord | None = None

    def summary(self) -> None:
        """Log how the course goes."""
        _log.info("%s", self.course.settings)

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> list[Message]:
        """Messages with the weights for those who are asked in a round."""
        if self.course.ended:
            return []
        self._like = arrays
        there = sorted(set(grid.get_node_ids()) - self._asked)
        chosen = there if self._devices is None else SystemRandom().sample(there, min(self._devices, len(there)))
        if not self._again:
            self._asked.update(chosen)
        own = ConfigRecord({**config, _ROUND: server_round, _NORM: self.course.norm})
        weights = shaped(self.course.weights, arrays)
        return [
            Message(RecordDict({_ARRAYS: weights, _CONFIG: own}), dst_node_id=node, message_type=MessageType.TRAIN)
            for node in chosen
        ]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """The weights after a round, and how sure its step is; of the last round the model. None where nobody has
        answered: then the weights stay as they are."""
        stored = sum(_stored(reply) for reply in replies)
        if not stored or self._like is None:
            return None, None
        step = self.course.take(self._read(self._metric.format(server_round)))
        found = self.course.model if self.course.ended else self.course.weights
        about = {"reports": step.reports, "length": step.length, "noise": step.noise}
        return shaped(found, self._like), MetricRecord(about)

    def configure_evaluate(
        self,
        server_round: int,  # noqa: ARG002
        arrays: ArrayRecord,  # noqa: ARG002
        config: ConfigRecord,  # noqa: ARG002
        grid: Grid,  # noqa: ARG002
    ) -> list[Message]:
        """No message: how well a model does on a device's data is a question of its own, which costs epsilon."""
        return []

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:  # noqa: ARG002
        """Nothing, as nobody was asked."""
        return None


def _stored(reply: Message) -> bool:
    """Whether a node's report is stored."""
    if reply.has_error() or _DONE not in reply.content.metric_records:
        return False
    return bool(reply.content.metric_records[_DONE].get(_STORED))


def flat(record: ArrayRecord) -> NDArray[np.float64]:
    """The numbers of all arrays, one after another."""
    arrays = [np.ravel(np.asarray(each.numpy(), dtype=np.float64)) for each in record.values()]
    return np.concatenate([np.zeros(0), *arrays])


def shaped(vector: NDArray[np.float64], like: ArrayRecord) -> ArrayRecord:
    """Numbers as arrays of the names, shapes and types that others have."""
    made, start = {}, 0
    for name, array in like.items():
        old = array.numpy()
        made[name] = Array(np.asarray(vector[start : start + old.size].reshape(old.shape), dtype=old.dtype))
        start += old.size
    return ArrayRecord(made)
