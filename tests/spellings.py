"""A key in every spelling that a server, a proxy or a model may give it."""

from __future__ import annotations

import base64
import html
import json
import quopri
import re
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import quote, quote_plus

HIDDEN = (
    *("\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\x00", "\x1b", "\r", "\u2028", "\ufffd"),
    "\U0001d173",
)
"""Characters that show nothing, or that are taken out before anything is shown."""
HIDDEN_ESCAPES = (
    *("%00", "%1b", "%0D", "%7F", "%E2%80%8B", "%e2%80%8b", "%C2%AD", "%EF%BB%BF", "%F3%A0%80%A0"),
    *("%2500", "%25E2%2580%258B", "%u200b", "&#0;", "&#x0;", "&#8203;", "&ZeroWidthSpace;"),
    *("\\000", "\\x00", "\\u200b", "\\u{200b}", "\\ud83d", "\\ud834\\udd73"),
)
"""The same, as addresses, HTML, JSON and programs write them."""
OBEYED = ("\x1b[0m", "\x1b[38;5;1m", "\x1b]0;title\x07", "\x1bPq\x1b\\", "\\u001b[0m", "%1B[1m")
"""What a terminal obeys, and does not show."""


def spellings(key: str) -> dict[str, str]:
    """Texts by what was done to the key."""
    found = {
        "as it is": key,
        "upper case": key.upper(),
        "lower case": key.lower(),
        "other case": key.swapcase(),
        "percent": quote(key, safe=""),
        "percent, small digits": _small_digits(quote(key, safe="")),
        "percent, a form": quote_plus(key),
        "percent, twice": quote(quote(key, safe=""), safe=""),
        "percent, all": "".join(f"%{byte:02X}" for byte in key.encode()),
        "percent, all, small digits": "".join(f"%{byte:02x}" for byte in key.encode()),
        "HTML": html.escape(key),
        "HTML, numbers": "".join(f"&#{ord(one)};" for one in key),
        "HTML, hexadecimal": "".join(f"&#x{ord(one):X};" for one in key),
        "HTML, numbers, twice": "".join(f"&amp;#{ord(one)};" for one in key),
        "HTML, numbers, percent": quote("".join(f"&#{ord(one)};" for one in key), safe=""),
        "percent, HTML": "".join(f"&#37;{byte:02X}" for byte in key.encode()),
        "HTML, hidden, twice": "".join(f"&amp;\x00#{ord(one)};" for one in key),
        "soft hyphens in HTML": "&shy;".join(html.escape(one) for one in key),
        "hex": key.encode().hex(),
        "HEX": key.encode().hex().upper(),
        "Python": repr(key)[1:-1],
    }
    found |= {f"split by U+{ord(one):04X}": one.join(key) for one in HIDDEN}
    found |= {f"halves by U+{ord(one):04X}": key[:5] + one + key[5:] for one in HIDDEN}
    if not {*key} & {*"\\%&"}:
        # One of its own would make another escape of them.
        found |= {f"split by {one}": one.join(key) for one in HIDDEN_ESCAPES}
        found |= {f"percent, by {one}": one.join(map(_percent, key)) for one in HIDDEN_ESCAPES}
    found |= {f"halves by {one!a}": key[:5] + one + key[5:] for one in OBEYED}
    found |= {
        name: text for before in ("", "u", "us", "user:") for name, text in _codes(before, key)
    }
    found |= dict(_letters(key))
    found |= _composed(key)
    found |= {f"{name}, in JSON": text for name, text in _in_json(key).items()}
    found["split, escaped, in JSON"] = json.dumps("\u200b".join(key))[1:-1]
    found["HTML, numbers, in JSON"] = found["HTML, numbers"].replace("&", "\\u0026")
    return found


def escaped(text: str) -> dict[str, str]:
    """What stands between the quotes of a JSON string that means ``text``."""
    plain = json.dumps(text)[1:-1]
    return {
        "plain": plain,
        "slashes": plain.replace("/", "\\/"),
        "every letter": "".join(_unit(one) for one in text),
        "some letters": "".join(
            _unit(one).upper().replace("\\U", "\\u") if place % 3 == 0 else json.dumps(one)[1:-1]
            for place, one in enumerate(text)
        ),
    }


def _in_json(key: str) -> dict[str, str]:
    found = {f"escaped, {name}": text for name, text in escaped(key).items()}
    found["escaped twice"] = json.dumps(json.dumps(key))[1:-1]
    found["escaped twice, every letter"] = json.dumps(found["escaped, every letter"])[1:-1]
    return found


def _codes(before: str, key: str) -> list[tuple[str, str]]:
    found = []
    for after in ("", "x", "xy"):
        code = base64.b64encode(f"{before}{key}{after}".encode()).decode()
        name = f"base64 of {before}…{after}"
        found += [
            (name, code),
            (f"{name}, for addresses", code.replace("+", "-").replace("/", "_").rstrip("=")),
            (f"{name}, percent", quote(code, safe="")),
            (f"{name}, slashes", code.replace("/", "\\/")),
        ]
    return found


