"""custom: a TOML file and a table become a benchmark; mistakes in them are told by name and row."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine import sandbox
from evalbench.engine.benchmark import DataSource, Sample, Score, ScoringTimeout, sample_ids
from evalbench.engine.benchmarks.custom import child_work
from evalbench.engine.benchmarks.custom import example as custom_example
from evalbench.engine.benchmarks.custom.benchmark import Custom
from evalbench.engine.benchmarks.custom.file import CustomFile, is_custom, read_file
from evalbench.engine.calls import MediaPart, Outcome, Prompt, Reply
from evalbench.engine.calls.options import parse_options
from evalbench.engine.config.spec import make_spec
from evalbench.engine.cost.prices import PriceBook
from evalbench.engine.data.dataset import prepare, prepared_path, read_header
from evalbench.engine.errors import DataError, SandboxMissing, SpecError
from evalbench.engine.limited_process import LimitedProcess
from evalbench.engine.preflight.estimate import Draw, estimate_samples
from evalbench.engine.scoring.tally import Tally

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file and its table; returns the file."""

    def writing(
        body: str, table: str = "question,answer\nWhat is 6 × 7?,42\n", name: str = "q.csv"
    ) -> Path:
        (tmp_path / name).write_text(table)
        file = tmp_path / "mine.toml"
        file.write_text(f'[benchmark]\ndata = "{name}"\n{body}')
        return file

    return writing


def made(file: Path, shared: Any = None, **options: Any) -> Custom:
    given = {"file": str(file), **options}
    bench = Custom(parse_options(Custom.options, given, "custom"), shared=shared)
    bench.judges = ("judge/x/one", "judge/x/two")
    return bench


def prepared(file: Path, data: Path | None = None, **options: Any) -> tuple[Custom, list[Sample]]:
    """The benchmark as an engine has it, without the file; and its samples."""
    found = made(file).prepare(DataSource(data, file.parent))
    samples = list(sample_ids(found.items))
    shared = json.loads(json.dumps(found.shared))
    return made(file, shared, **options), samples


class Asking:
    def __init__(self, *says: str) -> None:
        self.says = list(says)
        self.asked: list[tuple[str, Prompt]] = []

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0
    ) -> Reply:
        self.asked.append((role, prompt))
        return Reply(self.says.pop(0), stop_reason="stop")

    async def many(self, asks: Any) -> list[Reply]:
        return [await self(role, prompt, step=step) for role, prompt, step in asks]


def scored(bench: Custom, sample: Sample, *says: str) -> Score:
    return asyncio.run(bench.solve(sample, Asking(*says)))


PROMPT = '[prompt]\ntemplate = "{{ question }}"\n'


# -- the example -----------------------------------------------------------------


def test_the_example_is_a_benchmark(tmp_path: Path) -> None:
    file = tmp_path / "try.toml"
    for name, body in custom_example.files_of("choice", "try").items():
        (tmp_path / name).write_bytes(body)
    assert is_custom(file)
    bench, samples = prepared(file)
    assert len(samples) == 6
    assert samples[0].tags == {"group": "space"}
    ask = Asking("B")
    score = asyncio.run(bench.solve(samples[0], ask))
    assert score.values == {"accuracy": 1.0, "accuracy_strict": 1.0}
    text = ask.asked[0][1].messages[0].text
    assert "A) Venus\nB) Mercury\nC) Mars" in text
    assert {sample.gold for sample in samples} == {0, 1, 2}


RIGHT = {
    "choice": "B",
    "number": "It is 22.\n#### 22",
    "text": "Paris",
    "judged": "Happy birthday!",
    "chat": "You need 28 inches.",
    "pictures": "Red.",
    "code": "It adds them up.\nOutput: 10",
    "program": "```python\ndef add(a, b):\n    return a + b\n```",
}


@pytest.mark.parametrize(
    "template",
    [
        pytest.param(one, marks=pytest.mark.sandbox if one == "program" else ())
        for one in custom_example.TEMPLATES
    ],
)
def test_every_template_is_a_benchmark_that_a_right_reply_passes(
    tmp_path: Path, template: str
) -> None:
    for name, body in custom_example.files_of(template, "try").items():
        (tmp_path / name).write_bytes(body)
    bench, samples = prepared(tmp_path / "try.toml")
    score = scored(bench, samples[0], RIGHT[template], "[[10]]", "[[10]]")
    assert score.outcome is Outcome.OK
    assert set(score.values.values()) <= {0.0, 1.0, 10.0}
    tally = Tally()
    tally.add(samples[0].tags, score.outcome, score.values)
    assert bench.metrics(tally)[0].value in (1.0, 10.0)


