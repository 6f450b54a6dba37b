"""Cron lines beside croniter, at both edges of summer time, and those that cannot be."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.schedule.cron import next_due, read_cron, resolve
from shipmate.schedule.schedule_wording import TaskError
from tests.support.search import examples

BERLIN = ZoneInfo("Europe/Berlin")
LORD_HOWE, APIA = ZoneInfo("Australia/Lord_Howe"), ZoneInfo("Pacific/Apia")


def dues(line: str, zone: ZoneInfo, after: datetime, count: int) -> list[str]:
    """Return the next due times as the clock of the zone shows them, with its distance from UTC."""
    cron, found = read_cron(line), [after.astimezone(UTC)]
    while len(found) <= count:
        due = next_due(cron, zone, found[-1])
        assert due is not None
        assert due > found[-1]
        found.append(due)
    return [f"{each.astimezone(zone):%d %H:%M%z}" for each in found[1:]]


def fields(low: int, high: int) -> st.SearchStrategy[str]:
    value = st.integers(low, high)
    # croniter takes a span from a value to itself for all of them.
    pairs = st.tuples(value, value).filter(lambda pair: pair[0] != pair[1])
    span = pairs.map(lambda pair: f"{min(pair)}-{max(pair)}")
    step = st.tuples(span, st.integers(1, 9)).map(lambda pair: f"{pair[0]}/{pair[1]}")
    return st.lists(value.map(str) | span | step, min_size=1, max_size=3).map(",".join)


@given(
    minute=st.just("*") | fields(0, 59),
    hour=st.just("*") | st.just("*/5") | fields(0, 23),
    day=st.just("*") | fields(1, 28),
    month=st.just("*") | fields(1, 12),
    weekday=st.just("*") | fields(0, 6),
    after=st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1)),
)
@settings(max_examples=examples(100), deadline=None)
def test_a_line_is_due_when_croniter_says(
    minute: str, hour: str, day: str, month: str, weekday: str, after: datetime
) -> None:
    line = f"{minute} {hour} {day} {month} {weekday}"
    moment = after.replace(tzinfo=UTC)
    oracle = croniter(line, moment)
    wanted = [oracle.get_next(datetime) for _ in range(3)]
    found, cron = [moment], read_cron(line)
    for _ in range(3):
        due = next_due(cron, UTC, found[-1])
        assert due is not None
        found.append(due)
    assert found[1:] == wanted


def test_a_line_of_one_hour_is_due_once_where_the_clock_is_changed() -> None:
    spring, autumn = datetime(2026, 3, 28, 12, tzinfo=BERLIN), datetime(2026, 10, 24, 12, tzinfo=BERLIN)
    # What the gap swallows is due at its end, once however many times lay in it.
    assert dues("30 2 * * *", BERLIN, spring, 2) == ["29 03:00+0200", "30 02:30+0200"]
    assert dues("*/20 2 * * *", BERLIN, spring, 2) == ["29 03:00+0200", "30 02:00+0200"]
    assert dues("0,30 1-3 * * *", BERLIN, spring, 5) == [
        "29 01:00+0100",
        "29 01:30+0100",
        "29 03:00+0200",
        "29 03:30+0200",
        "30 01:00+0200",
    ]
    assert dues("30 2 * * *", BERLIN, autumn, 2) == ["25 02:30+0200", "26 02:30+0100"]
    # Whoever asks in the second of the two hours is told the next day.
    assert dues("30 2 * * *", BERLIN, datetime(2026, 10, 25, 1, 10, tzinfo=UTC), 1) == ["26 02:30+0100"]


def test_a_line_of_every_hour_goes_with_the_clock() -> None:
    spring, autumn = datetime(2026, 3, 29, 0, 50, tzinfo=BERLIN), datetime(2026, 10, 25, 1, 50, tzinfo=BERLIN)
    assert dues("0 * * * *", BERLIN, spring, 3) == ["29 01:00+0100", "29 03:00+0200", "29 04:00+0200"]
    assert dues("0 * * * *", BERLIN, autumn, 3) == ["25 02:00+0200", "25 02:00+0100", "25 03:00+0100"]
    # A clock that is put back by half an hour, at two.
    back = datetime(2026, 4, 5, 1, 20, tzinfo=LORD_HOWE)
    shown = ["05 01:30+1100", "05 01:45+1100", "05 01:30+1030", "05 01:45+1030", "05 02:00+1030"]
    assert dues("*/15 * * * *", LORD_HOWE, back, 5) == shown


def test_a_day_that_a_place_leaves_out_is_made_up_for_at_its_end() -> None:
    # Samoa had no 30th of December in 2011.
    before = datetime(2011, 12, 29, 12, tzinfo=APIA)
    assert dues("0 9 * * *", APIA, before, 2) == ["31 00:00+1400", "31 09:00+1400"]
    assert resolve(datetime(2026, 3, 29, 2, 30), BERLIN) == datetime(2026, 3, 29, 1, tzinfo=UTC)


@given(
    line=st.sampled_from(["30 2 * * *", "*/7 * * * *", "15 */2 * * *", "0 3 * * 0", "59 23 * * *"]),
    zone=st.sampled_from([BERLIN, LORD_HOWE, ZoneInfo("America/New_York"), ZoneInfo("America/Sao_Paulo")]),
    after=st.datetimes(datetime(2016, 1, 1), datetime(2030, 1, 1)),
)
@settings(max_examples=examples(60), deadline=None)
def test_times_only_go_forward_and_none_lies_between(line: str, zone: ZoneInfo, after: datetime) -> None:
    cron, moment = read_cron(line), after.replace(tzinfo=UTC)
    due = next_due(cron, zone, moment)
    assert due is not None
    assert moment < due
    # Whoever asks at any time before is told the same.
    middle = moment + (due - moment) / 2
    assert next_due(cron, zone, middle) == due
    assert next_due(cron, zone, due - timedelta(seconds=1)) == due


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("0 0 31 2 *", "never comes"),
        ("0 0 31 4,6,9,11 ?", "never comes"),
        ("0 9 * *", "has 4 fields"),
        ("0 0 9 * * *", "has 6 fields"),
        ("60 * * * *", "the minute “60”"),
        ("* 24 * * *", "the hour “24”"),
        ("* * 0 * *", "the day “0”"),
        ("* * * foo *", "the month “foo”"),
        ("* * * * 8", "the weekday “8”"),
        ("*/0 * * * *", "the minute “*/0”"),
        ("5-1 * * * *", "the minute “5-1”"),
        ("१ * * * *", "the minute"),
        ("@reboot", "has 1 fields"),
    ],
)
def test_a_line_that_cannot_be_says_why(line: str, said: str) -> None:
    with pytest.raises(TaskError) as caught:
        read_cron(line)
    assert said in str(caught.value)


def test_names_steps_and_both_day_fields_are_read_as_in_crontab() -> None:
    start = datetime(2026, 11, 16, 12, tzinfo=UTC)
    assert dues("0 9 * jan-mar MON", ZoneInfo("UTC"), start, 1) == ["04 09:00+0000"]
    assert dues("0 0 13 * 5", ZoneInfo("UTC"), start, 3) == [
        "20 00:00+0000",
        "27 00:00+0000",
        "04 00:00+0000",
    ]
    assert dues("0 0 */2 * 1", ZoneInfo("UTC"), start, 2) == ["23 00:00+0000", "07 00:00+0000"]
    assert dues("0 0 29 2 *", ZoneInfo("UTC"), start, 1) == ["29 00:00+0000"]
    assert dues("0 0 * * 7", ZoneInfo("UTC"), start, 1) == dues("@weekly", ZoneInfo("UTC"), start, 1)
