"""Times as records hold them: ISO-8601, UTC, milliseconds, `Z`. Pure; the present comes in as an argument."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

from identity.errors import InvalidInput

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


LAST_MS = 253_402_300_799_999
"""The last moment that can be said, at the end of the year 9999."""


def iso(moment: datetime) -> str:
    """Return an aware moment as `2026-01-02T03:04:05.678Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def millis(moment: datetime) -> int:
    """Return milliseconds since 1970, UTC."""
    since = moment - EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000 + since.microseconds // 1_000


def parse_iso(text: str, *, zone: tzinfo | None = None) -> datetime:
    """Return an aware moment.

    A date alone is its first moment; naive text is read in `zone`.

    Raises: ValueError when the text is no ISO-8601 date or time, or is naive and no zone is given.
    """
    moment = datetime.fromisoformat(text.strip())
    if moment.tzinfo is UTC:
        return moment
    if moment.tzinfo is None:
        if zone is None:
            raise ValueError(f"{text!r} has no time zone")
        moment = moment.replace(tzinfo=zone)
    return moment.astimezone(UTC)


def stored_millis(text: str | None) -> int | None:
    """Return the moment of a stored time, or None when there is none or it cannot be read (spec: such a record never expires)."""
    if text is None:
        return None
    try:
        return millis(parse_iso(text, zone=UTC))
    except (ValueError, OverflowError):
        return None


def moment_of(ms: int) -> datetime:
    """Return the aware moment of milliseconds since 1970, UTC; what is later than the last one is the last one."""
    return EPOCH + timedelta(milliseconds=min(ms, LAST_MS))


def date_argument(field: str, text: object, zone: tzinfo) -> int:
    """Return a date argument of a call in milliseconds; naive input is read in the stated zone.

    Raises: InvalidInput naming the field and the forms that are understood.
    """
    try:
        if isinstance(text, str):
            return millis(parse_iso(text, zone=zone))
    except (ValueError, OverflowError):
        pass
    shown = repr(text[:40]) if isinstance(text, str) else f"a {type(text).__name__}"
    raise InvalidInput(
        f"{field} must be an ISO-8601 date or time such as 2026-01-31 or 2026-01-31T12:00:00Z, not {shown}",
        field=field,
    )