def test_what_a_run_keeps_of_its_file_is_read_once(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, (sample,) = prepared(write(PROMPT + '[answer]\ntarget = "answer"\n'))
    reading = CustomFile.from_json
    read: list[Any] = []

    def counted(value: Any) -> CustomFile:
        read.append(value)
        return reading(value)

    monkeypatch.setattr(CustomFile, "from_json", counted)
    found = [scored(bench, sample, "42").values["accuracy"] for _ in range(3)]
    assert found == [1.0, 1.0, 1.0]
    assert read == [bench.shared]


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("reply", "right", "note"),
    [
        ("```python\ndef f(x):\n    return x + 1\n```", 1, "passed"),
        ("def f(x): return x + 1", 1, "passed"),
        ("```python\ndef f(x):\n    return 2\n```", 0, "failed: AssertionError"),
        ("```python\ndef g():\n    pass\n```", 0, "failed: NameError: name 'f' is not defined"),
        ("```python\ndef f(x):\n    while True: pass\n```", 0, "stopped: too much time"),
        ("```python\nimport os\nos.write(2, b'passed')\nos._exit(0)\n```", 0, "failed: passed"),
        ("I will not.", 0, ""),
    ],
)
def test_programs_are_run_with_the_tests_of_their_row(
    tmp_path: Path, reply: str, right: int, note: str
) -> None:
    (tmp_path / "own.jsonl").write_text(
        json.dumps({"q": "Write f.", "tests": ["assert f(1) == 2", "assert f(2) == 3"]})
    )
    (tmp_path / "own.toml").write_text(
        '[benchmark]\ndata = "own.jsonl"\n[prompt]\ntemplate = "{{ q }}"\n'
        '[answer]\ntarget = "tests"\nscorer = "program"\nseconds = 1.5\n'
    )
    bench, [sample] = prepared(tmp_path / "own.toml")
    score = scored(bench, sample, reply)
    assert (score.values, score.note) == ({"accuracy": right}, note)
    assert score.outcome is (Outcome.OK if note else Outcome.UNPARSED)


async def test_programs_are_not_run_without_a_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, body in custom_example.files_of("program", "try").items():
        (tmp_path / name).write_bytes(body)
    monkeypatch.setattr(sandbox, "_where", lambda _: None)
    bench, samples = prepared(tmp_path / "try.toml")
    with pytest.raises(SandboxMissing, match="apt install bubblewrap"):
        await bench.check()
    with pytest.raises(SandboxMissing):
        await bench.solve(samples[0], Asking(RIGHT["program"]))
    bench, samples = prepared(tmp_path / "try.toml", unsafe_run_code=True)
    await bench.check()
    assert (await bench.solve(samples[0], Asking(RIGHT["program"]))).note == "passed"


# -- scorers ---------------------------------------------------------------------


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("answer", "gold", "reply", "lenient", "strict"),
    [
        ('scorer = "exact"', "Paris", "Paris", 1, 1),
        ('scorer = "exact"', "Paris", "The answer is paris.", 1, 0),
        ('scorer = "exact"', "Paris", "London", 0, 0),
        ('scorer = "contains"', "blue whale", "It is the Blue  Whale, of course", 1, 0),
        ('scorer = "numeric"', "42", "6 × 7 = 42", 1, 0),
        ('scorer = "numeric"', "42", "41.9", 0, 0),
        ('scorer = "numeric"\ntolerance = 0.01', "42", "41.9", 1, 0),
        ("scorer = \"regex\"\npattern = 'Answer: (\\w+)'", "yes", "Hm. Answer: yes", 1, 0),
        ("scorer = \"regex\"\npattern = 'Answer: (\\w+)'", "yes", "yes", 0, 1),
    ],
)
def test_scorers(
    write: Write, answer: str, gold: str, reply: str, lenient: int, strict: int
) -> None:
    file = write(f'{PROMPT}[answer]\ntarget = "answer"\n{answer}\n', f"question,answer\nq,{gold}\n")
    bench, (sample,) = prepared(file)
    values = scored(bench, sample, reply).values
    assert (values["accuracy"], values["accuracy_strict"]) == (lenient, strict)


