"""Versions of a collection on the page's API and in Prometheus: series keep their labels while they mean the same."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Route, expect

from deniable import Collection
from deniable_aggregator import Reader
from support.accessible import serious
from support.collection_files import head, metric
from support.site import Running, browser, got, running, watched

DAY = 86_400
TODAY = int(time.time() // DAY)
FIRST = (
    head("shop", 9)
    + metric("open", "boolean", "The shop is opn")
    + metric("theme", "category", "The theme", values=["a", "b"])
)
SECOND = FIRST.replace("opn", "open").replace("[budget]", "version = 1\n[budget]").replace('["a", "b"]', '["a", "c"]')
OLD, NEW = Collection.loads(FIRST), Collection.loads(SECOND)
TITLE = f"shop@{OLD.digest:016x}"


@pytest.fixture(name="site", scope="module")
def _site() -> Iterator[Running]:
    """Both versions, each with reports of a day; the catalog is replaced by the tests."""
    with running(OLD) as started:
        for version in (OLD, NEW):
            started.put(version, TODAY, {"open": [40, 60], "theme": [30, 70]}, batches=10)
        yield started


def serve(site: Running, *collections: Collection) -> None:
    """As a reload does."""
    site.analyst_of(site.server.store).catalog.replace(collections)


def series(site: Running, family: str) -> dict[str, float]:
    """What Prometheus is told of a family, by labels."""
    lines = re.findall(rf"^{family}(\{{.*\}}) (\S+)$", got(site, "/metrics"), re.MULTILINE)
    return {labels: float(value) for labels, value in lines}


def test_series_of_what_means_the_same_keep_their_labels(site: Running) -> None:
    """All of them, in all families, from one version to the next; those of what has changed get other labels."""
    families = ("deniable_estimate", "deniable_reports", "deniable_metric_info", "deniable_metric_epsilon")
    serve(site, OLD)
    before = {family: series(site, family) for family in families}
    serve(site, NEW, OLD)
    after = {family: series(site, family) for family in families}
    for family in families:
        same = {labels for labels in before[family] if 'metric="open"' in labels}
        assert same
        assert same == {labels for labels in after[family] if 'metric="open"' in labels}
    assert before["deniable_reports"]['{collection="shop",metric="open"}'] == 100
    assert after["deniable_reports"] == {
        '{collection="shop",metric="open"}': 200,
        '{collection="shop",metric="theme"}': 100,
        f'{{collection="{TITLE}",metric="theme"}}': 100,
    }


def test_the_api_lists_what_is_answered_and_says_since_when(site: Running) -> None:
    """The newest version has all of its metrics, an older one those that have changed since."""
    serve(site, OLD, NEW)
    newest, older = json.loads(got(site, "/api/v1/collections"))["collections"]
    assert (newest["title"], newest["version"], older["title"], older["version"]) == ("shop", 1, TITLE, 0)
    places = {own["name"]: own["place"] for own in newest["metrics"]}
    assert places["open"] == {"title": "shop", "sinceVersion": 0, "earlier": "", "later": ""}
    assert places["theme"] == {"title": "shop", "sinceVersion": 1, "earlier": TITLE, "later": ""}
    assert [(own["name"], own["place"]["later"]) for own in older["metrics"]] == [("theme", "shop")]
    (estimate,) = json.loads(got(site, f"/api/v1/collections/{TITLE}/estimates"))["estimates"]
    assert (estimate["metric"], estimate["reports"], estimate["place"]["title"]) == ("theme", "100", TITLE)


def test_a_table_tells_the_title_and_what_has_changed(site: Running) -> None:
    """In Python and at the terminal: bare names add up, and notes say where the rest is."""
    serve(site, OLD, NEW)
    with Reader(site.endpoint) as reader:
        rows = {row["metric"]: row for row in reader.estimates()}
        (old, *_) = reader.estimates(collection=TITLE)
        (change, *_) = reader.compare("theme", collection=TITLE)
    assert (rows["open"]["collection"], rows["open"]["reports"], rows["open"]["note"]) == ("shop", 200, "")
    assert rows["theme"]["note"] == f"asked so since version 1, before that in {TITLE}"
    assert (old["collection"], old["note"]) == (TITLE, "no longer asked so, but as in shop")
    assert (change["collection"], change["note"]) == (TITLE, "no longer asked so, but as in shop")


def test_the_page_leads_from_a_metric_to_its_answers_in_other_versions(site: Running) -> None:
    """On its card and its own page, on a phone and for screen readers; what was read again is told under Health."""
    serve(site, OLD, NEW)
    reloads = [{"time": 0, "changes": ["shop: worded anew open"]}]

    def told(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, json=response.json() | {"reloads": reloads})

    with browser() as started:
        page = started.new_page(base_url=site.url, viewport={"width": 390, "height": 844})
        with watched(page, site.url):
            page.goto("/")
            card = page.locator(".card", has_text="theme")
            expect(card).to_contain_text(f"Asked so since version 1; before that in {TITLE}.")
            expect(page.locator(".since")).to_have_count(1)
            card.get_by_role("link", name=TITLE).click()
            expect(page.locator(".since")).to_have_text("No longer asked so, but as in shop.")
            expect(page.locator("main")).to_contain_text("0, digest")
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
            assert not serious(page)
            page.locator(".since").get_by_role("link", name="shop").click()
            expect(page.locator(".since")).to_contain_text("Asked so since version 1")
            page.route("**/api/v1/health", told)
            page.goto("/health")
            expect(page.get_by_role("region", name="What is served otherwise than before")).to_contain_text(
                "1970-01-01 00:00 UTC"
            )
