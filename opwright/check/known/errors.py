"""Mistakes in a ledger of known failures."""

from __future__ import annotations

from opwright.errors import DiagnosticsError, OpwrightError

__all__ = [
    "EntryError",
    "LedgerError",
    "LedgerFileError",
    "NoReasonError",
    "StaleEntryError",
    "UnknownRowError",
]


class LedgerFileError(OpwrightError):
    """A ledger of known failures that cannot be read or written, or that is not TOML."""

    id = "OPW-C021"
    title = "the ledger of known failures cannot be used"
    usual_fix = "give a TOML file with entries [[known]]"


class EntryError(OpwrightError):
    """An entry of the ledger with a key that does not exist, or a value of another form."""

    id = "OPW-C022"
    title = "an entry of the ledger is not as it must be"
    usual_fix = "use a key that exists"


class NoReasonError(OpwrightError):
    """An entry of the ledger without a reason, as `--accept` writes it."""

    id = "OPW-C023"
    title = "a known failure has no reason"
    usual_fix = 'say why it is accepted: reason = "..."'


class UnknownRowError(OpwrightError):
    """An entry of the ledger about a row, a kind or a column that does not exist."""

    id = "OPW-C024"
    title = "a known failure is about a row that does not exist"
    usual_fix = "name a row, a kind and a column that exist"


class StaleEntryError(OpwrightError):
    """An entry of the ledger about an operator that the target does not have."""

    id = "OPW-C025"
    title = "a known failure is about an operator that does not exist"
    usual_fix = "remove the entry, or name an operator of the target"


class LedgerError(DiagnosticsError):
    """All that is wrong with the entries of a ledger."""

    id = "OPW-C026"
    title = "the ledger of known failures has errors"
    usual_fix = "mend each of them"
