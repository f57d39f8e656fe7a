"""The page with the heat map and the waves, opened in a real browser."""
import os
from math import cos, sin

import numpy as np
import pytest

from tinytorch import nn
from tinytorch.viz.positions_page import PAGE, write_positions_page

from .browser import COMMAND, Browser

in_browser = pytest.mark.skipif(COMMAND is None, reason="no chromium here: apt-get install chromium has it")


def pe(position, dimension, d):
    """One number of the encoding, in Python's float64."""
    angle = position / 10000 ** ((dimension - dimension % 2) / d)
    return cos(angle) if dimension % 2 else sin(angle)


def table(n, d): return np.array([[pe(p, i, d) for i in range(d)] for p in range(n)])


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def opened(browser, tmp_path):
    """A function that opens the page with this behind its #; and nothing went wrong in the page."""
    page = write_positions_page(tmp_path / "positions.html").as_uri()

    def opened(behind="", width=1000, scheme="light"):
        browser.size(width, 900)
        browser.scheme(scheme)
        browser.open(page + behind)
        return browser

    yield opened
    browser.run("0")                                        # what the page reported until now is heard
    happened = {event["method"]: event["params"] for event in browser.events}
    assert "Runtime.exceptionThrown" not in happened, happened
    assert "Runtime.consoleAPICalled" not in happened, happened


def text(browser, selector): return browser.run(f"document.querySelector({selector!r}).textContent")
def number(text): return float(text.rsplit(" ", 1)[1].replace("−", "-"))
def waves(browser): return browser.run("[...document.querySelectorAll('li')].map(i => +i.dataset.dimension)")
def focus(browser, name): browser.run(f"document.getElementById({name!r}).focus()")


def middle(browser, selector):
    return browser.run(f"(box => [box.x + box.width / 2, box.y + box.height / 2])"
                       f"(document.querySelector({selector!r}).getBoundingClientRect())")


def test_written_whole_or_not_at_all(tmp_path, monkeypatch):
    """The page alone is in the folder; if writing fails, the older file is"""
    path = tmp_path / "page.html"
    path.write_text("older", encoding="utf-8")

    def full(*names): raise OSError("no space left")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="no space"):
        patch.setattr(os, "replace", full)
        write_positions_page(path)
    assert os.listdir(tmp_path) == ["page.html"] and path.read_text(encoding="utf-8") == "older"
    assert write_positions_page(path) == path
    assert os.listdir(tmp_path) == ["page.html"] and path.read_text(encoding="utf-8") == PAGE
    with pytest.raises(FileNotFoundError, match="gone"):
        write_positions_page(tmp_path / "gone" / "page.html")


@in_browser
@pytest.mark.parametrize("d", [1, 2, 4, 5, 6, 7, 128, 129])
def test_the_numbers(opened, d):
    """pe(position, dimension, d_model) on the page is the formula, and what the layer adds"""
    row = f"Array.from({{length: {d}}}, (_, i) => window.pe(p, i, {d}))"
    got = np.array(opened().run(f"Array.from({{length: 20}}, (_, p) => {row})"))
    np.testing.assert_allclose(got, table(20, d), rtol=0, atol=1e-12)
    np.testing.assert_allclose(got, nn.SinusoidalPositionalEncoding(d, 20).pe.numpy()[0], rtol=0, atol=1e-6)


@in_browser
def test_the_heat_map(opened):
    """A pixel for each number: blue below 0, red above, white at 0"""
    for d, n in ((6, 20), (7, 13), (1, 1)):
        browser = opened(f"#d={d}&n={n}")
        shape = browser.run("(m => [m.height, m.width])(document.getElementById('map'))")
        pixels = np.array(browser.run(f"""[...document.getElementById('map').getContext('2d')
                                          .getImageData(0, 0, {d}, {n}).data]""")).reshape(n, d, 4)
        want = table(n, d)[..., None]
        ends = np.where(want < 0, [33, 102, 172], [178, 24, 43])
        assert shape == [n, d] and (pixels[..., 3] == 255).all()
        np.testing.assert_allclose(pixels[..., :3], 250 + (ends - 250) * abs(want), rtol=0, atol=0.51)


