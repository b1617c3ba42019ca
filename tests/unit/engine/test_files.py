"""What is no plain file, has no end, or unpacks to too much is refused before it is read."""

from __future__ import annotations

import io
import os
import re
import signal
import socket
import zipfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard

from evalbench.engine import files
from evalbench.engine.benchmark import DataSource
from evalbench.engine.benchmarks.code_reasoning import data as code_data
from evalbench.engine.benchmarks.custom.file import is_custom, read_file
from evalbench.engine.benchmarks.custom.rows import read_items
from evalbench.engine.benchmarks.mt_bench import data as mt_bench_data
from evalbench.engine.benchmarks.spec_adherence import data as spec_data
from evalbench.engine.calls.options import Option
from evalbench.engine.config.env_file import read_env_file
from evalbench.engine.config.spec import load_suite, make_spec
from evalbench.engine.cost.price_file import read_prices
from evalbench.engine.data import parquet_pages
from evalbench.engine.data.reading import read_json, read_rows
from evalbench.engine.errors import DataError, EvalbenchError, JournalError, UsageError
from evalbench.engine.files import (
    MB,
    check_unpacked,
    lines_of,
    parse_json,
    read_plain,
    read_toml,
)
from evalbench.engine.formats.full.reader import import_whole
from evalbench.engine.formats.inspect import reader as inspect_log
from evalbench.engine.formats.lm_eval import reader as lm_eval
from evalbench.engine.formats.yaml_configs import read_config
from evalbench.engine.journal import JournalReader
from evalbench.engine.runs.folder import RunFolder, all_runs, make_run
from evalbench.tui.cli.main import main
from evalbench.tui.state.preferences import load_preferences, preferences_file
from evalbench.tui.state.theme_files import theme_files, themes_dir

SOON_S = 120


@pytest.fixture(autouse=True)
def not_for_ever() -> Iterator[None]:
    """Ends a test that waits for a pipe."""

    def late(*_: object) -> None:
        raise TimeoutError("it hangs")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SOON_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    # Its whole path may not be longer than a hundred letters or so.
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(path.name)
    finally:
        os.chdir(here)


NO_FILES: dict[str, Callable[[Path], None]] = {
    "a named pipe": _pipe,
    "a socket": _socket,
    "a folder": lambda path: path.mkdir(),
    "a link to a device without end": lambda path: path.symlink_to("/dev/zero"),
    "a link to a file that the kernel makes up": lambda path: path.symlink_to("/proc/self/mem"),
}
MADE_UP = "a link to a file that the kernel makes up"


@pytest.fixture(params=list(NO_FILES))
def kind(request: pytest.FixtureRequest) -> str:
    """One kind of what is no file."""
    if request.param == MADE_UP and not Path("/proc/self/mem").exists():
        pytest.skip("there is no /proc here")
    return str(request.param)


def _import_whole(path: Path) -> Any:
    import asyncio

    return asyncio.run(import_whole(path))


READERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "a table": ("x.jsonl", lambda path: list(read_rows(path))),
    "a CSV table": ("x.csv", lambda path: list(read_rows(path))),
    "a Parquet table": ("x.parquet", lambda path: list(read_rows(path))),
    "a JSON file": ("x.json", read_json),
    "a custom benchmark": ("x.toml", read_file),
    "a suite": ("x.toml", load_suite),
    "a configuration": ("x.yaml", read_config),
    "prices": ("prices.toml", read_prices),
    "keys": (".env", read_env_file),
    "an exported run": ("x.json", _import_whole),
    "a log": ("x.eval", inspect_log.read_log),
    "samples": ("samples_x.jsonl", lm_eval.read_samples),
    "a specification": ("x.jsonl", spec_data.read_spec),
    "answers": ("x.jsonl", mt_bench_data.read_answers),
    "problems": ("x.json", lambda path: list(code_data._path_rows(path))),
    "a text": ("x.txt", lambda path: Option("x", str, None, "", path="text").parse(str(path))),
    "a journal": ("journal.db", JournalReader),
}


