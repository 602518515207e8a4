"""The schema of the messages: both sides have the same, and every request is answered."""

from __future__ import annotations

import typing
from pathlib import Path

import msgspec
import pytest

from selfmate.studio import messages
from selfmate.studio.connection import HANDLERS, Connection
from selfmate.studio.typescript import typescript

PAGE_TYPES = Path(__file__).parents[2] / "studio" / "src" / "messages.ts"


def test_the_types_of_the_page_are_up_to_date() -> None:
    assert PAGE_TYPES.read_text(encoding="utf-8") == typescript(), "run `make messages`"


def test_every_request_has_a_handler() -> None:
    requests = set(typing.get_args(messages.AnyRequest))
    assert set(HANDLERS) == requests
    assert all(callable(getattr(Connection, name)) for name in HANDLERS.values())


def test_every_request_and_event_is_in_its_union() -> None:
    declared = {each for each in vars(messages).values() if isinstance(each, type)}
    for base, union in ((messages.Request, messages.AnyRequest), (messages.Event, messages.AnyEvent)):
        tagged = {each for each in declared if issubclass(each, base) and each.__struct_config__.tag is not None}
        assert tagged - {base, messages.GameRequest} == set(typing.get_args(union))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        '{"type": "hello"}',
        '{"type": "hello", "ask": -1}',
        '{"type": "hello", "ask": 1, "more": 1}',
        '{"type": "nothing", "ask": 1}',
        '{"type": "game.move", "ask": 1, "id": "../../x", "ply": 0, "uci": "e2e4"}',
        '{"type": "game.move", "ask": 1, "id": "0123456789abcdef", "ply": 0, "uci": "e2e4e5"}',
        '{"type": "game.new", "ask": 1, "variant": "chess", "visits": 0}',
        '{"type": "game.new", "ask": 1, "variant": "chess", "clock": {"seconds": 1e9}}',
        '{"type": "run.start", "ask": 1, "name": "../x"}',
    ],
)
def test_what_is_no_request_is_refused(text: str) -> None:
    with pytest.raises(msgspec.MsgspecError):
        messages.decode_request(text)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("{", (0, "Not a request: input data was truncated.")),
        ('{"type": "nothing", "ask": 3}', (3, "Wrong type: invalid value 'nothing'.")),
        ('{"type": "game.open", "ask": 4, "id": "nope"}', (4, "There is nothing with this id.")),
        ('{"type": "position.ask", "ask": 5, "variant": "chess", "fen": "' + 201 * "8" + '"}',
         (5, "Wrong fen: expected `str` of length <= 200.")),
        ('{"type": "run.start", "ask": "six", "minutes": 0}', (0, "Wrong ask: expected `int`, got `str`.")),
    ],
)  # fmt: skip
def test_a_refusal_answers_its_request_in_one_sentence(text: str, answer: tuple[int, str]) -> None:
    with pytest.raises(msgspec.MsgspecError) as error:
        messages.decode_request(text)
    refusal = messages.refusal(text, error.value)
    assert (refusal.ask, refusal.message) == answer
