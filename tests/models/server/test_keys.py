"""Keys and settings of a server: where they come from, and that a key is found nowhere."""

import traceback
from typing import Any

import pytest

from tests.models.loopback_server import NAME, Loopback, Reply, error
from tests.models.server.asked import CONFIG, KEY, engine, letters, questions
from tests.refusals import refused
from vouch.models.engine import engine_kind
from vouch.models.lock_entry import OPENAI
from vouch.models.server.abilities import abilities
from vouch.models.server.client import ServerSettings, read_settings, served
from vouch.pipeline.errors import UserError
from vouch.tables.answered import Pin, Source

ECHOES = {
    "raw": lambda: error(500, f"no {KEY} here"),
    "escaped": lambda: Reply(500, error(500, f"key={KEY}").body.replace("/", "\\/")),
    "turned down": lambda: error(400, f"Bearer {KEY} is odd"),
    "key": lambda: error(401, f"wrong key {KEY}"),
    "model": lambda: error(404, f"{KEY} may not use it"),
    "quota": lambda: error(429, f"{KEY} is empty", "insufficient_quota"),
    "body": lambda: Reply(200, f'{{"choices": "{KEY}"}}'),
    "cut": lambda: Reply(200, f'{{"{KEY}', cut=True),
}


@pytest.mark.parametrize("echo", ECHOES)
def test_the_key_is_sent_and_found_nowhere_else(
    server: Loopback, echo: str, capfd: pytest.CaptureFixture[str]
) -> None:
    server.instead = lambda request, number: ECHOES[echo]()
    tested = engine(server, tries=2)
    seen: list[Any] = []
    try:
        seen.extend(tested.answer(letters(questions(2))))
    except UserError as fatal:
        seen.append("".join(traceback.format_exception(fatal)))
    out, err = capfd.readouterr()
    everything = f"{seen} {tested.notes} {out} {err}"
    assert set(server.keys) == {KEY} and len(seen) > 0
    for secret in (KEY, KEY.replace("/", "\\/"), KEY[5:]):
        assert secret not in everything
    assert KEY not in repr(ServerSettings(key=KEY))


def test_load_takes_the_key_of_the_model_before_the_common_one_and_sends_it_nowhere_else(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source(kind="server", url=server.url, name=NAME)
    pin = Pin(model="my_model", engine="openai", source=source, files={})
    file = engine_kind("openai")

    def sent() -> str:
        loaded = file.load(pin, CONFIG)
        assert loaded.device == "server" and len(list(loaded.answer(letters(questions(1))))) == 1
        return server.keys[-1]

    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, KEY)
    assert sent() == "none" and KEY not in str(server.headers)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    assert sent() == KEY
    assert [server.headers[-1][name] for name in ("openai-organization", "openai-project")] == [KEY, KEY]
    monkeypatch.setenv("VOUCH_SERVER_KEY_MY_MODEL", "own-key-1")
    assert sent() == "own-key-1"
    with refused("my_model: engine openai wants source"):
        file.load(pin.model_copy(update={"source": Source(kind="folder", path="x")}), CONFIG)


@pytest.mark.parametrize(
    ("url", "base", "key"),
    [
        ("https://api.openai.com/v1", None, "k"),
        ("https://api.openai.com.evil.org/v1", None, None),
        ("https://other.org/api.openai.com/v1", None, None),
        ("http://127.0.0.1:8000/v1", None, None),
        ("https://gateway.org/v1", "https://gateway.org/openai", "k"),
        ("https://gateway.org/v1", "https://other.org/v1", None),
    ],
)
def test_the_common_key_is_for_openai_alone(url: str, base: str | None, key: str | None) -> None:
    given = {"OPENAI_API_KEY": "k", "OPENAI_ORG_ID": "o", "OPENAI_PROJECT_ID": "p"}
    found = read_settings("m", url, given | ({"OPENAI_BASE_URL": base} if base else {}))
    assert (found.key, found.organization, found.project) == ((key, "o", "p") if key else (None, None, None))
    assert read_settings("m", url, {**given, "VOUCH_SERVER_KEY_M": "own"}).key == "own"


def test_a_key_is_not_sent_unencrypted_to_another_machine() -> None:
    given = {"VOUCH_SERVER_KEY_M": KEY}
    for host in ("localhost:8000", "127.0.0.2", "[::1]:8000"):
        assert read_settings("m", f"http://{host}/v1", given).key == KEY
    for host in ("10.0.0.2:8000", "localhost.evil.org", "127.0.0.1.evil.org"):
        assert read_settings("m", f"http://{host}/v1", {}).key is None
        with refused("VOUCH_SERVER_KEY_M would be sent unencrypted") as caught:
            read_settings("m", f"http://{host}/v1", given)
        assert KEY not in str(caught.value)


def test_settings_come_from_the_environment() -> None:
    assert read_settings("m", OPENAI, {}) == ServerSettings()
    given = {
        "VOUCH_SERVER_CONCURRENCY": "4",
        "VOUCH_SERVER_RATE": "90.5",
        "VOUCH_SERVER_TRIES": "2",
        "VOUCH_SERVER_TIMEOUT": "7",
        "VOUCH_PRICE_INPUT": "0.15",
        "VOUCH_PRICE_OUTPUT": "0.6",
        "OPENAI_API_KEY": " k ",
    }
    assert read_settings("m", OPENAI, given) == ServerSettings(
        key="k", concurrency=4, rate=90.5, tries=2, timeout=7.0, price_input=0.15, price_output=0.6
    )
    assert ServerSettings(key="EMPTY").redact("EMPTY box") == "EMPTY box"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("VOUCH_SERVER_CONCURRENCY", "0"),
        ("VOUCH_SERVER_CONCURRENCY", "2.5"),
        ("VOUCH_SERVER_RATE", "fast"),
        ("VOUCH_SERVER_RATE", KEY),
        ("VOUCH_SERVER_TIMEOUT", "nan"),
        ("VOUCH_PRICE_INPUT", "1"),
        ("OPENAI_API_KEY", "two words"),
        ("VOUCH_SERVER_KEY_M", "schl\u00fcssel"),
    ],
)
def test_a_wrong_setting_names_its_variable(name: str, value: str) -> None:
    with refused(name) as caught:
        read_settings("m", OPENAI, {name: value})
    assert len(value) < 4 or value not in str(caught.value), "it may be a key"


@pytest.mark.parametrize("proxy", ["nonsense://planted@h", "http://planted@127.0.0.1:x"])
def test_a_proxy_that_is_none_is_one_line(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    for ask in (
        lambda: served("http://h.invalid/v1"),
        lambda: abilities("http://h.invalid/v1", "m", ServerSettings()),
    ):
        with refused("HTTP_PROXY, HTTPS_PROXY, ALL_PROXY: one of them is no address") as caught:
            ask()
        assert "planted" not in str(caught.value)


def test_a_key_in_escapes_of_json_is_hidden() -> None:
    settings = ServerSettings(key=KEY)
    escaped = "".join(f"\\u{ord(char):04X}" if char in "sk0" else char for char in KEY)
    assert settings.redact(f'{{"model": "{escaped}"}}') == '{"model": "[key]"}'
    assert settings.redact('"\\\\u0073 \\u0022 \\u00e4 \\u0020"') == '"\\\\u0073 \\u0022 \\u00e4 \\u0020"'
