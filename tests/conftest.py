"""No test finds the ledger of whoever runs it."""

from collections.abc import Iterator

import pytest

from ppsm.privacy.ledger.place import VARIABLE


@pytest.fixture(scope="session", autouse=True)
def _nobodys_ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(VARIABLE, str(tmp_path_factory.mktemp("nobody") / "ledger.db"))
        yield