@pytest.mark.parametrize("cell", ["red", "A", "a", "0"])
def test_a_choice_is_named_by_text_letter_or_number(write: Write, cell: str) -> None:
    file = write(
        PROMPT + '[answer]\ntarget = "answer"\nscorer = "choice"\nchoices = ["one", "two"]\n',
        f"question,one,two,answer\nq,red,blue,{cell}\n",
    )
    assert prepared(file)[1][0].gold == 0


def test_choices_may_be_one_column_with_lists(write: Write) -> None:
    row = {"question": "q", "options": ["x", "y", "z"], "answer": "z"}
    file = write(
        PROMPT + '[answer]\ntarget = "answer"\nscorer = "choice"\nchoices = ["options"]\n',
        json.dumps(row) + "\n",
        "q.jsonl",
    )
    bench, (sample,) = prepared(file)
    assert scored(bench, sample, "C").values["accuracy"] == 1


JUDGED = """\
[prompt]
template = "{{ question }}"
[answer]
scorer = "judge"
[judge]
rubric = "Is {{ reply }} the answer to {{ question }} ({{ answer }})?"
low = 0
high = 5
"""


def test_judges_rate_by_the_rubric(write: Write) -> None:
    file = write(JUDGED)
    assert made(file).needs_judge()
    bench, (sample,) = prepared(file)
    assert bench.needs_judge()
    ask = Asking("41", "Rating: [[4]]", "[[9]]")
    score = asyncio.run(bench.solve(sample, ask))
    assert [role for role, _ in ask.asked] == ["candidate", "judge/x/one", "judge/x/two"]
    assert "Is 41 the answer to What is 6 × 7? (42)?" in ask.asked[1][1].messages[0].text
    assert score.values == {"rating/x/one": 4.0}
    assert score.outcome is Outcome.UNPARSED
    tally = Tally()
    tally.add({}, score.outcome, score.values)
    head = bench.metrics(tally)[0]
    assert (head.name, head.value, head.n) == ("rating", 4.0, 1)


def test_what_a_model_says_is_no_template(write: Write) -> None:
    bench, (sample,) = prepared(write(JUDGED))
    ask = Asking("{{ 7 * 6 }} {% raw %}", "[[1]]", "[[1]]")
    asyncio.run(bench.solve(sample, ask))
    assert "Is {{ 7 * 6 }} {% raw %} the answer" in ask.asked[1][1].messages[0].text


def test_templates_reach_nothing_but_columns(write: Write) -> None:
    body = '[prompt]\ntemplate = "{{ question.__class__.__mro__ }}"\n[answer]\ntarget = "answer"\n'
    with pytest.raises(DataError, match=r"does not fit \[prompt\] template"):
        prepared(write(body))


DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_images_are_sent(write: Write, tmp_path: Path) -> None:
    (tmp_path / "dot.png").write_bytes(DOT)
    body = PROMPT + 'images = ["picture"]\n[answer]\ntarget = "answer"\n'
    bench, (sample,) = prepared(write(body, "question,picture,answer\nq,dot.png,yes\n"))
    ask = Asking("yes")
    asyncio.run(bench.solve(sample, ask))
    (image, _) = ask.asked[0][1].messages[0].parts
    assert isinstance(image, MediaPart)
    assert (image.media_type, image.data) == ("image/png", DOT)
    assert bench.needs() == {"generate", "images"}
    without, _ = prepared(write(PROMPT + '[answer]\ntarget = "answer"\n'))
    assert without.needs() == {"generate"}


