# %% [markdown]
# # Sentences with a known answer
#
# Given code: nothing to solve here. Two tasks of translation that need no corpus, as a few rules make as
# many pairs as one wants, each with the one right answer:
#
# ```
# Sunday, July 4th, 1999                          1999-07-04
# four hundred and eighty thousand two hundred    quatre cent quatre-vingt mille deux cents
# ```
#
# The first has to be read from the middle, the end and the beginning. The second has rules that reach from
# one word to another: French *cent* and *vingt* take an s only if they are multiplied and nothing but a
# noun follows, and *mille* is none.

# %%
#| default_exp data.tasks

# %%
import datetime
import random

# %% [markdown]
# ## Dates
#
# What is ambiguous has a rule. With strokes the month comes first, 7/4/1999, as in America; with points the
# day, 4.7.1999, as in Europe. A year of two digits lies in 1969 to 2068, as in POSIX.

# %%
#| export
FORMS = ("{d} {month} {y}", "{d} {month}, {y}", "{th} {month} {y}", "{th} of {month} {y}",
         "the {th} of {month}, {y}", "{month} {d}, {y}", "{month} {th}, {y}", "{month} the {th}, {y}",
         "{month} {d} {y}", "{y}, {month} {d}", "{mon} {d}, {y}", "{d} {mon} {y}", "{d}-{mon}-{y}",
         "{dd}-{mon}-{yy}", "{d} {mon} '{yy}", "{mon} {d} '{yy}", "{weekday}, {d} {month} {y}",
         "{weekday}, {month} {th}, {y}", "{weekday} the {th} of {month} {y}", "{day} {mon} {dd} {y}",
         "{day}, {dd} {mon} {y}", "{m}/{d}/{y}", "{mm}/{dd}/{y}", "{m}/{d}/{yy}", "{d}.{m}.{y}",
         "{dd}.{mm}.{y}", "{d}.{m}.{yy}", "{y}/{mm}/{dd}", "{y}{mm}{dd}")
_MONTHS = """January February March April May June July August September October November
    December""".split()
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
FIRST, LAST = datetime.date(1969, 1, 1), datetime.date(2068, 12, 31)


def ordinal(n):
    """1st, 2nd, 3rd, 4th, 11th: n with its ending."""
    return f"{n}{'th' if 10 < n % 100 < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


def write_date(day, form):
    """A datetime.date in one of `FORMS`.

    >>> write_date(datetime.date(1999, 7, 4), "{weekday}, {month} {th}, {y}")
    'Sunday, July 4th, 1999'
    """
    month, weekday = _MONTHS[day.month - 1], _WEEKDAYS[day.weekday()]
    return form.format(d=day.day, dd=f"{day.day:02}", th=ordinal(day.day), m=day.month, mm=f"{day.month:02}",
                       mon=month[:3], month=month, day=weekday[:3], weekday=weekday, y=day.year,
                       yy=f"{day.year % 100:02}")


def dates(n, seed=0):
    """n pairs (a date as people write it, the same as 1999-07-04), all of different days, 1969 to 2068.

    Each is in one of 29 forms; every fourth is in small letters, every fourth in capitals. As no day comes
    twice, any two parts of the result share none. Raises ValueError if n is above 36,525.
    """
    rng = random.Random(seed)
    days = rng.sample(range(FIRST.toordinal(), LAST.toordinal() + 1), n)
    pairs = []
    for day in map(datetime.date.fromordinal, days):
        case = rng.choice((str, str, str.lower, str.upper))
        pairs.append((case(write_date(day, rng.choice(FORMS))), day.isoformat()))
    return pairs

# %% [markdown]
# ## Numbers in words
#
# English has *and* before what is below a hundred: *one thousand and one*. French is spelt as before 1990:
# hyphens join only what is below a hundred and has no *et*: *vingt-deux, vingt et un, quatre-vingt-un*.

# %%
#| export
_ENGLISH = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen""".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_FRENCH = """z\u00e9ro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze
    seize dix-sept dix-huit dix-neuf""".split()
_DIZAINES = "vingt trente quarante cinquante soixante soixante quatre-vingt quatre-vingt".split()


def english(n):
    """The number n, 0 to 999,999, in English words.

    >>> english(480_021)
    'four hundred and eighty thousand and twenty-one'
    """
    if n < 20:
        return _ENGLISH[n]
    if n < 100:
        return _TENS[n // 10 - 2] + (f"-{_ENGLISH[n % 10]}" if n % 10 else "")
    size, name = (100, "hundred") if n < 1000 else (1000, "thousand")
    link = "and " if n % size < 100 else ""
    return f"{english(n // size)} {name}" + (f" {link}{english(n % size)}" if n % size else "")


def french(n, plural=True):
    """The number n, 0 to 999,999, in French words; without the s of `vingts` and `cents` unless `plural`.

    >>> french(480_021), french(80), french(200)
    ('quatre cent quatre-vingt mille vingt et un', 'quatre-vingts', 'deux cents')
    """
    if n < 20:
        return _FRENCH[n]
    if n < 100:
        tens = _DIZAINES[n // 10 - 2]
        rest = n - 20 * (n // 20) if n >= 60 else n % 10              # soixante-dix, quatre-vingt-dix
        if not rest:
            return tens + "s" * (n == 80 and plural)
        return tens + (" et " if rest in (1, 11) and n < 80 else "-") + _FRENCH[rest]
    if n < 1000:
        many = f"{_FRENCH[n // 100]} " * (n >= 200) + "cent"
        return f"{many} {french(n % 100, plural)}" if n % 100 else many + "s" * (n >= 200 and plural)
    many = f"{french(n // 1000, plural=False)} " * (n >= 2000) + "mille"
    return f"{many} {french(n % 1000, plural)}" if n % 1000 else many


def number_words(n, seed=0):
    """n pairs (English, French) of different numbers below a million, the short ones as often as the long.

    Raises ValueError if n is above 100,000.
    """
    if n > 100_000:
        raise ValueError(f"number_words({n}): short numbers run out, so there are at most 100,000 pairs.")
    rng, numbers = random.Random(seed), {0: None}              # a dictionary keeps the order
    while len(numbers) < n:
        numbers[int(10 ** rng.uniform(0, 6))] = None
    chosen = list(numbers)[:n]
    rng.shuffle(chosen)
    return [(english(number), french(number)) for number in chosen]