@pytest.mark.parametrize("reader", list(READERS))
def test_what_is_no_file_is_refused(reader: str, kind: str, tmp_path: Path, home: Path) -> None:
    name, read = READERS[reader]
    path = tmp_path / name
    NO_FILES[kind](path)
    with pytest.raises(EvalbenchError) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_an_option_that_names_no_file_is_no_custom_benchmark(kind: str, tmp_path: Path) -> None:
    NO_FILES[kind](tmp_path / "x.toml")
    assert not is_custom(tmp_path / "x.toml")


def test_settings_and_themes_that_are_no_files_are_told(kind: str, home: Path) -> None:
    preferences_file().parent.mkdir(parents=True)
    NO_FILES[kind](preferences_file())
    (problem,) = load_preferences().problems
    assert "cannot be read" in problem
    themes_dir().mkdir()
    NO_FILES[kind](themes_dir() / "mine.toml")
    (own,) = (theme for theme in theme_files() if theme.own)
    assert own.problem


@pytest.mark.parametrize("file", ["status.json", "spec.json", "journal.db"])
def test_a_run_whose_files_are_none_is_listed_as_unreadable(
    file: str, kind: str, home: Path
) -> None:
    folder, other = (make_run(make_spec("quickstart", "local/smollm2-135m-instruct")) for _ in "ab")
    (folder.path / file).unlink(missing_ok=True)
    NO_FILES[kind](folder.path / file)
    out, err = _main("runs")
    assert err == ""
    assert other.id in out
    assert f"{folder.id} cannot be read: {file}: it is " in out
    assert f"rm -r {folder.path}" in out
    told = map(orjson.loads, _main("runs", "--json")[0].splitlines())
    states = {line["id"]: line["state"] for line in told}
    assert states[folder.id] == "unreadable"
    assert states[other.id] != "unreadable"
    for words in (("show",), ("report",), ("export", "-o", "x")):
        _, err = _main(words[0], folder.id, *words[1:])
        assert "crashed" not in err
    assert len(all_runs()) == 2


def test_commands_that_are_no_files_are_cleared_away(kind: str, home: Path) -> None:
    folder = make_run(make_spec("quickstart", "local/smollm2-135m-instruct"))
    folder.command("stop")
    NO_FILES[kind](folder.path / "commands" / "0.json")
    assert folder.take_commands() == [{"do": "stop"}]
    assert folder.take_commands() == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"do": 5}', "do should be a text"),
        (b"[]", "it should be an object"),
        (b'{"do": "budget", "value": true}', "value should be"),
        (b'{"do": "budget", "value": -1}', "value should be"),
    ],
)
def test_a_command_that_was_written_by_hand_is_told(body: bytes, said: str, home: Path) -> None:
    folder = make_run(make_spec("quickstart", "local/smollm2-135m-instruct"))
    folder.command("stop")
    (folder.path / "commands" / "9.json").write_bytes(body)
    stop, odd = folder.take_commands()
    assert stop == {"do": "stop"}
    assert odd["do"] == "unreadable"
    assert said in odd["value"]


def test_fields_of_a_command_that_nobody_asked_for_are_left_out(home: Path) -> None:
    folder = make_run(make_spec("quickstart", "local/smollm2-135m-instruct"))
    folder.command("stop", kind="x")
    (folder.path / "commands" / "9.json").write_bytes(b'{"do": "pause", "self": 1}')
    assert folder.take_commands() == [{"do": "stop"}, {"do": "pause"}]


