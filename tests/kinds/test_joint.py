"""A joint: which cell a device is in, what cells are called, and which tables there can be."""

from __future__ import annotations

import itertools
from decimal import Decimal

import pytest

from deniable import Collection, Epsilon, InvalidValueError
from deniable.kinds import Joint
from deniable.kinds.joint import joined, parted
from deniable.mechanisms import Mechanism, Memoized, MemoizedSubset, choose, fitting
from deniable.randomness import WORD
from support.asked import ONCE, refused
from support.joints import joint, recorded, sources

TWO = {"theme": 2, "platform": 3}
THREE = {"theme": 2, "platform": 3, "mood": 4}

KNOWN = {"randomized_response": True, "subset_selection": True, "projective_geometry": False}
EVEN = [name for name, sort in fitting(2).items() if KNOWN.get(name, sort.even)]
"""Which support any two others as often: as it is known of some, and as others say of themselves."""
INSTEAD = "; of a quantity record the range that it is in as an ordinal, of flags each as a boolean"


def kind(metric_sizes: dict[str, int] = TWO, more: str = "") -> Joint:
    """The kind of such sources."""
    found = joint(metric_sizes, more=more).kind
    assert isinstance(found, Joint)
    return found


def test_a_cell_is_a_value_of_each_source() -> None:
    """In the order of `of`, the last source's values changing fastest; booleans are called no and yes."""
    metric = joint(THREE)
    assert metric.kind.of == tuple(THREE)
    assert [metric.encode(value, int)[1] for value in recorded(metric)] == list(range(24))
    assert metric.kind.names(0)[:5] == (
        "theme0 / platform0 / mood0", "theme0 / platform0 / mood1", "theme0 / platform0 / mood2",
        "theme0 / platform0 / mood3", "theme0 / platform1 / mood0",
    )  # fmt: skip
    text = 'of = ["dark", "theme"]\nepsilon = 1\n[metrics.dark]\nkind = "boolean"\ndescription = "d"\nepsilon = 1\n'
    head = '[collection]\nname = "one"\nepoch = "1d"\nowner = "a"\n[budget]\nepoch = 9\n[metrics.one]\n'
    one = Collection.loads(f'{head}kind = "joint"\ndescription = "d"\n{text}{sources({"theme": 2})}').metrics["one"]
    assert one.kind.names(0) == ("no / theme0", "no / theme1", "yes / theme0", "yes / theme1")
    assert one.encode({"dark": True, "theme": "theme0"}, int)[1] == 2


def test_no_two_lists_of_values_make_one_name() -> None:
    """All texts of up to three slashes, spaces, backslashes and letters, in pairs; and what is joined is parted."""
    texts = ["".join(each) for size in (1, 2, 3) for each in itertools.product("/ \\a", repeat=size)]
    names = {joined(pair): pair for pair in itertools.product(texts, repeat=2)}
    assert len(names) == len(texts) ** 2
    assert all(parted(name) == pair for name, pair in names.items())
    assert joined(["text/html", "dark"]) == "text/html / dark"
    assert joined(["a / b", "c"]) == "a \\/ b / c"
    words = ["given", " given", "given a", "a given b", "agiven", "\\"]
    asked = {joined(pair, "given"): pair for pair in itertools.product(words, repeat=2)}
    assert all(parted(name, "given") == pair for name, pair in asked.items())


def test_a_pair_is_drawn_evenly_whatever_the_value() -> None:
    """Each feature has a column with the target, of as many words of chance as any other."""
    metric = joint(THREE, more='pairs = "platform"')
    found = metric.kind
    assert isinstance(found, Joint)
    assert found.tables == (("platform", "theme"), ("platform", "mood"))
    assert found.sizes == (6, 12)
    mechanisms: list[Mechanism] = [column.mechanism for column in metric.columns]
    for value in recorded(metric):
        words = iter((0, WORD // 2 - 1, WORD // 2))
        drawn = [found.encode(value, mechanisms, words.__next__) for _ in range(3)]
        assert [place for place, _ in drawn] == [0, 0, 1]
        assert [found.names(place)[cell] for place, cell in drawn[1:]] == [
            f"theme: {value['platform']} / {value['theme']}", f"mood: {value['platform']} / {value['mood']}",
        ]  # fmt: skip


@pytest.mark.parametrize("name", fitting(2))
def test_it_is_asked_by_what_supports_others_evenly(name: str) -> None:
    """Its cells' sums then vary by a known amount. Of others an error says what would do."""
    wrong = refused("joint", f'of = ["theme", "mood"]\nepsilon = 1\nmechanism = "{name}"\n{sources(THREE)}')
    if name in EVEN:
        assert wrong == []
        return
    ((said, _, instead),) = (each.partition("; ") for each in wrong)
    assert said == f"one.mechanism: unknown word '{name}'"
    known = ", ".join(sorted(("auto", *EVEN)))
    assert instead in {f"known: {known}", *(f"did you mean '{other}'?" for other in EVEN)}


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ('of = ["theme"]', "one.of: takes two metrics or more: what is recorded for one, that one says"),
        ('of = ["theme", "moods"]', "one.of: there is no metric 'moods'; did you mean 'mood'?"),
        ('of = ["theme", "age"]', f"one.of: 'age' is of kind number; taken: boolean, category, ordinal{INSTEAD}"),
        ('of = ["theme", "mood"]\npairs = "platform"',
         "one.pairs: is the target, one of the metrics in `of`; known: mood, theme"),
        ('of = ["theme", "mood"]\nreduce = "last"',
         "one.reduce: goes with what is recorded: how its sources' values are reduced, they say themselves"),
        ('of = ["theme", "mood", "platform"]\npairs = "mood"\nmemoize = true',
         f"one: a drawn level {ONCE}"),
    ],
)  # fmt: skip
def test_what_can_not_be_asked_is_said(more: str, wrong: str) -> None:
    """With what would do."""
    age = '[metrics.age]\nkind = "number"\ndescription = "d"\nrange = [0, 9]\nepsilon = 1\n'
    assert refused("joint", f"epsilon = 1\n{more}\n{sources(THREE)}{age}") == [wrong]