def _composed(key: str) -> dict[str, str]:
    """One spelling of another, and what is none of the others."""
    codes: dict[str, Callable[[str], str]] = {
        "base64": lambda text: base64.b64encode(text.encode()).decode(),
        "base32": lambda text: base64.b32encode(text.encode()).decode(),
        "hex": lambda text: text.encode().hex(),
    }
    plain: dict[str, Callable[[str], str]] = {
        "percent": lambda text: "".join(map("%{:02X}".format, text.encode())),
        "JSON": lambda text: "".join(map(_unit, text)),
        "quoted-printable": lambda text: quopri.encodestring(text.encode()).decode(),
        "quoted-printable, all": lambda text: "".join(map("={:02X}".format, text.encode())),
        "soft line breaks": lambda text: "=\n".join(
            re.findall("(?s)(?:=3D|.){1,5}", text.replace("=", "=3D"))
        ),
    }
    every = {**codes, **plain}
    found = {name: spell(key) for name, spell in every.items()}
    found |= {
        f"{outer} of {inner}": every[outer](every[inner](f"user:{key}"))
        for outer in codes
        for inner in every
    }
    found |= {
        f"{outer} of {inner}": every[outer](every[inner](key)) for outer in plain for inner in codes
    }
    found["base64 of base64 of percent"] = codes["base64"](codes["base64"](plain["percent"](key)))
    lines = re.findall(".{1,64}", codes["base32"](f"user:{key}"))
    found["base32 on lines"] = "\r\n ".join(re.findall(".{1,64}", codes["base32"](key)))
    found["base32 on lines, small letters, tabs"] = "\n\t".join(lines).lower()
    found["base32 on lines, percent"] = "%0D%0A".join(lines)
    found["base32 on lines, HTML"] = "&#10;".join(lines)
    twice = plain["quoted-printable, all"](plain["quoted-printable, all"](key))
    found["quoted-printable, all, twice"] = twice
    found["quoted-printable after an equals sign"] = "=" + plain["quoted-printable"](
        codes["hex"](f"user:{key}")
    )
    found["base64 of base32 on lines"] = "\n".join(
        re.findall(".{1,76}", codes["base64"](codes["base32"](key)))
    )
    return found


def _letters(key: str) -> list[tuple[str, str]]:
    """In base64 of several lines, as letters, certificates and headers have it."""
    found = []
    for before in ("", "u" * 25, "u" * 50 + ":"):
        code = base64.b64encode(f"{before}{key}".encode()).decode()
        for width in (64, 76):
            lines = [code[at : at + width] for at in range(0, len(code), width)]
            name = f"base64 after {len(before)}, lines of {width}"
            found += [
                (name, "\n".join(lines)),
                (f"{name}, of a letter", "\r\n".join(lines)),
                (f"{name}, of a header", "\r\n ".join(lines)),
                (f"{name}, in JSON", "\\r\\n".join(lines)),
                (f"{name}, in Unicode escapes", "\\u000a".join(lines)),
                (f"{name}, percent", quote("\n".join(lines), safe="")),
                (f"{name}, HTML", "&#10;".join(lines)),
                (f"{name}, escaped twice", "\\\\n".join(lines)),
            ]
    return found


def remains(key: str, text: str) -> list[str]:
    """What can be read of a key in a text: spellings of it, and pieces of its codes.

    A code that was taken out in part is found by its pieces.
    """
    shown = _bare(text)
    return [name for name, sought in _traces(key).items() if sought in shown]


@lru_cache(4)
def _traces(key: str) -> dict[str, str]:
    """What tells that a key was there, without line breaks."""
    raw = key.encode()
    codes = [raw.hex(), raw.hex().upper()]
    for shift in range(3):
        code = base64.b64encode(bytes(shift) + raw).decode()
        # The ends are shared with what stands around the key.
        codes.append(code[4 if shift else 0 : len(code) - 4])
    pieces = [
        code[at : at + _PIECE] for code in codes for at in range(0, len(code) - _PIECE + 1, 4)
    ]
    whole = {name: _bare(spelled) for name, spelled in spellings(key).items()}
    return whole | {f"{piece} of base64 or hex": piece for piece in pieces}


_PIECE = 12
_BREAK = re.compile(r"\s+|\\+[rn]|\\+u000a|%0A|&#10;")


def _bare(text: str) -> str:
    return _BREAK.sub("", text)


def _unit(one: str) -> str:
    code = one.encode("utf-16-be")
    return "".join(f"\\u{code[at : at + 2].hex()}" for at in range(0, len(code), 2))


def _percent(one: str) -> str:
    return quote(one, safe="")


def _small_digits(text: str) -> str:
    return re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), text)