def _main(*words: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        main(words)
    return out.getvalue(), err.getvalue()


# -- sizes and depths -----------------------------------------------------------------------------


def test_a_file_without_a_sensible_size_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    with path.open("wb") as file:
        file.truncate(files.WHOLE + 1)  # takes no room
    with pytest.raises(DataError, match="more than 1024 MB"):
        read_json(path)
    with path.open("rb") as file, pytest.raises(OSError, match="a line has more than"):
        list(lines_of(file, path, 5 * MB))


def test_a_file_of_exactly_the_size_is_read(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert read_plain(tmp_path / "x", 3) == b"abc"
    with pytest.raises(OSError, match="more than"):
        read_plain(tmp_path / "x", 2)


@pytest.mark.parametrize("depth", [101, 500, 1000, 5000, 100_000])
@pytest.mark.parametrize(("opens", "closes"), [("[", "]"), ('{"a":', "}")])
def test_json_that_is_too_deep_is_none(depth: int, opens: str, closes: str) -> None:
    with pytest.raises(orjson.JSONDecodeError):
        parse_json(f"{opens * depth}1{closes * depth}".encode())
    assert parse_json(f"{opens * 100}1{closes * 100}".encode())


@pytest.mark.parametrize("text", ["a = " + "[" * 5000 + "]" * 5000, "a." * 3000 + "b = 1"])
def test_toml_that_is_too_deep_is_none(text: str, tmp_path: Path, home: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match="nested"):
        read_toml(path)
    for read in (load_suite, read_file, read_prices):
        with pytest.raises(EvalbenchError, match="nested"):
            read(path)
    preferences_file().parent.mkdir(parents=True)
    path.rename(preferences_file())
    assert "nested" in load_preferences().problems[0]


LAUGHS = "a0: &a0 [x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)
MERGES = "a0: &a0 {x: 1}\n" + "".join(
    f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 12)
)


@pytest.mark.share(3)
@pytest.mark.parametrize(
    "text",
    [
        LAUGHS, MERGES, "models: &a [*a]", "models: " + "[" * 5000, "a: " + "9" * 5000,
        "models: {a: 1}", "models: {x/y: {max_new_tokens: [1]}}", "models: 5", "judge: [1]",
        "judge: {model: m, temperature: {}}\nmodels: {x/y: {}}", "? [1, 2]\n: 3", "models: {1: {}}",
        "candidate_generation_dirs: [1]", "candidate_generation_dirs: x",
        "evaluation: 5\nmodels: {x/y: {}}",
    ],
)  # fmt: skip
def test_a_configuration_that_is_none_is_refused_in_words(
    text: str, tmp_path: Path, home: Path
) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(EvalbenchError) as caught:
        read_config(path)
    assert len(str(caught.value)) < 2000


def test_what_is_packed_may_be_large_or_dense_but_not_both() -> None:
    check_unpacked(200 * MB, 1)
    check_unpacked(2000 * MB, 10 * MB)
    with pytest.raises(ValueError, match="unpack to"):
        check_unpacked(300 * MB, 50_000)


# -- archives -------------------------------------------------------------------------------------

HEAD = orjson.dumps({"eval": {"task": "tiny", "model": "m"}})
SAMPLE = orjson.dumps({"id": 1, "epoch": 1, "input": "q", "target": "a", "scores": {}})


def log(path: Path, members: dict[str, bytes], how: int = zipfile.ZIP_DEFLATED) -> Path:
    """A packed log."""
    with zipfile.ZipFile(path, "w", how) as packed:
        packed.writestr("header.json", HEAD)
        for name, body in members.items():
            packed.writestr(name, body)
    return path


def test_a_whole_log_is_read(tmp_path: Path) -> None:
    recorded = inspect_log.read_log(log(tmp_path / "a.eval", {"samples/1_epoch_1.json": SAMPLE}))
    assert len(recorded.items) == 1


def test_a_member_that_says_it_is_large_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspect_log, "RECORD", MB)
    path = log(tmp_path / "a.eval", {"samples/1.json": bytes(MB + 1)})
    with pytest.raises(DataError, match="it unpacks to"):
        inspect_log.read_log(path)


def test_members_that_are_large_together_are_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_UNPACKED", 2 * MB)
    blank = SAMPLE + b" " * MB
    path = log(tmp_path / "a.eval", {f"samples/{n}.json": blank for n in range(10)})
    assert path.stat().st_size < 20_000
    with pytest.raises(DataError, match="unpack to"):
        inspect_log.read_log(path)


def _patch(path: Path, change: Callable[[bytearray, int], None]) -> None:
    """Change the entry of the last member in the list at the end of an archive."""
    body = bytearray(path.read_bytes())
    change(body, body.rindex(b"PK\x01\x02"))
    path.write_bytes(body)


