"""Dates as people write them in seven languages, for `translate_dates.py`.

Every form of a date has one meaning only. If it has dots, the day comes first;
if it has slashes, the month comes first, as in the USA; if it begins with a
year of four digits, month and day follow. All dates are from 1970 to 2069, so
that two digits determine the year: 70 to 99 are 1970 to 1999, and 00 to 69 are
2000 to 2069.

One date in ten is held out, in all languages and forms. A checksum of the date
decides which dates are held out. Therefore, training set and test set have no
date in common, whatever the random seed is.
"""

import datetime
import random
import zlib
from collections.abc import Iterable
from typing import NamedTuple

FIRST, LAST = datetime.date(1970, 1, 1), datetime.date(2069, 12, 31)
HAN = "〇一二三四五六七八九"


class Language(NamedTuple):
    """The names of months and weekdays of a language, and its forms of dates.

    Attributes:
        months: Their names, separated by spaces.
        weekdays: Their names, from Monday, separated by spaces.
        forms: One form a line, for `str.format`.
    """

    months: str
    weekdays: str
    forms: str


LANGUAGES = {
    "English": Language(
        "January February March April May June July August September October "
        "November December",
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
        """{month} {d}, {y}
        {month} {d}{th}, {y}
        {d} {month} {y}
        {d}{th} of {month}, {y}
        {weekday}, {month} {d}, {y}
        {weekday}, the {d}{th} of {month} {y}
        {weekday:.3} {d} {month:.3} {yy:02}
        {month:.3} {d}, {y}
        {m}/{d}/{y}
        {m}/{d}/{yy:02}
        {y}-{m:02}-{d:02}""",
    ),
    "German": Language(
        "Januar Februar März April Mai Juni Juli August September Oktober "
        "November Dezember",
        "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
        """{d}. {month} {y}
        {weekday}, {d}. {month} {y}
        {weekday}, den {d}. {month} {y}
        {weekday:.2}, {d}. {month:.3} {y}
        {d:02}.{m:02}.{y}
        {weekday:.2} {d}.{m}.{yy:02}""",
    ),
    "French": Language(
        "janvier février mars avril mai juin juillet août septembre octobre "
        "novembre décembre",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
        """le {d}{er} {month} {y}
        {d}{er} {month} {y}
        {weekday} {d}{er} {month} {y}
        le {weekday} {d}{er} {month} {y}""",
    ),
    "Spanish": Language(
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre "
        "noviembre diciembre",
        "lunes martes miércoles jueves viernes sábado domingo",
        """{d} de {month} de {y}
        {weekday}, {d} de {month} de {y}
        {d} {month} {y}""",
    ),
    "Korean": Language(
        "",
        "월요일 화요일 수요일 목요일 금요일 토요일 일요일",
        """{y}년 {m}월 {d}일
        {y}년 {m}월 {d}일 {weekday}
        {yy:02}년 {m}월 {d}일({weekday:.1})
        {y}. {m}. {d}.""",
    ),
    "Japanese": Language(
        "",
        "月曜日 火曜日 水曜日 木曜日 金曜日 土曜日 日曜日",
        """{y}年{m}月{d}日
        {y}年{m}月{d}日({weekday:.1})
        {y}/{m:02}/{d:02}""",
    ),
    "Chinese": Language(
        "",
        "星期一 星期二 星期三 星期四 星期五 星期六 星期日",
        """{y}年{m}月{d}日 {weekday}
        {han_y}年{han_m}月{han_d}日
        {han_y}年{han_m}月{han_d}日{weekday}""",
    ),
}


def is_held_out(date: datetime.date) -> bool:
    """Whether a date, in all its forms, is in the test set."""
    return zlib.crc32(date.isoformat().encode()) % 10 == 0


def all_dates(held_out: bool) -> list[datetime.date]:
    """List the dates that are held out, or all the others."""
    days = range((LAST - FIRST).days + 1)
    dates = (FIRST + datetime.timedelta(day) for day in days)
    return [date for date in dates if is_held_out(date) == held_out]


def write(date: datetime.date, language: Language, form: str) -> str:
    """Write a date in one of a language's forms."""
    y, m, d = date.year, date.month, date.day
    ending = {1: "st", 2: "nd", 3: "rd"}
    return form.strip().format(
        y=y,
        yy=y % 100,
        m=m,
        d=d,
        month=language.months.split()[m - 1] if language.months else "",
        weekday=language.weekdays.split()[date.weekday()],
        th="th" if 10 < d < 20 else ending.get(d % 10, "th"),
        er="er" if d == 1 else "",
        han_y="".join(HAN[int(digit)] for digit in str(y)),
        han_m=_in_han(m),
        han_d=_in_han(d),
    )


def _in_han(number):
    tens, ones = divmod(number, 10)
    tens = ("", "十")[tens] if tens < 2 else f"{HAN[tens]}十"
    return tens + (HAN[ones] if ones else "")


def make_pairs(
    dates: Iterable[datetime.date], seed: int
) -> tuple[list[str], list[str]]:
    """Write each date in a random language and form.

    Args:
        dates: The dates.
        seed: Seed of the choice.

    Returns:
        The sentences, and the same dates in ISO 8601.
    """
    draw = random.Random(seed)
    sources = []
    for date in dates:
        language = draw.choice(list(LANGUAGES.values()))
        form = draw.choice(language.forms.splitlines())
        sources.append(write(date, language, form))
    return sources, [date.isoformat() for date in dates]
