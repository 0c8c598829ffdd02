"""Code generation: a collection as a module of typed accessors, for applications with a type checker."""

from __future__ import annotations

import json
import keyword

from deniable.collection import Collection, Metric

__all__ = ["generate"]

_MODULE = '''\
# Made by `deniable codegen {source}`: do not edit, make it anew.
# fmt: off
# ruff: noqa: E501, RUF100
"""The metrics of {name}, with the types of their values."""

from __future__ import annotations

{imports}

__all__ = ["Metrics"]


class Metrics:
    """Every metric of {name}: `Metrics(client).{first}.record(...)`.{fed}"""

    def __init__(self, client: Client) -> None:
{accessors}
'''


def generate(collection: Collection, source: str) -> str:
    """The module; `source` is what its first line calls the collection's file."""
    metrics = [metric for metric in collection.metrics.values() if not metric.sources]
    types = " ".join(metric.kind.annotation for metric in metrics)
    containers = ", ".join(name for name in ("Collection", "Sequence") if name in types)
    imports = [f"from collections.abc import {containers}"] if containers else []
    imports += ["from typing import Literal"] if "Literal" in types else []
    imports += [""] if imports else []
    return _MODULE.format(
        source=source,
        name=collection.name,
        imports="\n".join([*imports, "from deniable import Accessor, Client"]),
        first=_attribute(metrics[0]),
        fed=_fed(collection),
        accessors="\n".join(map(_accessor, metrics)),
    )


def _fed(collection: Collection) -> str:
    """What the class says of metrics that nothing is recorded for."""
    told = [
        f"    {each.name}: from {', '.join(each.kind.of)}" for each in collection.metrics.values() if each.sources
    ]
    return "\n\n    Answered from what is recorded for others:\n\n" + "\n".join(told) + "\n    " if told else ""


def _attribute(metric: Metric) -> str:
    return f"{metric.name}_" if keyword.iskeyword(metric.name) else metric.name


def _accessor(metric: Metric) -> str:
    told = f"{metric.description} ({metric.kind.name}, epsilon {metric.epsilon})"
    return (
        f'        self.{_attribute(metric)}: Accessor[{metric.kind.annotation}] = Accessor(client, "{metric.name}")\n'
        f"        {json.dumps(told, ensure_ascii=False)}"
    )
