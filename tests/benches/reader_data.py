#!/usr/bin/env python3
"""Makes the directories that `bench reader --data DIR` measures: from two public data sets, which are not part of this repository, and
pictures of rating plates, drawn from the texts of the unit tests.

    reader_data.py sroie SROIE OUT   SROIE: a copy of github.com/zzzDavid/ICDAR-2019-SROIE; 60 of its 626 receipts, by a fixed seed
    reader_data.py zxing ZXING OUT   ZXING: a copy of github.com/zxing/zxing; the photos of codes of the kinds that Hearth reads
    reader_data.py plates FONTS OUT  FONTS: such as /usr/share/fonts; draws each plate in one of four typefaces, some of them turned
                                     by a quarter or half, all a little askew, with noise (needs the package pillow)

Photos are linked, not copied.
"""
import datetime
import json
import pathlib
import random
import re
import sys

SEED, SAMPLE = 34, 60
PLATES = pathlib.Path(__file__).parents[2] / "reader/src/draft/tests/plates.txt"
TYPEFACES = ["DejaVuSans.ttf", "DejaVuSansMono.ttf", "LiberationSans-Regular.ttf", "LiberationSans-Bold.ttf"]
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
FOLDERS = re.compile(r"(code128|code39|code93|datamatrix|ean13|ean8|itf|qrcode|upca|upce)-\d+|inverted|upcean-extension-1")
# Day first, as the receipts of Malaysia have it.
DATES = [
    (r"(\d{1,2})[/\-. ](\d{1,2})[/\-. ](\d{4})", "dmy"),
    (r"(\d{4})[/\-. ](\d{1,2})[/\-. ](\d{1,2})", "ymd"),
    (r"(\d{1,2})[/\-. ](\d{1,2})[/\-. ](\d{2})\b", "dmy"),
    (r"(\d{1,2})[ \-/.]?([A-Za-z]{3})[A-Za-z]*[ \-/.,']*(\d{2,4})", "dmy"),
    (r"([A-Za-z]{3})[A-Za-z]*[ \-/.]*(\d{1,2})[ ,\-/.]+(\d{4})", "mdy"),
    (r"^(\d{2})(\d{2})(\d{4})$", "dmy"),
]


def day(text):
    """The day of a text as YYYY-MM-DD. None: no day."""
    for form, order in DATES:
        if found := re.search(form, text.strip()):
            part = dict(zip(order, found.groups()))
            month = MONTHS.index(part["m"].lower()) + 1 if part["m"].isalpha() else int(part["m"])
            year, number = int(part["y"]), int(part["d"])
            if month > 12:
                month, number = number, month
            return datetime.date(year + 2000 if year < 100 else year, month, number).isoformat()
    return None


def put(out, photo, expected):
    link = out / f"{photo.parent.name}-{photo.name}"
    link.unlink(missing_ok=True)
    link.symlink_to(photo.resolve())
    link.with_suffix(".json").write_text(json.dumps(expected))


def sroie(root, out):
    photos = sorted((root / "data/img").glob("*.jpg"))
    random.seed(SEED)
    for photo in sorted(random.sample(photos, SAMPLE)):
        key = json.loads((root / "data/key" / f"{photo.stem}.json").read_text())
        rows = (root / "data/box" / f"{photo.stem}.csv").read_text(errors="replace").splitlines()
        texts = [parts[8] for row in rows if len(parts := row.split(",", 8)) == 9]
        expected = {"words": [word for text in texts for word in text.split()]}
        if date := day(key.get("date", "")):
            expected["date"] = date
        if total := re.search(r"\d[\d,]*\.\d\d", key.get("total", "")):
            expected["total"] = total[0].replace(",", "")
        put(out, photo, expected)


def zxing(root, out):
    for folder in sorted((root / "core/src/test/resources/blackbox").iterdir()):
        for text in sorted(folder.glob("*.txt")) if FOLDERS.fullmatch(folder.name) else []:
            photo = next((text.with_suffix(end) for end in (".png", ".jpg", ".gif") if text.with_suffix(end).is_file()), None)
            if photo and not text.name.endswith(".metadata.txt"):
                raw = text.read_bytes()
                try:
                    code = raw.decode()
                except UnicodeDecodeError:
                    code = raw.decode("latin1")
                put(out, photo, {"codes": [code.strip()]})


def plates(fonts, out):
    from PIL import Image, ImageDraw, ImageFilter, ImageFont

    random.seed(SEED)
    faces = [ImageFont.truetype(next(fonts.rglob(name)), 34) for name in TYPEFACES]
    blocks = [block for block in PLATES.read_text().split("=== ") if "|" in block.split("\n")[0]]
    for number, block in enumerate(blocks):
        head, *lines = block.rstrip("\n").split("\n")
        # Columns stand below each other in letters of one width only.
        face = faces[1] if any("   " in line for line in lines) else faces[number % len(faces)]
        width = int(max(face.getlength(line) for line in lines)) + 80
        plate = Image.new("L", (width, 50 * len(lines) + 60), random.randint(190, 240))
        draw = ImageDraw.Draw(plate)
        for row, line in enumerate(lines):
            draw.text((40, 30 + 50 * row), line, font=face, fill=random.randint(10, 60))
        turned = random.choice([0, 0, 90, 180, 270]) + random.uniform(-5, 5)
        photo = plate.rotate(turned, expand=True, fillcolor=120, resample=Image.Resampling.BICUBIC).filter(ImageFilter.GaussianBlur(0.7))
        noise = Image.effect_noise(photo.size, 24)
        Image.blend(photo, noise, 0.12).convert("RGB").save(out / f"plate-{number:02}.jpg", quality=80)
        names = zip(["make", "model", "serial_number"], [part.strip() for part in head.split("|")])
        expected = {"fields": {name: value for name, value in names if value != "-"}}
        (out / f"plate-{number:02}.json").write_text(json.dumps(expected))


if __name__ == "__main__":
    makers = {"sroie": sroie, "zxing": zxing, "plates": plates}
    if len(sys.argv) != 4 or sys.argv[1] not in makers:
        sys.exit(__doc__)
    target = pathlib.Path(sys.argv[3])
    target.mkdir(parents=True, exist_ok=True)
    makers[sys.argv[1]](pathlib.Path(sys.argv[2]), target)
