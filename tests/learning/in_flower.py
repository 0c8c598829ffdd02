"""A course through Flower's own apps, messages and strategies, with real clients and a real aggregator.

Flower wants other versions of what the house's environment has, so it has one of its own (`.venv-flower`), where
`test_flower.py` has this file run. What carries messages here is a grid within the process; all else of Flower is its
own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examples.learning.device import update
from examples.learning.questions import asked
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
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.supercore.task_identity import TaskIdentity

from deniable import Client, Collection, Consent
from deniable.testing import TestClient
from deniable_aggregator import Reader
from deniable_aggregator.learning import Course, Settings
from deniable_aggregator.learning.flower import AnsweringMod, CourseStrategy
from support.commands import ROOT, serving_text

DIMENSIONS, ROUNDS, EACH = 4, 2, 20
SECRET = "47.11"
TEXT = asked(DIMENSIONS, 4, "8")
COLLECTION = Collection.loads(TEXT)


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An aggregator of the example's questions."""
    with serving_text(tmp_path_factory.mktemp("aggregator"), TEXT) as address:
        yield address


@pytest.fixture(autouse=True)
def task() -> None:
    """Who sends messages, as Flower says it to a process of its own."""
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1


class Here(Grid):  # type: ignore[misc]
    """Nodes in this process: each message goes to the app, with its node's context, and its reply comes back."""

    def __init__(self, app: ClientApp, nodes: int) -> None:
        self._app = app
        self.contexts = {
            node: Context(1, node, {"place": node}, RecordDict(), {}) for node in range(100, 100 + nodes)
        }
        self.sent: list[Message] = []
        self.replies: list[Message] = []

    def set_run(self, run: Any) -> None:
        """Nothing: there is one."""

    @property
    def run(self) -> Any:
        """The one that there is."""
        raise NotImplementedError

    def create_message(self, *given: Any, **more: Any) -> Message:
        """As `Message` does."""
        raise NotImplementedError

    def get_node_ids(self) -> Iterable[int]:
        """All nodes."""
        return list(self.contexts)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Not by halves."""
        raise NotImplementedError

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Not by halves."""
        raise NotImplementedError

    def send_and_receive(
        self,
        messages: Iterable[Message],
        *,
        timeout: float | None = None,  # noqa: ARG002 - Flower's own
    ) -> Iterable[Message]:
        """Each is sent, and answered."""
        some = list(messages)
        self.sent += some
        replies = [self._app(message, self.contexts[message.metadata.dst_node_id]) for message in some]
        self.replies += replies
        return replies


def clients(endpoint: str, directory: Path) -> Callable[[Context], Client]:
    """Of every node one, with a state file of its own."""
    made: dict[int, Client] = {}

    def client(context: Context) -> Client:
        if context.node_id not in made:
            path = directory / f"{context.node_id}.db"
            made[context.node_id] = Client(COLLECTION, endpoint=endpoint, state=path, consent=Consent.GRANTED)
        return made[context.node_id]

    return client


def trained(message: Message, context: Context) -> Message:
    """What an app does: its node's class is whether its number is even, which the bias can not tell. It is as open
    about its data as Flower's examples are."""
    sent = message.content.array_records["arrays"]
    weights = np.concatenate([each.numpy().ravel() for each in sent.values()]).tolist()
    even = context.node_id % 2 == 0
    own = update(weights, [0.9 if even else -0.9, 0.1, -0.1, 0.3], int(even))
    moved = np.array(weights) + np.array(own)
    arrays = ArrayRecord({"weights": Array(moved[:3].reshape(3, 1)), "bias": Array(moved[3:])})
    told = MetricRecord({"train_loss": float(SECRET), "num-examples": 1})
    return Message(RecordDict({"arrays": arrays, "metrics": told}), reply_to=message)


def begin() -> ArrayRecord:
    """Weights in two arrays."""
    return ArrayRecord({"weights": Array(np.zeros((3, 1), np.float32)), "bias": Array(np.zeros(1))})


