"""What the shipped code never does, whoever writes the next line of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("engine", "providers", "themes", "tui")

_MODULES = frozenset(
    ("pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve")
)
"""What runs code that lies in data."""

_CALLS = frozenset(
    (
        "eval", "exec", "os.system", "os.popen", "torch.load", "yaml.load", "yaml.unsafe_load",
        "yaml.full_load", "pd.read_pickle", "pandas.read_pickle", "pd.eval", "pandas.eval",
        "ssl._create_unverified_context", "joblib.load", "tempfile.mktemp",
        "zipfile.extractall", "shutil.unpack_archive",
    )
)  # fmt: skip
_METHODS = frozenset(("extractall", "read_pickle", "to_pickle"))
_FLAGS = {
    "verify": False,
    "verify_ssl": False,
    "ssl": False,
    "check_hostname": False,
    "trust_remote_code": True,
    "shell": True,
    "allow_pickle": True,
    "weights_only": False,
}
"""Arguments that turn off a protection, by the value that does."""

_TELLING = (ast.Import, ast.ImportFrom, ast.Call, ast.Attribute, ast.Assign, ast.Dict)
_NAMES = frozenset(("CERT_NONE", "CURLOPT_SSL_VERIFYPEER", "disable_warnings"))
_WORDS = {word.rpartition(".")[2] for word in (*_MODULES, *_CALLS, *_METHODS, *_FLAGS, *_NAMES)}
_TOLD = re.compile(rf"\b(?:{'|'.join(sorted(_WORDS))})\b")
"""What a module must hold to be worth a closer look, which takes a hundred times as long."""


def dotted(node: ast.expr) -> str:
    """``a.b.c`` of such an expression; empty for any other."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}".lstrip(".")
    return ""


def unsafe(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and words of everything that must not be."""
    for node in ast.walk(tree):
        if not isinstance(node, _TELLING):
            continue
        for what in (*_imported(node), *_called(node), *_turned_off(node)):
            yield getattr(node, "lineno", 0), what


def _imported(node: ast.AST) -> Iterator[str]:
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [name.name for name in node.names]
    elif isinstance(node, ast.ImportFrom):
        names = [node.module or ""]
    yield from (f"import {name}" for name in names if name.split(".")[0] in _MODULES)


def _called(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call):
        name = dotted(node.func)
        if name in _CALLS or name.rpartition(".")[2] in _METHODS:
            yield f"{name}()"
    elif isinstance(node, ast.Attribute) and node.attr in _NAMES:
        yield node.attr


def _turned_off(node: ast.AST) -> Iterator[str]:
    given: list[tuple[object, ast.expr]] = []
    if isinstance(node, ast.Call):
        given = [(keyword.arg, keyword.value) for keyword in node.keywords]
    elif isinstance(node, ast.Assign):
        given = [(dotted(target).rpartition(".")[2], node.value) for target in node.targets]
    elif isinstance(node, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else "" for key in node.keys]
        given = list(zip(keys, node.values, strict=True))
    for name, value in given:
        if isinstance(value, ast.Constant) and value.value is _FLAGS.get(str(name), ...):
            yield f"{name}={value.value}"


def _worth_it(text: str) -> str:
    return text if _TOLD.search(text) else ""


def test_nothing_shipped_runs_data_or_turns_a_protection_off() -> None:
    found = [
        f"{module.relative_to(ROOT)}:{line}: {what}"
        for room in ROOMS
        for module in (ROOT / room).rglob("*.py")
        for line, what in unsafe(ast.parse(_worth_it(module.read_text("utf-8"))))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "written",
    [
        "import pickle",
        "from joblib import load",
        "eval(text)",
        "torch.load(path)",
        "yaml.load(text, Loader=yaml.Loader)",
        "httpx.AsyncClient(verify=False)",
        "aiohttp.TCPConnector(ssl=False)",
        "context.check_hostname = False",
        "context.verify_mode = ssl.CERT_NONE",
        "AutoModel.from_pretrained(x, trust_remote_code=True)",
        "given = {'verify': False}",
        "subprocess.run(words, shell=True)",
        "archive.extractall(folder)",
    ],
)
def test_the_search_finds(written: str) -> None:
    assert list(unsafe(ast.parse(_worth_it(written))))


def test_the_search_finds_no_more_than_that() -> None:
    fine = "ast.literal_eval(text)\nnetwork.eval()\nyaml.safe_load(text)\nrun(shell=False)"
    assert not list(unsafe(ast.parse(fine)))


def _words(node: ast.AST) -> list[str]:
    """The words of a command as it is written, ``sys.executable`` among them."""
    parts: list[ast.expr] = []
    if isinstance(node, ast.List | ast.Tuple):
        parts = node.elts
    elif isinstance(node, ast.Call):
        parts = node.args
    return [str(part.value) if isinstance(part, ast.Constant) else dotted(part) for part in parts]


def test_no_process_of_ours_imports_from_the_current_folder() -> None:
    started = 0
    for room in ROOMS:
        for module in (ROOT / room).rglob("*.py"):
            text = module.read_text("utf-8")
            for node in ast.walk(ast.parse(text)) if "sys.executable" in text else ():
                words = _words(node)
                if "sys.executable" in words and words[-1] != "sys.executable":
                    after = words[words.index("sys.executable") + 1]
                    assert after == "-P", f"{module.relative_to(ROOT)}:{node.lineno}"  # type: ignore[attr-defined]
                    started += 1
    assert started >= 8
