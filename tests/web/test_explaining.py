"""What is explained of a metric and of a collection, and the command that shows it."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

from deniable import Collection, Metric
from deniable.odds import believed
from deniable_aggregator.telling.explaining import FORMULAS, Explanation, Part, Step, explained, together
from planning.everything import EVERYTHING
from support.commands import EDITOR, ROOT, told

HEAD = '[collection]\nname = "c"\nepoch = "1d"\nowner = "o"\n[budget]\nepoch = 10\n'
THEME = '[metrics.theme]\nkind = "boolean"\ndescription = "It is dark"\nepsilon = "ln 3"\n'
VECTOR = (
    '[metrics.update]\nkind = "vector"\ndescription = "d"\ndimensions = 2\nclip = 1\nnorm = "l2"\n'
    "epsilon = 1\ndelta = 1e-6\nfleet = 1000\n"
)


def explanation(text: str, prior: float = 0.02, devices: int = 10_000) -> Explanation:
    """That of the one metric of a collection."""
    collection = Collection.loads(text)
    (metric,) = collection.metrics.values()
    return explained(collection, metric, 365, prior, devices)


def steps(found: Explanation, title: str) -> dict[str, Step]:
    """Those of a part, by what is seen."""
    return {step.what: step for step in part(found, title).steps}


def part(found: Explanation, title: str) -> Part:
    """The part of that title."""
    (one,) = (each for each in found.parts if title in each.title)
    return one


def test_one_report_of_the_survey_with_two_coins() -> None:
    """Golden: 2% is 5.77% after a yes and 0.68% after a no; the bounds are the same, the classical ones wider."""
    found = steps(explanation(HEAD + THEME), "one report")
    assert found["after a yes"].most == pytest.approx(0.057692, abs=5e-7)
    assert found["after a no"].least == pytest.approx(0.006757, abs=5e-7)
    bounds = found["after any report at all"]
    assert (bounds.least, bounds.most) == pytest.approx((0.006757, 0.057692), abs=5e-7)
    classical = found["by the classical bounds"]
    assert (classical.least, classical.most) == pytest.approx((0.02 / 3, 0.06))


def test_years_without_and_with_memory() -> None:
    """Fresh answers add up, to the lifetime's budget and no farther; what is remembered is told once."""
    fresh = steps(explanation(HEAD + THEME), "Day after day")
    assert fresh["a year of 365"].epsilon == pytest.approx(365 * math.log(3))
    assert fresh["the same year, but for a chance"].epsilon == pytest.approx(281.8, abs=0.05)
    assert fresh["7 reports"].most == pytest.approx(believed(0.02, 7 * math.log(3)))
    limited = explanation(HEAD + "lifetime = 5\n" + THEME)
    assert steps(limited, "Day after day")["a year of 365"].epsilon == 5
    assert "A device stops at its lifetime's budget of 5, over all questions." in part(limited, "Day").sentences
    kept = steps(explanation(HEAD + THEME + "memoize = true\nremembered_answers = 2\n"), "Day after day")
    assert kept["all reports, while the answer stays"].most == pytest.approx(0.057692, abs=5e-7)
    assert kept["all reports of 2 different answers"].epsilon == pytest.approx(2 * math.log(3))
    twice = HEAD + THEME.replace('"ln 3"', "3") + "memoize = true\n"
    more = steps(explanation(twice), "Day after day")
    assert more["one report"].most < more["all reports, while the answer stays"].most == believed(0.02, 3)
    assert kept["a year of 365, if nothing were remembered"].epsilon == fresh["a year of 365"].epsilon


def test_whoever_looks() -> None:
    """The operator who keeps addresses has a year, the store a report, the phone everything of today."""
    found = steps(explanation(HEAD + THEME), "Who gets what")
    assert found["a subpoenaed store"].most == pytest.approx(0.057692, abs=5e-7)
    assert found["an operator who keeps addresses for a year"].most == pytest.approx(1)
    assert found["a stolen phone"].epsilon is None
    kept = explanation(HEAD + THEME + "memoize = true\n")
    assert "What it remembers says which answers were given." in part(kept, "Who").sentences
    assert "What it remembers" not in " ".join(part(explanation(HEAD + THEME), "Who").sentences)


def test_households_shufflers_and_secrets() -> None:
    """Golden: k epsilon; .0925 for one in ten at epsilon 1 with dummies, .1586 in silence; .0432 among 10,000."""
    found = explanation(HEAD + THEME.replace('"ln 3"', "1"))
    assert steps(found, "Households")["4 devices"].epsilon == 4
    secret = steps(found, "takes part")
    assert secret["one device in ten, if silence did not show"].epsilon == pytest.approx(0.158565, abs=5e-7)
    assert secret["one device in ten, the others send dummies"].epsilon == pytest.approx(0.092489, abs=5e-7)
    mixed = steps(found, "shuffler")["mixed with those of 10,000 devices"]
    assert mixed.epsilon == pytest.approx(0.04321, abs=5e-6)
    margin = mixed.epsilon or 0.0
    assert mixed.exceeded == pytest.approx(1e-6 / (1 - math.exp(-margin)))
    assert mixed.most == pytest.approx(believed(0.02, 2 * margin))


