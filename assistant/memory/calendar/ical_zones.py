"""The zones that events of an iCalendar file are in, whatever they are called there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

#: What a zone is called that is none: the time is one of the user's zone, wherever they are.
FLOATING = ""
UTC_NAME = "UTC"

_TOO_OFTEN = re.compile(r"FREQ=(?!YEARLY)|INTERVAL=0", re.IGNORECASE)
#: Characters of a zone's definition that is looked at.
_LONGEST_DEFINITION = 100_000


class Zones:
    """Finds zones by the names a file uses for them.

    A name of the IANA database stands for that zone, also behind a prefix, as some programs write
    it. One of Windows is translated; of any other one the file's own definition is used.
    """

    def __init__(self, home: tzinfo, definitions: Mapping[str, str]) -> None:
        """`home` is the user's zone; `definitions` are VTIMEZONE components by their TZID."""
        self.home = home
        self._definitions = definitions
        self._found: dict[str, tzinfo | None] = {FLOATING: home, UTC_NAME: UTC}

    def get(self, name: str) -> tzinfo:
        """The zone of this name; the user's where nothing says what it is."""
        return self._find(name) or self.home

    def knows(self, name: str) -> bool:
        return self._find(name) is not None

    def _find(self, name: str) -> tzinfo | None:
        if name not in self._found:
            self._found[name] = iana_zone(name) or self._other(name)
        return self._found[name]

    def _other(self, name: str) -> tzinfo | None:
        from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

        if name in WINDOWS_TO_OLSON:
            return iana_zone(WINDOWS_TO_OLSON[name])
        definition = self._definitions.get(name, "")
        # A rule that changes the clock every second would be followed to the end of time.
        if not definition or len(definition) > _LONGEST_DEFINITION or _TOO_OFTEN.search(definition):
            return None
        from icalendar import Timezone

        try:
            component = Timezone.from_ical(definition)
            if not isinstance(component, Timezone):
                return None
            zone: tzinfo = component.to_tz(lookup_tzid=False)
            datetime(2026, 1, 1, tzinfo=zone).utcoffset()
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError):
            return None
        return zone


def iana_zone(name: str) -> ZoneInfo | None:
    """The zone of the IANA database that a name ends in: `/example.org/2024/Europe/Berlin`."""
    pieces = name.strip("/").split("/")
    for count in range(len(pieces), 0, -1):
        if count < 2 and len(pieces) > 1:
            break
        try:
            return ZoneInfo("/".join(pieces[-count:]))
        except (KeyError, ValueError, OSError):
            continue
    return None


def zone_name(zone: tzinfo | None) -> str:
    """What a zone is called in a file; UTC for one without a name of the IANA database."""
    name = getattr(zone, "key", None)
    return name if isinstance(name, str) and name not in ("UTC", "Etc/UTC") else UTC_NAME


def vtimezone(name: str) -> str:
    """The definition of a zone of the IANA database, as other programs read it: a VTIMEZONE."""
    from icalendar import Timezone

    written: bytes = Timezone.from_tzid(name).to_ical()
    return written.decode("utf-8")


def wall_time(moment: datetime, zone: tzinfo) -> datetime:
    """What the clocks of a zone show at a moment, without the zone."""
    return moment.astimezone(zone).replace(tzinfo=None)
