"""No test finds the ledger of whoever runs it, and none fails because the machine is busy."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from ppsm.privacy.ledger.place import VARIABLE

# Hypothesis holds every example to a fifth of a second by the clock, which says nothing on a shared machine.
settings.register_profile("busy machine", deadline=None)
settings.load_profile("busy machine")


@pytest.fixture(scope="session", autouse=True)
def _nobodys_ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(VARIABLE, str(tmp_path_factory.mktemp("nobody") / "ledger.db"))
        yield
