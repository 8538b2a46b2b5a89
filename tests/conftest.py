"""Loads the project's own pytest plugin."""

import pytest

from pattern.testing import plugin


def pytest_configure(config: pytest.Config) -> None:
    # Installed, the distribution has registered it already, and pytest refuses a module under two names.
    if not config.pluginmanager.is_registered(plugin):
        config.pluginmanager.register(plugin, "pattern_memory")