def test_a_member_that_lies_about_its_size_is_not_believed(tmp_path: Path) -> None:
    path = log(tmp_path / "a.eval", {"samples/1.json": SAMPLE + b" " * MB})

    def smaller(body: bytearray, at: int) -> None:
        body[at + 24 : at + 28] = (100).to_bytes(4, "little")

    _patch(path, smaller)
    with pytest.raises(DataError, match=r"samples/1\.json in it is damaged|no whole"):
        inspect_log.read_log(path)


def test_a_member_packed_with_zstd_is_held_to_what_it_says(tmp_path: Path) -> None:
    packed = zstandard.ZstdCompressor().compress(SAMPLE + b" " * MB)
    path = log(tmp_path / "a.eval", {"samples/1.json": packed}, zipfile.ZIP_STORED)

    def as_zstd(body: bytearray, at: int) -> None:
        body[at + 10 : at + 12] = (93).to_bytes(2, "little")

    _patch(path, as_zstd)
    with pytest.raises(DataError, match="more than it says"):
        inspect_log.read_log(path)


def test_a_member_that_is_locked_is_told(tmp_path: Path) -> None:
    path = log(tmp_path / "a.eval", {"samples/1.json": SAMPLE})

    def locked(body: bytearray, at: int) -> None:
        body[at + 8] |= 1

    _patch(path, locked)
    with pytest.raises(DataError, match="encrypted"):
        inspect_log.read_log(path)


@pytest.mark.parametrize("name", ["../../out.json", "/tmp/out.json", "samples/../../x.json"])
def test_names_and_links_in_an_archive_lead_nowhere(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.eval"
    link = zipfile.ZipInfo("samples/link.json")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("header.json", HEAD)
        packed.writestr(name, SAMPLE)
        packed.writestr(link, "/etc/passwd")
    before = set(tmp_path.rglob("*"))
    with pytest.raises(DataError):  # The link's target is no JSON, and is not followed.
        inspect_log.read_log(path)
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz", ".jsonl.gz", ".zst", ".xz", ".zip"])
def test_other_archives_are_refused(suffix: str, tmp_path: Path, home: Path) -> None:
    path = tmp_path / f"x{suffix}"
    path.write_bytes(b"\x1f\x8b" + bytes(100))
    for read in (lambda one: list(read_rows(one)), read_json, inspect_log.read_log, _import_whole):
        with pytest.raises(EvalbenchError):
            read(path)


# -- Parquet --------------------------------------------------------------------------------------


def parquet(path: Path, column: Any, **how: Any) -> Path:
    """A table of one column."""
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({"a": column}), path, compression="zstd", **how)
    return path


def test_a_column_that_says_one_text_of_all_rows_is_read_as_far_as_that_is_sensible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow as pa

    monkeypatch.setattr(files, "_UNPACKED", 2 * MB)
    words = pa.array(["a" * 50_000])
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 400, pa.int32()), words)
    path = parquet(tmp_path / "x.parquet", column)
    assert path.stat().st_size < 50_000
    rows = read_rows(path)
    assert next(rows)[1]["a"] == words[0].as_py()
    with pytest.raises(DataError, match="unpack to"):
        list(rows)


def test_a_list_without_end_in_one_row_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_pages, "_MOST_VALUES", 50_000)
    path = parquet(tmp_path / "x.parquet", [[0] * 50_001])
    assert path.stat().st_size < 2000
    with pytest.raises(DataError, match="column of lists"):
        list(read_rows(path))


def test_a_page_that_is_too_large_is_not_unpacked_whatever_the_footer_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_pages, "WHOLE", MB)
    path = parquet(tmp_path / "x.parquet", ["a" * (MB + 1)], use_dictionary=False)
    with pytest.raises(DataError, match="a row may come to"):
        list(read_rows(path))


@pytest.mark.parametrize(
    ("column", "all_fit"),
    [
        (["a" * MB] * 50, False),
        # Lists of a thousand references to a few texts of a thousand letters.
        ([["a" * 1000, "b" * 1000] * 500] * 50, False),
        ([["a", "b"] * 500] * 50, True),
        ([[0.5] * 1000] * 50, True),
    ],
)
def test_no_more_rows_are_unpacked_at_once_than_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, column: list[Any], all_fit: bool
) -> None:
    import pyarrow.parquet

    monkeypatch.setattr(parquet_pages, "_AT_ONCE", 4 * MB)
    path = parquet(tmp_path / "x.parquet", column)
    with path.open("rb") as file:
        some = parquet_pages.rows_at_once(file, pyarrow.parquet.read_metadata(path))
    assert some >= 50 if all_fit else some <= 4


