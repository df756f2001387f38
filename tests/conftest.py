"""What all tests share: where they run in parallel, and what becomes of those that need the sandbox.

Without a sandbox they are skipped; with DSPARK_TEST_SANDBOX set, as in CI, they fail instead.
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from grader.run.sandbox import NoSandbox, require_sandbox

MUST_HAVE = "DSPARK_TEST_SANDBOX"  # .ci/run sets it


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
