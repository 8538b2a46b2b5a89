"""What every test of this project has: the fixtures of our own pytest plugin, and the long form of the proofs."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points

import pytest
from hypothesis import HealthCheck, settings

PLUGIN = "pattern.testing.plugin"
TOLD = "told"

# Installed, pytest has loaded the plugin by its entry point already; from the sources alone it is loaded here.
_registered = any(point.value == PLUGIN for point in entry_points(group="pytest11"))
pytest_plugins = () if _registered else (PLUGIN,)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the long proofs too, and every proof in its long form")


# A slow or busy machine is no reason for a law to fail; the timeout of the test bounds it.
settings.register_profile("laws", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", settings.get_profile("laws"), max_examples=1_000)


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("long" if config.getoption("--long") else "laws")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--long"):
        return
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.skip(reason="a long proof: run with --long"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what the proofs measured and by what seed, from every worker."""
    reports = [report for group in terminalreporter.stats.values() for report in group]
    told = [
        str(text)
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for name, text in report.user_properties
        if name == TOLD
    ]
    if told:
        terminalreporter.section("proofs")
        terminalreporter.write_line("\n".join(told))


@pytest.fixture
def tell(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Tell a number, a seed: it stands in the summary of the run, whether the test passes or fails."""
    return lambda text: record_property(TOLD, text)


@pytest.fixture(scope="session")
def long_form(pytestconfig: pytest.Config) -> bool:
    """Whether a proof that has a short and a long form (rounds, sizes) should take the long one."""
    return bool(pytestconfig.getoption("--long"))