def test_a_course_runs_through_both_apps(tmp_path: Path, endpoint: str) -> None:
    """The weight that tells the class grows, in the first of two rounds of 20 nodes by eight standard errors (less
    than nothing is chance once in 10^6 times). Names, shapes and types of arrays stay. No node is asked twice, and
    once the course has ended nobody is."""
    app = ClientApp(mods=[AnsweringMod(clients(endpoint, tmp_path))])
    app.train()(trained)
    grid, server = Here(app, 2 * EACH + 20), ServerApp()
    course = Course(np.zeros(DIMENSIONS), Settings(rate=4.0, rounds=ROUNDS), norm=0.5)
    results = []

    def main(grid: Grid, context: Context) -> None:
        with Reader(endpoint) as reader:
            strategy = CourseStrategy(course, reader.estimates, devices=EACH)
            results.append(strategy.start(grid, begin(), num_rounds=ROUNDS + 2))

    server.main()(main)
    server(grid, Context(1, 1, {}, RecordDict(), {}))
    assert course.ended == "it had 2 rounds"
    assert [step.reports for step in course.steps] == [EACH, EACH]
    assert course.history[1][0] > 0
    assert len({message.metadata.dst_node_id for message in grid.sent}) == len(grid.sent) == ROUNDS * EACH
    found = results[0].arrays
    assert {name: (array.numpy().shape, str(array.numpy().dtype)) for name, array in found.items()} == {
        "weights": ((3, 1), "float32"), "bias": ((1,), "float64"),
    }  # fmt: skip
    assert np.allclose(np.concatenate([each.numpy().ravel() for each in found.values()]), course.model)
    told = results[0].train_metrics_clientapp
    assert {number: own["reports"] for number, own in told.items()} == {1: EACH, 2: EACH}
    assert all(dict(reply.content.metric_records["done"]) == {"stored": 1} for reply in grid.replies)
    assert not any(reply.content.array_records for reply in grid.replies)


def test_the_page_shows_how(tmp_path: Path, endpoint: str) -> None:
    """The lines of docs/learning.md, with as many nodes as there are here: a round, and what it was answered with."""
    (code,) = re.findall(
        r"^```python\n(app = .*?)^```", (ROOT / "docs/learning.md").read_text(), re.MULTILINE | re.DOTALL
    )
    made, begun = code.splitlines()[0], "\n".join(code.splitlines()[1:])
    course = Course(np.zeros(DIMENSIONS), Settings(rate=4.0, rounds=1), norm=0.5)
    with Reader(endpoint) as reader:
        names = globals() | {"client": clients(endpoint, tmp_path), "course": course, "reader": reader}
        exec(made, names)
        names["app"].train()(trained)
        names |= {"grid": Here(names["app"], EACH), "initial_arrays": begin()}
        exec(begun.replace("devices=1000", f"devices={EACH}"), names)
    assert len(course.steps) == 1


def asked_in(number: Any = 3, norm: Any = 1.0, kind: str = MessageType.TRAIN) -> Message:
    """A round's message."""
    config = ConfigRecord({"server-round": number, "norm": norm})
    return Message(RecordDict({"arrays": begin(), "config": config}), dst_node_id=7, message_type=kind)


def replied(app: Callable[[Message, Context], Message], client: Any, message: Message) -> Message:
    """What a device with this app says."""
    context = Context(1, 7, {}, RecordDict(), {})
    found: Message = AnsweringMod(client)(message, context, app)
    return found


class Noting(TestClient):
    """A device that is a test's, which keeps what it was given."""

    def __init__(self) -> None:
        super().__init__(COLLECTION)
        self.given: list[tuple[str, list[float]]] = []

    def record(self, metric: str, value: Any) -> None:
        """Note it, too."""
        self.given.append((metric, value))
        super().record(metric, value)


def test_nothing_of_a_reply_leaves_but_that_it_is_done() -> None:
    """No arrays, losses, numbers of examples; the update is recorded, over the norm."""
    device = Noting()
    reply = replied(trained, lambda _: device, asked_in(norm=0.5))
    assert {name: dict(own) for name, own in reply.content.items()} == {"done": {"stored": 1}}
    ((metric, value),) = device.given
    assert metric == "round_3"
    assert value == pytest.approx([0.9, -0.1, 0.1, -0.3], abs=1e-6)


def fails(message: Message, context: Context) -> Message:
    """An app that says too much as it fails."""
    raise ValueError(f"no such salary: {SECRET}")


def says_so(message: Message, context: Context) -> Message:
    """Another one."""
    return Message(Error(17, f"no such salary: {SECRET}"), reply_to=message)


def of_text(message: Message, context: Context) -> Message:
    """One whose reply is no numbers."""
    arrays = {"weights": Array(np.array([[SECRET]])), "bias": Array(np.array(["none"]))}
    return Message(RecordDict({"arrays": ArrayRecord(arrays)}), reply_to=message)


@pytest.mark.parametrize("app", [fails, says_so, of_text])
def test_an_app_that_fails_is_answered_as_an_update_of_nothing(app: Callable[[Message, Context], Message]) -> None:
    """The reply is that of every device: neither what it says, nor its code, nor that it has failed."""
    device = Noting()
    reply = replied(app, lambda _: device, asked_in())
    assert {name: dict(own) for name, own in reply.content.items()} == {"done": {"stored": 1}}
    assert device.given == [("round_3", [0.0] * 4)]


