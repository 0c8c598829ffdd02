"""Consent: what the person using the device has agreed to, and what their device remembers of it.

An environment can only take away, for the run that it belongs to: by our own variable, by DO_NOT_TRACK, by which
people say no to all programs at once, and by what shows that a machine belongs to continuous integration and not to
a person. The last alone can be overruled, by an application that means to count such machines.
"""

from __future__ import annotations

import enum
import sqlite3
from collections.abc import Mapping
from typing import NamedTuple

from deniable.device.state import get, lost, put

__all__ = [
    "CI",
    "ENVIRONMENT",
    "NO_TRACKING",
    "WITHHELD",
    "Consent",
    "Word",
    "is_lost",
    "of_environment",
    "recall",
    "remember",
    "withheld_by",
]


ENVIRONMENT = "DENIABLE_CONSENT"
"""What whoever starts a program can say, for that run: it holds where it is stricter than what else was said."""
NO_TRACKING = "DO_NOT_TRACK"
"""By what people say no to all programs of a machine: any value but those that say that it does not hold."""
CI = (
    "CI", "CONTINUOUS_INTEGRATION", "GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD", "JENKINS_URL", "BUILDKITE", "CIRCLECI",
    "TRAVIS", "TEAMCITY_VERSION", "APPVEYOR", "BITBUCKET_BUILD_NUMBER", "BITRISE_IO", "CIRRUS_CI",
    "CODEBUILD_BUILD_ARN", "DRONE", "GO_PIPELINE_LABEL", "HUDSON_URL", "SEMAPHORE", "bamboo_planKey",
)  # fmt: skip
"""What machines of continuous integration have in their environment, as the makers of each say."""
WITHHELD = {
    "person": "the person has withheld consent: Client.set_consent() says another word of theirs",
    "application": "the application withholds consent, by that of its Client: Client.set_consent() says the person's",
    "nobody": "consent is withheld, as nobody has agreed: Client.set_consent() says that the person does",
}
"""Why nothing is collected, by who has withheld consent; an environment says it by itself."""
_NOT_SO = {"", "0", "false"}


class Consent(enum.Enum):
    """What the person using the device has agreed to."""

    GRANTED = "granted"
    """Collect and upload."""
    PAUSED = "paused"
    """Collect, do not upload."""
    WITHHELD = "withheld"
    """Collect nothing; what was collected is erased."""

    @classmethod
    def of(cls, word: Consent | str) -> Consent:
        """A word as an application says it, as a Consent or as text; ValueError with those that there are."""
        try:
            return cls(word)
        except ValueError:
            known = ", ".join(repr(each.value) for each in cls)
            raise ValueError(f"consent: takes one of {known}, or a deniable.Consent, not {word!r}") from None

    def and_(self, other: Consent | None) -> Consent:
        """The stricter of two words: what both allow."""
        return self if other is None or _STRICTNESS[self] >= _STRICTNESS[other] else other


_STRICTNESS = {Consent.GRANTED: 0, Consent.PAUSED: 1, Consent.WITHHELD: 2}


class Word(NamedTuple):
    """What an environment says."""

    consent: Consent | None
    """What it allows at most; None: everything."""
    why: str
    """Which variable says so, and what helps; empty where it allows everything."""
    misspelt: bool = False
    """Whether it says something that nobody knows, which is a no."""


def of_environment(environment: Mapping[str, str], *, count_ci: bool = False) -> Word:
    """The strictest word of an environment; machines of continuous integration say no, unless they are counted."""
    ours = _ours(environment.get(ENVIRONMENT, "").strip().lower())
    if ours.consent is Consent.WITHHELD:
        return ours
    if _holds(environment, NO_TRACKING):
        why = f"{NO_TRACKING} in the environment says no to every program: unset it, or set it to 0, to be counted"
        return Word(Consent.WITHHELD, why)
    name = next((name for name in CI if _holds(environment, name)), "")
    if name and not count_ci:
        why = f"{name} in the environment says that this is a machine of continuous integration, and nobody's device"
        return Word(Consent.WITHHELD, f"{why}: unset it, or count such machines with Settings(count_ci=True)")
    return ours


def _ours(word: str) -> Word:
    if not word:
        return Word(None, "")
    try:
        consent = Consent(word)
    except ValueError:
        known = ", ".join(each.value for each in Consent)
        return Word(Consent.WITHHELD, f"{ENVIRONMENT}={word!r} is none of {known}: it counts as withheld", True)
    return Word(consent, "" if consent is Consent.GRANTED else f"{ENVIRONMENT}={word} holds for this run: unset it")


def _holds(environment: Mapping[str, str], name: str) -> bool:
    return environment.get(name, "").strip().lower() not in _NOT_SO


def withheld_by(person: Consent | None, allowed: Consent | None, application: Consent | None) -> str:
    """Whose word it is that consent is withheld: the person's before all others, as only they can take it back."""
    said = {"person": person, "environment": allowed, "application": application}
    return next((who for who, word in said.items() if word is Consent.WITHHELD), "nobody")


def remember(connection: sqlite3.Connection, consent: Consent) -> None:
    """Keep the person's word, for every process that shares the file and for all that come."""
    put(connection, "consent", consent.value)


def recall(connection: sqlite3.Connection) -> Consent | None:
    """What the person has last said; None where they have not been asked. What can not be read is a no."""
    if is_lost(connection):
        return Consent.WITHHELD
    kept = get(connection, "consent")
    try:
        return None if kept is None else Consent(kept)
    except ValueError:
        return Consent.WITHHELD


def is_lost(connection: sqlite3.Connection) -> bool:
    """Whether the person may have said something that was lost with a state file, and has not said it again."""
    return lost(connection) and get(connection, "consent") is None
