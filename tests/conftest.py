"""What all tests share: where they run in parallel, and what becomes of those that need the sandbox.

Without a sandbox they are skipped; with DSPARK_TEST_SANDBOX set, as in CI, they fail instead.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.run.sandbox import NoSandbox, require_sandbox

MUST_HAVE = "DSPARK_TEST_SANDBOX"  # .ci/run sets it
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
UNREADABLE_TEXT = (Path(__file__).parent / "unreadable_text.js").read_text(encoding="utf-8")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the tests of a file on one worker, so that it prepares their common batch once; variants go anywhere."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return nodeid if "test_mutants.py" in nodeid else nodeid.split("::")[0]

    return ByFile(config, log)


@pytest.fixture(scope="session")
def needs_sandbox() -> None:
    """Ask for the sandbox; a test whose code asks for it itself needs no fixture."""
    require_sandbox()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start Chromium for a module: while Playwright is open, no other test can start an event loop of its own."""
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("there is no chromium")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(params=[(1280, "light"), (390, "dark")], ids=["wide and light", "narrow and dark"])
def open_page(browser: Any, request: pytest.FixtureRequest) -> Iterator[Callable[[Path], Any]]:
    """Return a function that opens a page, which must fit the screen, be legible and ask no network for anything."""
    width, colours = request.param
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=colours)
    faults: list[str] = []

    def open_it(path: Path) -> Any:
        page = context.new_page()
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda asked: faults.append(asked.url) if not asked.url.startswith("file:") else None)
        page.goto(path.as_uri())
        inspect(page)
        return page

    def inspect(page: Any) -> None:
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate(UNREADABLE_TEXT) == []
        assert faults == []

    yield open_it
    for page in context.pages:  # as the test has left them
        inspect(page)
    context.close()


@pytest.fixture(scope="session", autouse=True)
def own_configuration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the secret of the tests' gradings out of the user's own configuration."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Iterator[Any]:
    return (yield from _skipped_without_sandbox())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[Any]:
    return (yield from _skipped_without_sandbox())


def _skipped_without_sandbox() -> Iterator[Any]:
    try:
        return (yield)
    except NoSandbox as error:
        if os.environ.get(MUST_HAVE):
            raise
        pytest.skip(str(error))