@in_browser
def test_the_axes(opened):
    """At most eight numbers an axis, in round steps, each at the middle of its row or column"""
    browser = opened("#d=128&n=41")
    axes = (("across", "left", 128, 20), ("down", "top", 41, 10), ("along", "left", 41, 10))
    for axis, side, count, step in axes:
        shown = browser.run(f"[...document.getElementById({axis!r}).children]"
                            f".map(t => [+t.textContent, parseFloat(t.style.{side})])")
        assert [i for i, _ in shown] == list(range(0, count, step))
        assert [at for _, at in shown] == pytest.approx([100 * (i + 0.5) / count for i, _ in shown], abs=0.01)
    browser = opened("#d=8&n=40")
    last = "document.getElementById('across').lastChild, document.getElementById('down').lastChild"
    assert browser.run(f"[{last}].map(t => t.textContent)") == ["7", "35"]


@in_browser
def test_looked_at(opened):
    """The sliders below the map say which number is read out, in the waves too"""
    browser = opened("#d=7&n=20&dims=0,1,6")
    for position, dimension in ((3, 4), (19, 6), (0, 1)):
        for name, value in (("position", position), ("dimension", dimension)):
            browser.run(f"{name} = document.getElementById({name!r}), {name}.value = {value}, "
                        f"{name}.dispatchEvent(new Event('input'))")
        said = text(browser, "#readout")
        f, pair = "cos" if dimension % 2 else "sin", dimension - dimension % 2
        assert said.startswith(f"PE({position}, {dimension}) = {f}({position} / 10000^({pair}/7)) = ")
        assert number(said) == pytest.approx(pe(position, dimension, 7), abs=1e-6)
        values = browser.run("[...document.querySelectorAll('.value')].map(v => v.textContent)")
        assert [number(v) for v in values] == pytest.approx([pe(position, i, 7) for i in (0, 1, 6)], abs=1e-6)
        assert browser.run("['row', 'column'].map(i => document.getElementById(i).getBBox())"
                           ".map(b => [b.x, b.y, b.width, b.height])") == [[0, position, 7, 1],
                                                                          [dimension, 0, 1, 20]]


