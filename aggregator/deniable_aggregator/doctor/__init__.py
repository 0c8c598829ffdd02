"""What is wrong with a deployment, and what to do: many small looks, each at one thing, which change nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from deniable_aggregator.doctor import certificates, collections, listening, machine, reaching, stores, tokens
from deniable_aggregator.doctor._check import CannotLook, Check, Finding, Subject

__all__ = ["CHECKS", "Diagnosis", "Finding", "Subject", "examine"]

CHECKS: tuple[Check, ...] = (
    *collections.CHECKS,
    *certificates.CHECKS,
    *tokens.CHECKS,
    *listening.CHECKS,
    *machine.CHECKS,
    *stores.CHECKS,
    *reaching.CHECKS,
)
"""All looks, in the order in which they are taken."""


class Diagnosis(NamedTuple):
    """What was found."""

    findings: list[Finding]
    well: list[str]
    """The looks that found nothing."""
    unseen: dict[str, str]
    """The looks that could not be taken, and why."""


async def examine(subject: Subject) -> Diagnosis:
    """Take all looks at a deployment."""
    found = Diagnosis([], [], {})
    subject = replace(subject)  # with a store that is reached anew
    async with subject.leaving:
        for check in CHECKS:
            try:
                own = [Finding(check.name, what, do) async for what, do in check.look(subject)]
            except CannotLook as error:
                if str(error):
                    found.unseen[check.name] = str(error)
                continue
            found.findings.extend(own)
            if not own:
                found.well.append(check.name)
    return found