def test_an_image_that_changed_is_another_data_set(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALBENCH_HOME", str(tmp_path / "home"))
    # Bytes after the end of a picture belong to its file, but to no picture.
    (tmp_path / "dot.png").write_bytes(DOT + b"one")
    body = PROMPT + 'images = ["picture"]\n[answer]\ntarget = "answer"\n'
    file = write(body, "question,picture,answer\nq,dot.png,yes\n")
    spec = make_spec("custom", "anthropic/claude-haiku-4-5", options={"file": str(file)})
    before = read_header(prepare(spec, tmp_path / "cache")).data_hash
    (tmp_path / "dot.png").write_bytes(DOT + b"two")
    assert read_header(prepare(spec, tmp_path / "cache")).data_hash != before


# -- mistakes --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ('[answer]\ntarget = "answer"', "there is no prompt"),
        (PROMPT, "right answer is not named"),
        (PROMPT + '[answers]\ntarget = "x"', r"no table \[answers\]"),
        (PROMPT + '[answer]\ntraget = "x"', "has no 'traget'"),
        (PROMPT + '[answer]\ntarget = "answer"\nscorer = "fuzzy"', "no scorer 'fuzzy'"),
        (PROMPT + '[answer]\ntarget = "answer"\nscorer = "choice"', "options of a choice"),
        (PROMPT + '[answer]\ntarget = "answer"\nscorer = "regex"\npattern = "x"', "no group"),
        (PROMPT + '[answer]\ntarget = "answer"\nscorer = "regex"\npattern = "("', "no regular"),
        (PROMPT + '[answer]\nscorer = "judge"', "needs a rubric"),
        (PROMPT + 'max_tokens = "many"\n[answer]\ntarget = "answer"', "max_tokens is a whole"),
        (PROMPT + 'max_tokens = 0\n[answer]\ntarget = "answer"', "out of range"),
        ('[prompt]\ntemplate = "{% if %}"\n[answer]\ntarget = "answer"', "cannot be understood"),
    ],
)
def test_a_mistake_in_the_file_is_explained(write: Write, body: str, told: str) -> None:
    with pytest.raises(DataError, match=told):
        read_file(write(body))


@pytest.mark.parametrize(
    "body",
    [
        '[prompt]\ntemplate = "{{ qestion }}"\n[answer]\ntarget = "answer"',
        PROMPT + '[answer]\ntarget = "anser"',
        PROMPT + '[answer]\ntarget = "answer"\nscorer = "choice"\nchoices = ["question"]',
    ],
)
def test_a_row_that_does_not_fit_is_named(write: Write, body: str) -> None:
    with pytest.raises(DataError, match=r"row 1.*\n  (?:try|why):"):
        prepared(write(body))


def test_without_a_file_it_says_where_to_get_one() -> None:
    bench = Custom(parse_options(Custom.options, {}, "custom"))
    with pytest.raises(SpecError, match="needs the file"):
        bench.prepare(DataSource(None, Path()))