def test_a_delta_is_never_left_out() -> None:
    """Twice the odds but for twice delta, which add up too; what takes a worst ratio is not said."""
    found = explanation(HEAD + VECTOR)
    one = steps(found, "one report")["after any report at all"]
    assert (one.exceeded, one.most) == pytest.approx((2e-6, believed(0.02, 1 + math.log(2))))
    assert steps(found, "Day")["a year of 365"].exceeded == pytest.approx(2 * 365e-6)
    assert steps(found, "Households")["2 devices"].exceeded == pytest.approx(2e-6 * (1 + math.e))
    people = part(found, "in people").sentences
    assert "Of 10,000 devices it would be 0.01 an epoch; anybody at all with a chance of 0.01." in people
    assert not [each.title for each in found.parts if "shuffler" in each.title or "takes part" in each.title]


def test_a_count_of_which_events_are_hidden_says_so() -> None:
    """No row of it is about the whole count."""
    counted = '[metrics.errors]\nkind = "count"\ndescription = "d"\nprivacy_unit = "event"\nepsilon = 1\n'
    told = " ".join(part(explanation(HEAD + counted), "one report").sentences)
    assert "about one event in each report, and not about the whole count" in told


@pytest.mark.parametrize("metric", EVERYTHING.metrics.values(), ids=lambda metric: metric.name)
def test_every_way_to_ask_is_explained(metric: Metric) -> None:
    """Short sentences and plain letters; no step beyond what its epsilon lets it be; the nearest part first."""
    found = explained(EVERYTHING, metric, 365, 0.1, 100)
    names = ", ".join(other.name for other in EVERYTHING.about(metric)) or metric.name
    for each in found.parts:
        assert [line for line in each.sentences if len(line.replace(names, "it").split()) > 20] == []
        for step in each.steps:
            assert step.least <= step.most
            assert 0 <= step.exceeded < 1
            if step.epsilon is not None and not step.exceeded and "classical" not in step.what:
                assert step.most <= believed(0.1, min(step.epsilon, 700.0) + 1e-9)
    assert "".join(sentence for each in found.parts for sentence in each.sentences).isascii()
    assert "one report" in found.parts[0].title


def test_the_command_draws_it() -> None:
    """Words, then the picture, then formulas; the prior as people write it."""
    shown = told("explain", EDITOR, "crashed", "--prior", "40%", "--devices", "1000")
    assert shown.returncode == 0, shown.stderr
    words, drawn, formulas = (
        shown.stdout.index(each) for each in ("A device whose answer", "after a yes", "Formulas")
    )
    assert words < drawn < formulas
    assert re.search(r"^after a yes +1\.099 +66\.67% +66\.67% +●$", shown.stdout, re.MULTILINE)
    assert re.search(r"^by the classical bounds +1\.099 +13\.33% +120\.00% +─+●─+$", shown.stdout, re.MULTILINE)
    assert "mixed with those of 1,000 devices" in shown.stdout


def test_what_is_huge_is_drawn_too(tmp_path: Path) -> None:
    """A year of hours at a large epsilon and a part without a picture; a bound that says nothing has no row."""
    file = tmp_path / "metrics.toml"
    file.write_text(HEAD.replace("1d", "1h").replace("budget]\nepoch = 10", "budget]\nepoch = 40") + VECTOR)
    assert "What the delta could be in people\n\nAt its worst" in told("explain", file, "update").stdout
    file.write_text(HEAD.replace("1d", "1h").replace("epoch = 10", "epoch = 40") + THEME.replace('"ln 3"', "30"))
    shown = told("explain", file, "theme").stdout
    assert re.search(r"^a year of 8,760 +262,800 +0\.00% +100\.00% ", shown, re.MULTILINE)
    assert "classical bounds  " not in shown


def test_a_whole_collection_in_short(tmp_path: Path) -> None:
    """A part for every metric, and one for all of them, whose sums are the ledger's."""
    shown = told("explain", EDITOR, "--json")
    found = json.loads(shown.stdout)
    collection = Collection.load(EDITOR)
    assert [each["title"].partition(":")[0] for each in found["parts"]] == [*collection.metrics, "All of it together"]
    epoch, year = found["parts"][-1]["steps"]
    spent = sum(float(metric.epsilon) for metric in collection.metrics.values())
    assert (epoch["epsilon"], year["epsilon"]) == pytest.approx((spent, 365 * spent))
    assert (found["collection"], found["prior"], found["formulas"]) == ("editor", 0.02, list(FORMULAS))
    memory = Collection.loads(HEAD + THEME + "memoize = true\nremembered_answers = 2\n")
    assert together(memory, 365).parts[-1].steps[1].epsilon == pytest.approx(2 * math.log(3))


def test_the_page_shows_what_the_command_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block of docs/explaining.md is in it, line by line, on a terminal that is wide enough."""
    monkeypatch.setenv("COLUMNS", "120")
    page = (ROOT / "docs" / "explaining.md").read_text(encoding="utf-8")
    command, *blocks = re.findall(r"^```(?:sh|text)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) > 3
    shown = told(*command.split()[1:]).stdout
    for block in blocks:
        assert block in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("dork_mode",), "did you mean 'dark_mode'?"),
        (("--prior", "0"), "takes a number between 0 and 1"),
        (("--prior", "some"), "such as 2% or 0.02, not 'some'"),
    ],
)
def test_what_can_not_be_explained_is_one_line_and_exit_code_2(arguments: tuple[str, ...], words: str) -> None:
    """A mistake ends in a line that tells the next step."""
    shown = told("explain", EDITOR, *arguments)
    assert shown.returncode == 2
    assert words in shown.stderr.splitlines()[-1]
