"""The browser of an owner, for the tests of partner authorization: signs in, and agrees to what a page asks.

Without packages, so that every test can call it.

  owner.py sign-in LINK COOKIES    opens a one-time link, sets a password, keeps the session in the file COOKIES
  owner.py agree COOKIES URL       opens a consent or device page, gives access, and follows the answer to a loopback address
"""

import sys
from html.parser import HTMLParser
from http.cookiejar import LWPCookieJar
from urllib.parse import urlencode, urljoin, urlsplit
from urllib.request import HTTPCookieProcessor, ProxyHandler, Request, build_opener


class Form(HTMLParser):
    """The fields of the form with the button `decision`, as a browser sends them."""

    def __init__(self) -> None:
        super().__init__()
        self.action, self.fields, self.has_decision = "", [], False
        self.select, self.best = "", None

    def handle_starttag(self, tag: str, attributes: list) -> None:
        given = dict(attributes)
        if tag == "form" and not self.has_decision:
            self.action, self.fields = given.get("action", ""), []
        elif tag == "input" and (given.get("type", "text") not in ("checkbox", "radio") or "checked" in given):
            self.fields.append((given.get("name", ""), given.get("value", "")))
        elif tag == "select":
            self.select, self.best = given["name"], None
        elif tag == "option" and self.best is None:
            self.best = given["value"]
            self.fields.append((self.select, self.best))
        elif tag == "button" and given.get("name") == "decision":
            self.has_decision = True


def opener(cookies: str):
    jar = LWPCookieJar(cookies)
    try:
        jar.load(ignore_discard=True)
    except FileNotFoundError:
        pass
    return jar, build_opener(ProxyHandler({}), HTTPCookieProcessor(jar))


def submit(browser, url: str, fields: list) -> str:
    parts = urlsplit(url)
    headers = {"Origin": f"{parts.scheme}://{parts.netloc}", "Sec-Fetch-Site": "same-origin"}
    with browser.open(Request(url, urlencode(fields).encode(), headers)) as answer:
        return answer.geturl()


def sign_in(link: str, cookies: str) -> None:
    jar, browser = opener(cookies)
    submit(browser, link, [("name", "Olive Owner"), ("password", "a password of a test")])
    jar.save(ignore_discard=True)


def agree(cookies: str, url: str) -> None:
    _, browser = opener(cookies)
    with browser.open(url) as answer:
        if urlsplit(answer.geturl()).netloc != urlsplit(url).netloc:
            return  # The server has sent the browser on, with a refusal for the program.
        form = Form()
        form.feed(answer.read().decode())
    assert form.has_decision, f"{url} asks nothing"
    fields = [(name, "test" if name == "environment" else value) for name, value in form.fields if name]
    submit(browser, urljoin(url, form.action), [*fields, ("decision", "allow")])


if __name__ == "__main__":
    {"sign-in": sign_in, "agree": agree}[sys.argv[1]](*sys.argv[2:])
