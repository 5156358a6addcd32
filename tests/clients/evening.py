"""Parts of the evening that need more than a shell: the table, the network of the first person, and what is compared at the end.

Must not know how the terminal UI or the pages are operated.
"""

import asyncio
import datetime
import decimal
import hashlib
import html
import json
import os
import pathlib
import re
import sqlite3
import ssl
import sys
import urllib.request

ROOMS = ["Küche", "Wohnzimmer", "Schlafzimmer", "Keller", "Garage", "Büro"]
THINGS = ["Regal", "Sessel", "Lampe", "Bohrmaschine", "Tisch", "Stuhl", "Gefrierschrank"]
ROWS = 300
# The quantity that the second person sets in row 17.
CHANGED = {17: 7}
# The name of a record, by kind.
KINDS = {"rooms": "name", "inventory": "name", "vehicles": "name", "documents": "title", "tasks": "title"}
# Set by the replica for values that its version does not know.
OWN_COLUMNS = {"extra"}


def row(number, warranty):
    """One row of the table: its reference, name, room, quantity, price, and day of warranty."""
    ends = warranty if number == 4 else None
    price = decimal.Decimal(number * 1237 % 150_000 + 999) / 100
    thing = "Sessel" if number == 5 else "Regal" if number == 17 else THINGS[number % len(THINGS)]
    return f"H-{number:03}", f"{thing} {number:03}", ROOMS[number % len(ROOMS)], 1 + number % 5 * (number % 3), price, ends


def german(sum_of_money):
    """`1234.5` as `1.234,50 €`."""
    return f"{sum_of_money:,.2f}".translate(str.maketrans(",.", ".,")) + " €"


def table(path, warranty):
    """Writes the table as a German spreadsheet does: `;`, Windows-1252, days and sums in German."""
    lines = ["Nr;Bezeichnung;Raum;Anzahl;Kaufpreis;Kaufdatum;Seriennummer;Garantie bis"]
    for number in range(1, ROWS + 1):
        reference, name, room, quantity, price, ends = row(number, datetime.date.fromisoformat(warranty))
        bought = datetime.date(2019, 1, 1) + datetime.timedelta(days=number * 7)
        day = ends.strftime("%d.%m.%Y") if ends else ""
        lines.append(f"{reference};{name};{room};{quantity};{german(price)};{bought:%d.%m.%Y};SN-{number:05};{day}")
    pathlib.Path(path).write_bytes("\r\n".join(lines).encode("cp1252"))


def receipts(directory):
    """Writes five different receipts."""
    for number in range(1, 6):
        pathlib.Path(directory, f"beleg-{number}.pdf").write_bytes(b"%%PDF-1.4\n%% receipt %d\n%%%%EOF\n" % number)


def cable(port_file, own, target):
    """Passes bytes between a port and the server until the process ends. Port 0: a free one. Writes the port to a file."""

    async def pass_on(reader, writer):
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def accept(reader, writer):
        try:
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", int(target))
        except ConnectionError:
            writer.close()
            return
        await asyncio.gather(pass_on(reader, server_writer), pass_on(server_reader, writer))

    async def listen():
        server = await asyncio.start_server(accept, "127.0.0.1", int(own))
        pathlib.Path(port_file).write_text(str(server.sockets[0].getsockname()[1]))
        await server.serve_forever()

    asyncio.run(listen())


def get(address, is_with_key=True):
    """The bytes at an address of the server, or at a path of the API."""
    headers = {"Authorization": "Bearer " + os.environ["LIVE"]} if is_with_key else {}
    url = address if address.startswith("https:") else os.environ["URL"] + address
    trusted = ssl.create_default_context(cafile=os.path.join(os.environ["WORK"], "ca.pem"))
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), context=trusted, timeout=20) as answer:
        return answer.read()


def listed(kind):
    """All records of a kind from the lists of the API, by id."""
    found, cursor = {}, ""
    while True:
        page = json.loads(get(f"/v1/{kind}?limit=100{cursor}"))
        found.update((record["id"], record) for record in page["data"])
        if not page["meta"]["page"]["has_more"]:
            return found
        cursor = "&cursor=" + page["meta"]["page"]["next_cursor"]


def stored(kind):
    """All rows of a table of the replica, by id."""
    with sqlite3.connect(f"file:{os.environ['DB']}?mode=ro", uri=True, timeout=5) as connection:
        connection.row_factory = sqlite3.Row
        return {one["id"]: dict(one) for one in connection.execute(f"SELECT * FROM {kind}")}


def same():
    """Compares each record of the server with its row in the replica, and the bytes of each file with its hash."""
    profile = json.loads(get("/v1/property"))["data"]
    compare("property", {profile["id"]: profile}, stored("property"))
    for kind in KINDS:
        compare(kind, listed(kind), stored(kind))
    for document in stored("documents").values():
        sha256 = document["file_sha256"]
        assert hashlib.sha256(get(f"/v1/files/{sha256}")).hexdigest() == sha256, document


def compare(kind, server, replica):
    assert server.keys() == replica.keys(), f"{kind}: the server has {len(server)} records, the replica {len(replica)}, not the same"
    for key, record in server.items():
        columns = {name: value for name, value in replica[key].items() if name not in OWN_COLUMNS}
        assert record == columns, f"{kind} {key}:\n{record}\n{columns}"


def results(gutter, filter_due, warranty):
    """Checks the report, the calendar and the reminders."""
    work = pathlib.Path(os.environ["WORK"])
    day = datetime.date.fromisoformat(warranty)
    things = [row(number, day) for number in range(1, ROWS + 1)]
    total = sum((CHANGED.get(number, thing[3]) * thing[4] for number, thing in enumerate(things, 1)), decimal.Decimal(0))
    report = html.unescape((work / "report.html").read_text())
    for name in ["Seeweg 4", *ROOMS, "Regal 017, im Keller", "SN-00300", "EUR"]:
        assert name in report, f"the report lacks {name}"
    shown = re.sub(r"[\s,]", "", report)
    assert f"{total:.2f}" in shown, f"the report lacks the total {total:.2f}"

    expected = {"Dachrinne reinigen": gutter, "Wasserfilter wechseln": filter_due, "Tisch 004": warranty}
    reminders = json.loads((work / "remind.json").read_text())["reminders"]
    assert {one["title"]: one["on"] for one in reminders} == expected, reminders

    link = json.loads((work / "calendar.json").read_text())["url"]
    calendar = get(link, is_with_key=False).decode().replace("\r\n ", "")
    events = {
        re.search(r"\nSUMMARY:(.*)\r", event)[1]: re.search(r"\nDTSTART;VALUE=DATE:(.*)\r", event)[1]
        for event in calendar.split("BEGIN:VEVENT")[1:]
    }
    wanted = {name + (": warranty ends" if name.startswith("Tisch") else ""): on.replace("-", "") for name, on in expected.items()}
    assert events == wanted, events


if __name__ == "__main__":
    commands = {"table": table, "receipts": receipts, "cable": cable, "same": same, "results": results}
    commands[sys.argv[1]](*sys.argv[2:])
