"""The description of a user's own server: a table of ``providers.toml``.

A setting of a server is a field of :class:`OwnServer`. The file, the flags of
``evalbench providers`` and the form of the app follow from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from evalbench.engine.calls.options import Option

_YES_NO = ("yes", "no")


@dataclass(frozen=True, slots=True)
class ServerSetting:
    """How a field of a description is typed.

    Attributes:
        option: the flag; repeatable for a table of texts, yes or no for what is true or false.
        unset: what applies without it, as a placeholder.
        sign: for a table of texts: what stands between a name and its value.
    """

    option: Option
    unset: str
    sign: str = ""

    def fits(self, value: object) -> bool:
        """Whether a value in the file is of the right kind."""
        if self.sign:
            return isinstance(value, Mapping)
        if self.option.choices == _YES_NO or isinstance(value, bool):
            return self.option.choices == _YES_NO and isinstance(value, bool)
        return isinstance(value, (int, float) if self.option.type is float else self.option.type)

    def value(self, text: str) -> Any:
        """What is stored for a text; raises SpecError as :meth:`Option.parse`."""
        value = text if self.sign else self.option.parse(text)
        if self.option.choices == _YES_NO:
            return value == "yes"
        # Whole numbers without a decimal point: the file is read by people.
        return int(value) if isinstance(value, float) and value.is_integer() else value


def _typed(
    flag: str, about: str, unset: str, *, kind: type = str, sign: str = "", **more: Any
) -> Any:
    option = Option(flag, kind, None, about, many=bool(sign), **more)
    about_it = {"typed": ServerSetting(option, unset, sign)}
    if sign:
        return field(default_factory=dict, metadata=about_it)
    return field(default=None, metadata=about_it)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnServer:
    """A server as its user describes it; None: not set."""

    base_url: str | None = _typed(
        "base_url",
        "address of the API, such as https://gateway.example.com/v1",
        "https://…/v1",
        metavar="URL",
    )
    headers: Mapping[str, str] = _typed(
        "header",
        "header of every request, NAME: VALUE; ${VARIABLE} in it stands for a secret, which is"
        " kept in the keychain",
        "none",
        sign=": ",
        metavar="'NAME: VALUE'",
    )
    query: Mapping[str, str] = _typed(
        "query",
        "query parameter of every request, NAME=VALUE",
        "none",
        sign="=",
        metavar="NAME=VALUE",
    )
    prices: Mapping[str, str] = _typed(
        "price",
        "US dollars per million tokens, MODEL=IN/OUT; * is every other model",
        "unknown",
        sign="=",
        metavar="MODEL=IN/OUT",
    )
    price_source: str | None = _typed(
        "price_source", "where the prices come from", "–", metavar="TEXT"
    )
    like: str | None = _typed(
        "like",
        "a provider that it is like: vllm, groq, azure and so on",
        "OpenAI's API",
        metavar="PROVIDER",
    )
    title: str | None = _typed("title", "its name for people", "its name", metavar="TEXT")
    key: str | None = _typed(
        "key_variable", "environment variable of its key", "NAME_API_KEY", metavar="NAME"
    )
    key_header: str | None = _typed(
        "key_header",
        "header of the key, instead of Authorization: Bearer",
        "Authorization",
        metavar="NAME",
    )
    key_page: str | None = _typed("key_page", "address where keys are made", "–", metavar="URL")
    requests_per_minute: float | None = _typed(
        "requests_per_minute", "its limit", "no limit", kind=float
    )
    tokens_per_minute: int | None = _typed(
        "tokens_per_minute", "its limit, prompts and replies", "no limit", kind=int
    )
    qps: float | None = _typed("qps", "maximum calls per second", "no limit", kind=float)
    concurrency: int | None = _typed(
        "concurrency", "maximum concurrent calls", "adaptive", kind=int
    )
    timeout: float | None = _typed(
        "timeout", "seconds for one attempt at one call", "600", kind=float, metavar="S"
    )
    key_required: bool | None = _typed(
        "key_required", "whether nothing works without a key", "if named", choices=_YES_NO
    )
    batches: str | None = _typed(
        "batches", "whether it takes OpenAI-style batches", "auto", choices=("auto", *_YES_NO)
    )


SERVER_SETTINGS: Mapping[str, ServerSetting] = {
    one.name: one.metadata["typed"] for one in fields(OwnServer)
}
"""All settings by field."""
