"""dates, number_words: each answer is the right one. Python's own reader and num2words are the judges."""
import datetime
import re

import pytest

from tinytorch.data import dates, number_words
from tinytorch.data.tasks import FORMS, english, french, write_date

DIRECTIVES = {"d": "%d", "dd": "%d", "th": "%d", "m": "%m", "mm": "%m", "mon": "%b", "month": "%B",
              "day": "%a", "weekday": "%A", "y": "%Y", "yy": "%y"}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_read_back(form):
    """By strptime, whose years of two digits follow the same rule; the endings of ordinals are taken off"""
    for number in range(0, 36_525, 97):
        day = datetime.date(1969, 1, 1) + datetime.timedelta(number)
        written = re.sub(r"(\d)(st|nd|rd|th)\b", r"\1", write_date(day, form))
        assert datetime.datetime.strptime(written, form.format(**DIRECTIVES)).date() == day


def test_ordinals():
    """The endings that English has"""
    days = [write_date(datetime.date(2024, 5, day), "{th}") for day in range(1, 32)]
    assert days == ("1st 2nd 3rd 4th 5th 6th 7th 8th 9th 10th 11th 12th 13th 14th 15th 16th 17th 18th 19th "
                    "20th 21st 22nd 23rd 24th 25th 26th 27th 28th 29th 30th 31st").split()


def test_dates():
    """Days that are all different, the same for a seed; every form, in both cases"""
    pairs = dates(3000)
    assert len({iso for _, iso in pairs}) == 3000 and pairs == dates(3000) != dates(3000, seed=1)
    assert all(re.fullmatch(r"(19[6-9]|20[0-6])\d-[01]\d-[0-3]\d", iso) for _, iso in pairs)
    words = [text for text, _ in pairs if any(map(str.isalpha, text))]
    for case in str.islower, str.isupper:
        assert 0.2 < sum(map(case, words)) / len(words) < 0.3
    assert len(dates(36_525)) == 36_525
    with pytest.raises(ValueError):
        dates(36_526)


@pytest.mark.parametrize("n, en, fr", [
    (0, "zero", "z\u00e9ro"), (21, "twenty-one", "vingt et un"), (70, "seventy", "soixante-dix"),
    (71, "seventy-one", "soixante et onze"), (80, "eighty", "quatre-vingts"),
    (81, "eighty-one", "quatre-vingt-un"), (91, "ninety-one", "quatre-vingt-onze"),
    (100, "one hundred", "cent"), (200, "two hundred", "deux cents"),
    (201, "two hundred and one", "deux cent un"), (1001, "one thousand and one", "mille un"),
    (2100, "two thousand one hundred", "deux mille cent"),
    (21_000, "twenty-one thousand", "vingt et un mille"),
    (80_080, "eighty thousand and eighty", "quatre-vingt mille quatre-vingts"),
    (200_300, "two hundred thousand three hundred", "deux cent mille trois cents"),
    (999_999, "nine hundred and ninety-nine thousand nine hundred and ninety-nine",
     "neuf cent quatre-vingt-dix-neuf mille neuf cent quatre-vingt-dix-neuf")])
def test_numbers_by_hand(n, en, fr):
    assert (english(n), french(n)) == (en, fr)


def test_numbers_against_num2words():
    """All below 3,000, and some of each length"""
    num2words = pytest.importorskip("num2words").num2words
    for n in [*range(3000), *range(3000, 1_000_000, 997)]:
        assert english(n) == num2words(n, lang="en").replace(",", "") and french(n) == num2words(n, lang="fr")


def test_number_words():
    """Different numbers, the same for a seed; a fifth have five digits, a fifth six, or a little more"""
    pairs = number_words(8000)
    assert len(set(pairs)) == 8000 and pairs == number_words(8000) != number_words(8000, seed=1)
    digits = {french(n): len(str(n)) for n in range(1_000_000)}
    counts = [sum(digits[fr] == size for _, fr in pairs) for size in range(1, 7)]
    assert counts[0] == 10 and counts[1] == 90 and 700 < counts[2] <= 900 and min(counts[3:]) > 2000
    with pytest.raises(ValueError, match="short numbers run out"):
        number_words(100_001)