@in_browser
@pytest.mark.parametrize("d, n", [(6, 20), (7, 64), (5, 65), (4, 300)])
def test_the_waves(opened, d, n):
    """A curve through the number of every position; dots on them where there is room; the wave's length"""
    browser = opened(f"#d={d}&n={n}&dims=3,0,2")
    assert waves(browser) == [0, 2, 3]
    for i, kind in ((0, "sine"), (2, "sine"), (3, "cosine")):
        strip = f"[data-dimension='{i}'] "
        points = browser.run(f"""document.querySelector("{strip}.curve").getAttribute('points')""")
        at = {float(x): -float(y) for x, y in (point.split(",") for point in points.split(" "))}
        assert min(at) == 0 and max(at) == n - 1
        np.testing.assert_allclose([at[p] for p in range(n)], table(n, d)[:, i], rtol=0, atol=1e-12)
        assert at[1.25] == pytest.approx(pe(1.25, i, d), abs=1e-12)
        dots = browser.run(f"""document.querySelector("{strip}.dots").getAttribute('d')""")
        assert dots.count("M") == (n if n <= 64 else 0)
        about = text(browser, strip + ".soft")
        length = float(about.split()[-2].replace(",", ""))
        assert about.startswith(kind)
        assert length == pytest.approx(2 * np.pi * 10000 ** (i // 2 * 2 / d), rel=5e-3)


@in_browser
def test_the_address(opened):
    """What stands behind the # is read, also later; nonsense changes nothing, too much is the most"""
    browser = opened()
    names = "['d', 'n', 'd-number', 'n-number'].map(i => +document.getElementById(i).value)"
    assert browser.run(names) == [128, 100, 128, 100] and waves(browser) == [0, 20, 21, 40]
    browser.run("new Promise(done => { addEventListener('hashchange', done); location.hash = 'd=9&n=4' })"
                ".then(() => 0)")
    assert browser.run(names) == [9, 4, 9, 4] and waves(browser) == [0]
    assert text(browser, "#readout").startswith("PE(3, 8) ")
    assert browser.run("[document.querySelector('#position').max, document.querySelector('#dimension').max]"
                       ) == ["3", "8"]
    browser = opened("#d=-3&n=1e9&dims=,x,1,2,2,3,4,5,6,7,0.5")
    assert browser.run("[state.d, state.n, state.dims]") == [1, 1024, [3, 4, 5, 6, 7, 0]]
    browser = opened("#d=&n=many&what=1")
    assert browser.run("[state.d, state.n]") == [128, 100]


@in_browser
def test_by_keyboard(opened):
    """Arrows move a slider, a number is typed, Enter shows and hides a wave; the address keeps all"""
    browser = opened("#d=6&n=20&dims=0")
    focus(browser, "d")
    browser.press("ArrowRight", 39)
    assert browser.run("state.d") == 7 and browser.run("document.getElementById('map').width") == 7
    focus(browser, "dimension")
    for _ in range(6):
        browser.press("ArrowLeft", 37)
    browser.press("ArrowRight", 39)
    browser.press("Tab", 9)
    assert browser.run("document.activeElement.id") == "pick"
    browser.press("Enter", 13, "\r")
    assert waves(browser) == [0, 1] and text(browser, "#pick") == "Hide the wave of dimension 1"
    browser.press("Tab", 9)
    browser.press("Enter", 13, "\r")                        # × of dimension 0; then that of 1 has the focus
    assert waves(browser) == [1] and browser.run("document.activeElement.id") == "hide-1"
    browser.press("Enter", 13, "\r")
    assert waves(browser) == [] and browser.run("document.activeElement.id") == "pick"
    focus(browser, "n-number")
    browser.run("document.activeElement.select()")
    for digit in "2000":
        browser.press(digit, ord(digit), digit)
    assert browser.run("[state.n, document.activeElement.value]") == [1024, "2000"]
    browser.press("Tab", 9)
    assert browser.run("document.getElementById('n-number').value") == "1024"
    assert browser.run("location.hash") == "#d=7&n=1024&dims="


@in_browser
def test_by_pointer(opened):
    """A click on the map looks there and shows that column's wave, a second one hides it"""
    browser = opened("#d=9&n=5&dims=0,2,3,5,6,7")
    place = middle(browser, "#map")
    browser.click(*place)
    assert text(browser, "#readout").startswith("PE(2, 4) ")
    assert waves(browser) == [2, 3, 4, 5, 6, 7]                # six: the oldest has gone
    assert browser.run("[...document.querySelectorAll('#marks span')].map(m => parseFloat(m.style.left))"
                       ) == pytest.approx([100 * (i + 0.5) / 9 for i in (2, 3, 4, 5, 6, 7)], abs=0.01)
    browser.click(*place)
    assert waves(browser) == [2, 3, 5, 6, 7]


@in_browser
@pytest.mark.parametrize("scheme, back, white", [("light", "rgb(255, 255, 255)", [250, 250, 250, 255]),
                                                 ("dark", "rgb(22, 22, 26)", [22, 22, 26, 255])])
def test_for_every_eye(opened, scheme, back, white):
    """Light and dark as asked, narrow without scrolling sideways, and a name for each control"""
    browser = opened("#d=1024&n=1024&dims=0,1000", width=360, scheme=scheme)
    assert browser.run("getComputedStyle(document.body).backgroundColor") == back
    corner = "[...document.getElementById('map').getContext('2d').getImageData(0, 0, 1, 1).data]"
    assert browser.run(corner) == white                        # PE(0, 0) is 0
    wide, there_is = browser.run("(e => [e.scrollWidth, e.clientWidth])(document.documentElement)")
    assert wide <= there_is <= 360
    tree = browser.ask("Accessibility.getFullAXTree")["nodes"]
    names = [(node["role"]["value"], node["name"]["value"]) for node in tree
             if node.get("role", {}).get("value") in ("slider", "spinbutton", "button", "image")]
    assert len(names) == 4 + 2 + 3 + 3 and all(name for _, name in names), names
    assert ("slider", "d_model, the numbers in a vector") in names
    assert ("button", "Hide the wave of dimension 1000") in names
    browser.run("changed = new Promise(done => dark.addEventListener('change', done)), 0")
    browser.scheme("light" if scheme == "dark" else "dark")
    assert browser.run(f"changed.then(() => {corner})") != white


@in_browser
def test_no_network(opened):
    """The page asks for itself and for nothing else"""
    browser = opened()
    asked = [event["params"]["request"]["url"] for event in browser.events
             if event["method"] == "Network.requestWillBeSent"]
    assert len(asked) == 1 and asked[0].endswith("/positions.html")
    assert browser.run("fetch('http://127.0.0.1:9/').then(() => 'let', () => 'refused')") == "refused"
    assert browser.run("performance.getEntriesByType('resource').length") == 0
