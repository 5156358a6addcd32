"""Reads the calendar of a server as calendar programs do. Must not know the code of the server."""

import datetime
import os
import re

import ics
import icalendar
import recurring_ical_events
import requests

url = os.environ["URL"]
api = requests.Session()
api.headers["Authorization"] = "Bearer " + os.environ["KEY"]


def create(path, **fields):
    answer = api.post(url + path, json=fields)
    assert answer.status_code == 201, answer.text
    return answer.json()["data"]


# Titles with everything that the format escapes, folds, or might confuse with its own syntax.
TITLES = [
    "Commas, semicolons; colons: and \\ backslashes \\n",
    "Größe 🏠 und sehr lange Titel, " * 6,
    'BEGIN:VEVENT "quoted" END:VEVENT',
    "ends with a backslash \\",
    " spaces around ",
]
NOTES = "first line\nsecond, line;\n\ttab\n" + "long " * 100
tasks = [create("/v1/tasks", title=title, notes=NOTES, due_on="2031-02-28") for title in TITLES]
series = create("/v1/tasks", title="Series", due_on="2031-01-31", recurrence="monthly")
item = create("/v1/inventory", name="Oven, big", warranty_expires_on="2031-03-01")
car = create("/v1/vehicles", name="Car", insurance_expires_on="2031-04-01", registration_expires_on="2031-05-01")
paper = create("/v1/documents", title="Passport", expires_on="2031-06-01")

link = create("/v1/calendars", name="Home; sweet, home")["url"]
answer = requests.get(link)
assert answer.status_code == 200, answer.text
assert answer.headers["Content-Type"] == "text/calendar; charset=utf-8"
data = answer.content

# The form of lines (RFC 5545, 3.1).
assert data.endswith(b"END:VCALENDAR\r\n") and b"\n" not in data.replace(b"\r\n", b"") and b"\r" not in data.replace(b"\r\n", b"")
assert all(len(line) <= 75 for line in data.split(b"\r\n"))
for line in data.split(b"\r\n"):
    line.decode("utf-8")

# icalendar keeps what it could not parse in `errors`.
calendar = icalendar.Calendar.from_ical(data)
assert not calendar.errors and calendar["PRODID"] and calendar["VERSION"] == "2.0"
# Newer versions of the library leave properties outside of RFC 5545 as they stand.
for name in ("NAME", "X-WR-CALNAME"):
    assert str(calendar[name]).replace("\\", "") == "Home; sweet, home", calendar[name]
events = {str(event["UID"]): event for event in calendar.walk("VEVENT")}
assert len(events) == len(calendar.walk("VEVENT")), "each UID once"
for event in events.values():
    assert not event.errors and "RRULE" not in event
    assert type(event["DTSTART"].dt) is datetime.date
    assert event["DTSTAMP"].dt.tzinfo is not None
for task in tasks:
    event = events[task["id"] + "@hearth"]
    assert str(event["SUMMARY"]) == task["title"], (str(event["SUMMARY"]), task["title"])
    assert str(event["DESCRIPTION"]) == NOTES
    assert event["DTSTART"].dt == datetime.date(2031, 2, 28)
assert events[series["id"] + "@hearth"]["DTSTART"].dt == datetime.date(2031, 1, 31)
for record, what, day, summary in [
    (item, "warranty", "2031-03-01", "Oven, big: warranty ends"),
    (car, "insurance", "2031-04-01", "Car: insurance ends"),
    (car, "registration", "2031-05-01", "Car: registration ends"),
    (paper, "document", "2031-06-01", "Passport: expires"),
]:
    event = events[f"{record['id']}-{what}@hearth"]
    assert str(event["SUMMARY"]) == summary and event["DTSTART"].dt.isoformat() == day
    [alarm] = event.walk("VALARM")
    begins = datetime.datetime.combine(event["DTSTART"].dt, datetime.time()) + alarm["TRIGGER"].dt
    assert begins == datetime.datetime.fromisoformat(day) - datetime.timedelta(days=14) + datetime.timedelta(hours=9)
    assert alarm["ACTION"] == "DISPLAY" and alarm["DESCRIPTION"]

# A grammar of another origin.
other = ics.Calendar(data.decode())
assert len(other.events) == len(events)
assert {event.uid for event in other.events} == set(events) and all(event.all_day for event in other.events)
# This library strips spaces, and reads an escaped backslash before a letter as another escape.
plain = {title for title in TITLES if title == title.strip() and "\\" not in title}
assert plain and {event.name for event in other.events} >= plain

# What a program shows on one day.
shown = recurring_ical_events.of(calendar).at(datetime.date(2031, 2, 28))
assert sorted(str(event["SUMMARY"]) for event in shown) == sorted(TITLES)

# The next reading costs nothing until something changes.
known = requests.get(link, headers={"If-None-Match": answer.headers["ETag"]})
assert known.status_code == 304 and not known.content
api.patch(f"{url}/v1/tasks/{series['id']}", json={"status": "done"})
changed = requests.get(link, headers={"If-None-Match": answer.headers["ETag"]})
again = [event for event in icalendar.Calendar.from_ical(changed.content).walk("VEVENT") if str(event["SUMMARY"]) == "Series"]
assert [event["DTSTART"].dt for event in again] == [datetime.date(2031, 2, 28)]
assert re.search(r"/calendar/svc_cal_\w+\.ics$", link)
print(f"{len(events)} events read by three libraries")