def test_an_honest_table_is_read_whole(tmp_path: Path) -> None:
    import pyarrow as pa

    rows = [[str(n), f"{n} and more"] for n in range(70_000)]
    path = parquet(tmp_path / "x.parquet", pa.array(rows), data_page_version="2.0")
    assert [row["a"] for _, row in read_rows(path)] == rows


def test_a_table_that_is_cut_anywhere_is_refused(tmp_path: Path) -> None:
    import pyarrow as pa

    path = parquet(tmp_path / "x.parquet", pa.array(["a", "b"] * 100))
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            list(read_rows(path))
        except DataError:
            continue


# -- workbooks -----------------------------------------------------------------------------------


def workbook(path: Path, before: bytes, after: bytes) -> Path:
    """A workbook of one row, with other bytes in its sheet."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for cells in (["question"], ["a"]):
        book.active.append(cells)
    book.save(path)
    with zipfile.ZipFile(path) as packed:
        members = {one: packed.read(one) for one in packed.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in members.items():
            data = re.sub(rb"<dimension [^>]*>", b"", data)
            packed.writestr(name, data.replace(before, after) if "sheet1" in name else data)
    return path


def test_a_workbook_that_unpacks_to_gigabytes_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_UNPACKED", MB)
    path = workbook(tmp_path / "x.xlsx", b"<t>a</t>", b"<t>" + b"a" * 8 * MB + b"</t>")
    assert path.stat().st_size < 20_000
    with pytest.raises(DataError, match="unpack to"):
        list(read_rows(path))


def test_a_workbook_that_names_a_row_far_away_is_not_gone_through(tmp_path: Path) -> None:
    path = workbook(tmp_path / "x.xlsx", b'r="2"', b'r="999999999999"')
    with pytest.raises(DataError, match="the last that Excel has"):
        list(read_rows(path))


# -- benchmarks of one's own ----------------------------------------------------------------------


def custom(folder: Path, template: str, row: dict[str, Any], **more: str) -> list[Any]:
    """The items of a benchmark of one row."""
    lines = [f"{name} = {orjson.dumps(value).decode()}" for name, value in more.items()]
    (folder / "b.toml").write_text(
        '[benchmark]\ndata = "b.jsonl"\n[answer]\ntarget = "answer"\n[prompt]\n'
        + f"template = {orjson.dumps(template).decode()}\n" + "\n".join(lines)
    )  # fmt: skip
    (folder / "b.jsonl").write_bytes(orjson.dumps({"answer": "x", **row}))
    path = folder / "b.toml"
    return list(read_items(path, read_file(path), DataSource(None, folder)))


CLASHES = (
    "self", "row", "loop", "class", "items", "context", "environment", "super", "caller", "range",
    "dict", "def", "lambda", "args", "kwargs", "varargs", "name", "source", "template", "keys",
)  # fmt: skip


@pytest.mark.share(5)
@pytest.mark.parametrize("name", CLASHES)
def test_a_column_may_be_called_as_anything(name: str, tmp_path: Path) -> None:
    template = f"{{{{ {name} }}}}"
    if name != "loop":
        template += f"{{% for {name} in ['z'] %}}{{{{ {name} }}}}{{% endfor %}}"
    (item,) = custom(tmp_path, template, {name: "said", "other": "o"}, system=f"{{{{ {name} }}}}!")
    assert item.inputs["prompt"] == ("said" if name == "loop" else "saidz")
    assert item.inputs["system"] == "said!"
    assert item.inputs["row"][name] == "said"


@pytest.mark.share(3)
@pytest.mark.parametrize("name", ["if", "not", "True", "none", "two words", "1st", "", "é-ß"])
def test_a_column_that_cannot_be_named_is_reached_by_its_row(name: str, tmp_path: Path) -> None:
    (item,) = custom(tmp_path, f"{{{{ row[{name!r}] }}}}", {name: "said"})
    assert item.inputs["prompt"] == "said"


DEEP = (
    "{{ " + "(" * 3000 + "x" + ")" * 3000 + " }}",
    "{{ " + "(" * 150 + "x" + ")" * 150 + " }}",
    "{{ " + "[" * 3000 + "]" * 3000 + " }}",
    "{{ " + "-" * 3000 + "1 }}",
    "{{ " + "not " * 3000 + "x }}",
    "{{ x" + "|upper" * 3000 + " }}",
    "{% if x %}" * 3000 + "{% endif %}" * 3000,
    "{% for x in x %}" * 150 + "{% endfor %}" * 150,
    "{{ x" + ".a" * 3000 + " }}",
)


@pytest.mark.share(3)
@pytest.mark.parametrize("template", DEEP)
@pytest.mark.parametrize("place", ["template", "system"])
def test_a_template_that_is_nested_too_deeply_is_told(
    template: str, place: str, tmp_path: Path
) -> None:
    given = (template, {}) if place == "template" else ("{{ x }}", {"system": template})
    with pytest.raises(DataError) as caught:
        custom(tmp_path, given[0], {"x": "1"}, **given[1])
    assert len(str(caught.value)) < 5000


@pytest.mark.parametrize(
    "line",
    ["max_tokens = 1180591620717411303424", "temperature = nan", "temperature = inf",
     "max_tokens = true", "stop = [1]", "images = {}", 'system = 5'],
)  # fmt: skip
def test_a_number_that_no_run_could_keep_is_refused(line: str, tmp_path: Path) -> None:
    path = tmp_path / "b.toml"
    path.write_text(f'[prompt]\ntemplate = "x"\n{line}\n[answer]\ntarget = "a"')
    with pytest.raises(DataError):
        read_file(path)


def test_a_picture_of_billions_of_pixels_is_refused(tmp_path: Path) -> None:
    import struct
    import zlib

    from evalbench.engine.data.images import Unreadable, encode

    def chunk(name: bytes, body: bytes) -> bytes:
        check = zlib.crc32(name + body)
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", check)

    head = struct.pack(">IIBBBBB", 50_000, 50_000, 8, 2, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(10**6)))
    bomb += chunk(b"IEND", b"")
    with pytest.raises(Unreadable):
        encode(bomb, 1000)
    (tmp_path / "b.png").write_bytes(bomb)
    path = tmp_path / "b.toml"
    path.write_text(
        '[benchmark]\ndata = "b.jsonl"\n[prompt]\ntemplate = "x"\nimages = "i"\n'
        '[answer]\ntarget = "i"'
    )
    (tmp_path / "b.jsonl").write_text('{"i": "b.png"}')
    with pytest.raises(DataError, match="50,000 × 50,000 pixels"):
        list(read_items(path, read_file(path), DataSource(None, tmp_path)))


def test_an_edited_journal_of_another_kind_is_told(home: Path) -> None:
    folder = make_run(make_spec("quickstart", "local/smollm2-135m-instruct"))
    folder.journal.write_bytes(b"SQLite format 3\x00" + bytes(4080))
    with pytest.raises(JournalError):
        JournalReader(RunFolder(folder.path).journal)


def test_a_folder_is_looked_through_without_what_tools_keep_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The folder itself may be inside one of those.
    folder = tmp_path / ".cache" / "node_modules" / "tasks"
    (folder / "pyvenv.cfg").parent.mkdir(parents=True)
    ours = ["a.yaml", "sub/b.yaml", "sub/deep/c.py", "pyvenv.cfg"]
    theirs = [".git/x", "sub/node_modules/x", "__pycache__/x.pyc", "env/pyvenv.cfg", "env/lib/x"]
    for name in ours + theirs:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    (folder / "sub" / "round").symlink_to(folder)
    (folder / "sub" / "gone").symlink_to(folder / "missing")
    os.mkfifo(folder / "pipe")
    found = [str(path.relative_to(folder)) for path in files.files_below(folder)]
    assert found == sorted(ours)
    monkeypatch.setattr(files, "MOST_FILES", 3)
    with pytest.raises(UsageError, match="more than 3 files below"):
        files.files_below(folder)