def test_a_product_that_is_too_large_is_refused_with_what_would_fit() -> None:
    """4,096 cells is what subset selection asks for: what is left out, which pairs, or how many values."""

    def complaint(sizes: dict[str, int], more: str = "") -> str:
        (found,) = refused("joint", f"epsilon = 1\nof = {list(sizes)}\n{more}\n{sources(sizes)}".replace("'", '"'))
        return found

    assert not refused("joint", f'epsilon = 1\nof = ["a", "b"]\n{sources({"a": 64, "b": 64})}')
    assert complaint({"a": 60, "b": 60, "c": 3}) == (
        "one.of: a x b x c makes 10,800 cells, and a table has at most 4,096: leave out 'a' or 'b' or 'c', or take "
        "pairs = 'a', for what it has to do with each of the others"
    )
    assert complaint({"a": 65, "b": 64}) == (
        "one.of: a x b makes 4,160 cells, and a table has at most 4,096: ask for fewer values, such as the most "
        'frequent ones and "other"'
    )
    assert complaint({"a": 65, "b": 64, "c": 2}, 'pairs = "a"') == (
        "one.of: a x b makes 4,160 cells, and a table has at most 4,096: with 65 values of 'a' a feature can have 63"
    )


def test_a_table_is_remembered_as_a_category_of_its_cells_is() -> None:
    """A subset of the cells where that is best, and one cell where there are few."""
    assert isinstance(joint(TWO, 4, "memoize = true").columns[0].mechanism, Memoized)
    assert isinstance(joint(THREE, 1, "memoize = true").columns[0].mechanism, MemoizedSubset)


def test_what_is_answered_is_what_the_sources_have() -> None:
    """All of them, each as its own kind takes it; nothing is recorded for the joint itself."""
    found = kind()
    assert found.check({"theme": "theme1", "platform": "platform2"}) == {"theme": "theme1", "platform": "platform2"}
    with pytest.raises(InvalidValueError, match="takes a value for each of theme, platform"):
        found.check({"theme": "theme1"})
    with pytest.raises(InvalidValueError, match="not one of the 2 values of this category"):
        found.check({"theme": "dark", "platform": "platform2"})
    first, second = found.apart()
    assert all(first[name] != second[name] for name in found.of)


def test_the_target_and_the_sources_are_part_of_what_is_asked() -> None:
    """Other pairs, another order and other values of a source make another collection."""
    texts = [
        f'of = ["theme", "platform", "mood"]\n{sources(THREE)}',
        f'of = ["platform", "theme", "mood"]\n{sources(THREE)}',
        f'of = ["theme", "platform", "mood"]\npairs = "mood"\n{sources(THREE)}',
        f'of = ["theme", "platform", "mood"]\npairs = "theme"\n{sources(THREE)}',
        f'of = ["theme", "platform", "mood"]\n{sources(THREE | {"mood": 5})}',
    ]
    head = '[collection]\nname = "one"\nepoch = "1d"\nowner = "a"\n[budget]\nepoch = 9\n[metrics.one]\n'
    own = f'{head}kind = "joint"\ndescription = "d"\nepsilon = 1\n'
    assert len({Collection.loads(own + text).digest for text in texts}) == len(texts)


def test_one_pair_at_all_of_epsilon_is_worth_ten_at_a_tenth_each() -> None:
    """Ten features of four values and a target of two: a cell's variance is ten times smaller, though a tenth of the
    devices answer a pair."""
    pair, tenth = (choose(Epsilon.of(epsilon), 8, "auto").variance for epsilon in (1, Decimal("0.1")))
    assert 9 < tenth / (10 * pair) < 12
