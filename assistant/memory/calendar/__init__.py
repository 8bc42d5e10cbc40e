"""The calendar, in an iCalendar file that other programs open, too."""
