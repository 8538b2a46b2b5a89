"""What pytest loads at the start of every run, wherever this distribution is installed.

The plugin, where its extra is installed too; else nothing, so that the tests of those who only use the service run as before.
"""

from __future__ import annotations

from importlib.util import find_spec

pytest_plugins = ("pattern.testing.plugin",) if find_spec("pytest_asyncio") else ()
