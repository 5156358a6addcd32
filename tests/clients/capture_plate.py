"""Draws a rating plate with a bar code (EAN-13): capture_plate.py FILE"""
import sys

from PIL import Image, ImageDraw, ImageFont

CODE = "4006381333931"
LEFT = ["0001101", "0011001", "0010011", "0111101", "0100011", "0110001", "0101111", "0111011", "0110111", "0001011"]
PARITY = ["LLLLLL", "LLGLGG", "LLGGLG", "LLGGGL", "LGLLGG", "LGGLLG", "LGGGLL", "LGLGLG", "LGLGGL", "LGGLGL"]


def bars(code: str) -> str:
    """The bars of a code as digits: 1 is black."""
    right = ["".join("10"[int(bit)] for bit in digit) for digit in LEFT]
    of_parity = {"L": LEFT, "G": [digit[::-1] for digit in right]}
    half = "".join(of_parity[sort][int(digit)] for sort, digit in zip(PARITY[int(code[0])], code[1:7]))
    return "101" + half + "01010" + "".join(right[int(digit)] for digit in code[7:]) + "101"


picture = Image.new("RGB", (1200, 900), "#e8e6e0")
pen = ImageDraw.Draw(picture)
pen.rectangle((60, 60, 1140, 840), fill="white", outline="#444444", width=4)
for line, text in enumerate(["BOSCH", "Washing machine", "Model: WAN28232", "Serial No: 485030123456"]):
    pen.text((110, 90 + 85 * line), text, fill="black", font=ImageFont.load_default(56))
for place, bit in enumerate(bars(CODE)):
    if bit == "1":
        pen.rectangle((220 + 8 * place, 500, 227 + 8 * place, 760), fill="black")
picture.save(sys.argv[1], quality=92)