def overflows(secret: float) -> Callable[[Message, Context], Message]:
    """An app as many are written: its logistic function has no bounds, and raises an error far below 0."""

    def app(message: Message, context: Context) -> Message:
        (sent,) = message.content.array_records.values()
        weights = np.concatenate([each.numpy().ravel() for each in sent.values()])
        gradient = 1 / (1 + math.exp(-float(weights[0]) * secret)) * secret
        arrays = ArrayRecord({"weights": Array(np.full((3, 1), gradient)), "bias": Array(np.zeros(1))})
        return Message(RecordDict({"arrays": arrays}), reply_to=message)

    return app


@pytest.mark.parametrize("weight", [-1e6, -1e3, -1.0, 0.0, 1.0, 1e3, 1e6])
def test_no_weights_make_apps_fail_so_that_the_server_sees_what_a_device_has(weight: float) -> None:
    """Weights under which the app fails of a device that has more than some number, and of no other: all replies are
    alike, and all devices have paid. Where such a device was missing, and paid nothing, a server that asked again and
    again would have had its number to any digit, without noise."""
    replies, spent = [], []
    for secret in (-0.9, -0.3, 0.4, 0.9):
        device = Noting()
        message = asked_in()
        message.content.array_records["arrays"]["weights"] = Array(np.full((3, 1), weight))
        reply = replied(overflows(secret), lambda _, device=device: device, message)
        replies.append({name: dict(own) for name, own in reply.content.items()})
        spent.append([float(charge.epsilon) for charge in device.ledger()])
    assert replies == [{"done": {"stored": 1}}] * 4
    assert spent == [[8.0]] * 4


@pytest.mark.parametrize("entry", [np.nan, np.inf, 3e38])
@pytest.mark.parametrize("shape", [(3, 1), (5, 1)])
def test_what_is_no_update_is_answered_as_one(entry: float, shape: tuple[int, int]) -> None:
    """Numbers that are none, and arrays of another shape: an update of nothing. A norm of next to nothing makes one
    of everything."""

    def odd(message: Message, context: Context) -> Message:
        arrays = {"weights": Array(np.full(shape, entry)), "bias": Array(np.zeros(1))}
        return Message(RecordDict({"arrays": ArrayRecord(arrays)}), reply_to=message)

    device = Noting()
    reply = replied(odd, lambda _: device, asked_in(norm=1e-300))
    assert dict(reply.content.metric_records["done"]) == {"stored": 1}
    assert device.given == [("round_3", [0.0] * 4)]


@pytest.mark.parametrize(
    "message",
    [
        lambda: asked_in(kind=MessageType.EVALUATE),
        lambda: asked_in(kind=MessageType.QUERY),
        lambda: asked_in(norm=0.0),
        lambda: asked_in(norm=float("nan")),
        lambda: asked_in(norm="1"),
        lambda: asked_in(number="3"),
        lambda: Message(RecordDict({"arrays": begin()}), dst_node_id=7, message_type=MessageType.TRAIN),
    ],
)  # fmt: skip
def test_what_is_no_round_is_refused_before_the_app_sees_it(message: Callable[[], Message]) -> None:
    """Evaluation, too: what an app says of its data then has no noise."""
    reply = replied(fails, lambda _: pytest.fail("nothing is recorded"), message())
    assert reply.error.code == 6


def test_a_device_whose_ledger_has_no_room_says_so(tmp_path: Path, endpoint: str) -> None:
    """It has answered a round; whoever asks for another one is told that nothing is stored, and nothing is."""
    client = clients(endpoint, tmp_path)
    mod, context = AnsweringMod(client), Context(1, 7, {}, RecordDict(), {})
    stored = [
        mod(asked_in(number), context, trained).content.metric_records["done"]["stored"] for number in (3, 3, 4)
    ]
    assert stored == [1, 0, 0]
    with Reader(endpoint) as reader:
        assert [reader.estimates(f"round_{number}")[0]["reports"] for number in (3, 4)] == [1, 0]


def test_a_round_in_which_nobody_answers_changes_nothing() -> None:
    """Neither do replies of something else."""
    course = Course(np.zeros(DIMENSIONS))
    strategy = CourseStrategy(course, lambda _: pytest.fail("there is nothing to read"))
    messages = strategy.configure_train(1, begin(), ConfigRecord({"own": 5}), Here(ClientApp(), 3))
    assert [message.content["config"]["own"] for message in messages] == [5, 5, 5]
    assert strategy.configure_train(2, begin(), ConfigRecord(), Here(ClientApp(), 3)) == []
    failed = [Message(Error(2, "the app failed"), reply_to=message) for message in messages]
    other = [Message(RecordDict({"metrics": MetricRecord({"stored": 1})}), reply_to=messages[0])]
    assert strategy.aggregate_train(1, [*failed, *other]) == (None, None)
    assert strategy.configure_evaluate(1, begin(), ConfigRecord(), Here(ClientApp(), 3)) == []
    assert strategy.aggregate_evaluate(1, []) is None
    assert not course.steps