def test_another_table_can_be_given(write: Write, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("question,answer\na,1\nb,2\n")
    file = write(PROMPT + '[answer]\ntarget = "answer"\n')
    assert len(prepared(file, other)[1]) == 2


def test_a_changed_table_is_prepared_anew(write: Write, tmp_path: Path) -> None:
    file = write(PROMPT + '[answer]\ntarget = "answer"\n')
    spec = make_spec("custom", "local/m", options={"file": str(file)})
    before = prepared_path(spec, tmp_path)
    (tmp_path / "q.csv").write_text("question,answer\nWhat is 6 × 8?,48\n")
    assert prepared_path(spec, tmp_path) != before


# -- what somebody else's file can do ----------------------------------------------

OUTSIDE = ("/etc/hostname.png", "../secret.png", "sub/../../secret.png", "link.png")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a file from anywhere lies; a secret lies beside it, and a link leads there."""
    (tmp_path / "secret.png").write_bytes(b"secret")
    (tmp_path / "secret.csv").write_text("question,answer\nsecret,42\n")
    made = tmp_path / "theirs"
    (made / "sub").mkdir(parents=True)
    for kind in ("png", "csv"):
        (made / f"link.{kind}").symlink_to(tmp_path / f"secret.{kind}")
    return made


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_table_names_no_image_outside_of_its_folder(folder: Path, name: str) -> None:
    (folder / "q.csv").write_text(f"question,picture,answer\nq,{name},yes\n")
    body = PROMPT + 'images = ["picture"]\n[answer]\ntarget = "answer"\n'
    (folder / "mine.toml").write_text(f'[benchmark]\ndata = "q.csv"\n{body}')
    with pytest.raises(DataError, match="is outside of"):
        prepared(folder / "mine.toml")


@pytest.mark.parametrize("name", [name.replace(".png", ".csv") for name in OUTSIDE])
def test_a_file_names_no_table_outside_of_its_folder(folder: Path, name: str) -> None:
    body = PROMPT + '[answer]\ntarget = "answer"\n'
    (folder / "mine.toml").write_text(f'[benchmark]\ndata = "{name}"\n{body}')
    with pytest.raises(DataError, match="elsewhere than beside the file"):
        prepared(folder / "mine.toml")
    # What the user names is read wherever it is.
    _, (sample,) = prepared(folder / "mine.toml", folder.parent / "secret.csv")
    assert sample.gold == ["42"]


@pytest.mark.share(3)
@pytest.mark.parametrize(
    "template",
    [
        "{{ question.__class__.__mro__ }}",
        "{{ ''.__class__.__base__.__subclasses__() }}",
        "{{ self.__init__.__globals__ }}",
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{{ lipsum.__globals__['os'].environ }}",
        "{{ question.format.__self__.__class__ }}",
        "{{ '{0.__class__}'.format(question) }}",
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}{{ os }}",
        "{% extends '/etc/passwd' %}",
        "{{ range(10 ** 9) | list }}",
        "{{ environ }}",
    ],
)
def test_a_template_reaches_the_columns_and_nothing_else(write: Write, template: str) -> None:
    quoted = json.dumps(template)
    body = f'[prompt]\ntemplate = {quoted}\n[answer]\ntarget = "answer"\n'
    with pytest.raises(DataError, match=r"does not fit \[prompt\]|cannot be understood|no column"):
        prepared(write(body))


def test_cells_and_replies_are_no_templates(write: Write) -> None:
    body = PROMPT + '[answer]\nscorer = "judge"\n[judge]\nrubric = "Rate {{ reply }}"\n'
    bench, (sample,) = prepared(write(body, "question,answer\n{{ 7 * 7 }},x\n"))
    ask = Asking("{{ 8 * 8 }}", "[[5]]", "[[5]]")
    asyncio.run(bench.solve(sample, ask))
    asked = [message.text for _, prompt in ask.asked for message in prompt.messages]
    assert "{{ 7 * 7 }}" in asked[0]
    assert any("{{ 8 * 8 }}" in text for text in asked[1:])
    assert not any("49" in text or "64" in text for text in asked)


# -- patterns and templates that do not end --------------------------------------


@pytest.fixture
def hurried(in_a_child: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Little time for each piece of work, so that tests do not wait for the usual limit."""
    monkeypatch.setattr(
        child_work, "process", lambda: LimitedProcess(child_work.__name__, seconds=0.3)
    )


ENDLESS = [
    ("^((a+)+)$", "a" * 51 + "!"),
    ("((?:a|a)*)b", "a" * 60),
    ("(a*a*a*a*a*a*a*b)", "a" * 4000),
    ("a*(b)", "a" * 1_000_000),  # nothing in the process itself could interrupt this one
    (r"(?:\w+\s?)+(:)$", "word " * 40),
]


@pytest.mark.share(3)
@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize(("pattern", "reply"), ENDLESS, ids=[one[0] for one in ENDLESS])
def test_a_pattern_without_end_fails_its_sample_and_no_other(
    write: Write, pattern: str, reply: str
) -> None:
    file = write(
        f"{PROMPT}[answer]\ntarget = 'answer'\nscorer = 'regex'\npattern = '''{pattern}'''"
    )
    bench, (sample,) = prepared(file)

    async def both() -> Score:
        with pytest.raises(ScoringTimeout, match=r"scoring took longer than 0\.3 s: the pattern"):
            await bench.solve(sample, Asking(reply))
        return await bench.solve(sample, Asking("nothing of the kind"))

    assert asyncio.run(both()).outcome is Outcome.UNPARSED


@pytest.mark.usefixtures("hurried")
def test_others_go_on_while_a_pattern_is_tried(write: Write) -> None:
    file = write(
        f"{PROMPT}[answer]\ntarget = 'answer'\nscorer = 'regex'\npattern = '''^((a+)+)$'''"
    )
    bench, (sample,) = prepared(file)

    async def turns() -> int:
        scoring = asyncio.create_task(bench.solve(sample, Asking("a" * 51 + "!")))
        count = 0
        while not scoring.done():
            count += 1
            await asyncio.sleep(0.01)
        assert isinstance(scoring.exception(), ScoringTimeout)
        return count

    assert asyncio.run(turns()) > 5


@pytest.mark.usefixtures("in_a_child")
def test_a_sample_that_nobody_waits_for_any_more_disturbs_none(write: Write) -> None:
    file = write(
        f"{PROMPT}[answer]\ntarget = 'answer'\nscorer = 'regex'\npattern = '''^((a+)+)$'''"
    )
    bench, (sample,) = prepared(file)

    async def one_after_the_other() -> Score:
        scoring = asyncio.create_task(bench.solve(sample, Asking("a" * 51 + "!")))
        await asyncio.sleep(0.05)
        scoring.cancel()
        with pytest.raises(asyncio.CancelledError):
            await scoring
        return await bench.solve(sample, Asking("aaa"))

    assert asyncio.run(one_after_the_other()).parsed == {"regex/1": "aaa"}


FILLING = {
    "nested loops": "{% for i in range(99999) %}{% for j in range(99999) %}"
    "{% endfor %}{% endfor %}",
    "a long loop": "{% for i in range(10**9) %}x{% endfor %}",
    "a long text": "{{ 'a' * 10**9 }}",
    "a text somewhat too long": "{{ 'a' * 2 * 10**7 }}",
    "a huge number": "{{ 10**(10**9) }}",
    "a wide format": "{{ '%2000000000d' % 1 }}",
    "a wide field": "{{ 'a'|center(10**10) }}",
    "a list": "{{ [0] * 10**10 }}",
    "doubling": "{% set n = namespace(x='a') %}{% for i in range(99) %}{% set n.x = n.x * 2 %}"
    "{% endfor %}{{ n.x }}",
    "recursion": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
}


@pytest.mark.share(4)
@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("name", list(FILLING))
@pytest.mark.parametrize("place", ["template", "system"])
def test_a_template_without_end_is_told_before_anything_is_asked(
    write: Write, name: str, place: str
) -> None:
    other = "" if place == "template" else 'template = "{{ question }}"\n'
    shown = "{{ question }}" if place == "template" else ""
    file = write(
        f'[prompt]\n{other}{place} = "{shown}{FILLING[name]}"\n[answer]\ntarget = "answer"'
    )
    with pytest.raises(
        DataError, match=rf"row 1: the row does not fit \[prompt\] {place}"
    ) as caught:
        prepared(file)
    assert caught.value.why


@pytest.mark.usefixtures("hurried")
def test_a_row_that_fails_is_named_although_rows_are_rendered_together(write: Write) -> None:
    rows = "\n".join(f"{'a' * 99_999 if n == 70 else n},1" for n in range(1, 90))
    template = "{% if question|length > 9 %}{{ 'a' * 10**9 }}{% endif %}{{ question }}"
    file = write(
        f'[prompt]\ntemplate = "{template}"\n[answer]\ntarget = "answer"',
        f"question,answer\n{rows}\n",
    )
    items = made(file).prepare(DataSource(None, file.parent)).items
    seen: list[str] = []
    with pytest.raises(DataError, match="row 70"):
        seen.extend(item.inputs["prompt"] for item in items)
    assert seen == [str(number) for number in range(1, 90) if number != 70]


@pytest.mark.usefixtures("hurried")
def test_a_rubric_without_end_fails_its_sample(write: Write) -> None:
    rubric = "{{ reply }}{% if reply == 'long' %}{{ 'a' * 10**9 }}{% endif %}"
    file = write(f'{PROMPT}[answer]\nscorer = "judge"\n[judge]\nrubric = "{rubric}"')
    bench, (sample,) = prepared(file)
    with pytest.raises(ScoringTimeout, match="the rubric of the file"):
        scored(bench, sample, "long")


@pytest.mark.usefixtures("hurried")
def test_an_estimate_waits_for_a_pattern_once(write: Write) -> None:
    rows = "\n".join(f"q{n},1" for n in range(200))
    file = write(
        f"{PROMPT}[answer]\ntarget = 'answer'\nscorer = 'regex'\npattern = '''"
        r"^(?:\w+\s?)+(:)$'''",
        f"question,answer\n{rows}\n",
    )
    bench, samples = prepared(file)
    found = asyncio.run(estimate_samples(bench, Draw(samples, 200), {}, PriceBook()))
    candidate, *_ = found.roles
    assert candidate.calls.low == candidate.calls.high == 200
