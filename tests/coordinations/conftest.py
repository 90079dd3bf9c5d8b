"""The market of two towns, as the mechanisms' tests have it."""

from tests.mechanism.conftest import ledger, public, secret, towns

__all__ = ["ledger", "public", "secret", "towns"]
