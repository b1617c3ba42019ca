"""``--prompt``: the originals' exact words; templates of one's own, checked before the start."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.benchmark import Benchmark, DataSource, Sample, SequentialAsk
from evalbench.engine.benchmarks.code_reasoning import prompts as code_prompts
from evalbench.engine.benchmarks.mmlu import prompts as mmlu_prompts
from evalbench.engine.benchmarks.mmlu.styles import Shown
from evalbench.engine.benchmarks.spec_adherence import prompts as spec_prompts
from evalbench.engine.calls import Prompt, Reply
from evalbench.engine.calls.options import parse_options
from evalbench.engine.calls.templates import (
    Template,
    chosen_templates,
    filled_parts,
    prompt_set_name,
)
from evalbench.engine.config import registry
from evalbench.engine.config.spec import build_benchmark, make_spec
from evalbench.engine.errors import DataError, SpecError

STATEMENT = {
    "id": "s", "type": "requirement", "authority": "user", "section": "", "subsection": "",
    "text": "Be {kind}.", "examples": [],
}  # fmt: skip
PROGRAM = {"id": "p", "calls": ["f({1: 2})"], "code": "def f(x): return x", "mutant": "def f(x): 0"}
EXAMPLE = {"question": "two?", "choices": ["a", "b", "c", "d"], "answer": 1}
QUESTION = Sample(
    "q.1",
    {"question": "How {much} is it? ", "choices": ["w", "x", "y", "{z}"]},
    1,
    {"subject": "high_school_physics", "category": "STEM"},
)


class Keeping(SequentialAsk):
    """An ``ask`` that keeps the prompts."""

    def __init__(self) -> None:
        self.asked: list[Prompt] = []

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0
    ) -> Reply:
        self.asked.append(prompt)
        return Reply("B", logprobs=(0.0,) * len(prompt.continuations))


def asked(name: str, sample: Sample, shared: Any = None, **options: Any) -> list[Prompt]:
    cls = registry.benchmark_class(name)
    bench = cls(parse_options(cls.options, options, name), shared=shared)
    bench.judges = ("judge/one",) if "judge" in cls.roles else ()
    ask = Keeping()
    asyncio.run(bench.solve(sample, ask))
    return ask.asked


def texts(prompts: list[Prompt]) -> list[tuple[str, str]]:
    return [(message.role, message.text) for one in prompts for message in one.messages]


# Word for word what mmlu_eval/formatter.py of galvsk/mmlu-eval makes of this question.
DEFAULT = (
    "Question: How {much} is it? \n\nOptions:\nA) w\nB) x\nC) y\nD) {z}\n\nPlease respond with ONLY"
    " the letter (A-D) corresponding to what you believe is the correct answer."
)


def test_mmlu_is_asked_in_the_experimenters_words() -> None:
    [prompt] = asked("mmlu", QUESTION, family="chat", prompt="original")
    assert texts([prompt]) == [("user", DEFAULT)]
    assert (prompt.params.max_tokens, prompt.params.temperature) == (1000, 0.0)
    [upper] = asked("mmlu", QUESTION, family="chat", prompt="original", style="uppercase")
    assert upper.messages[0].text == DEFAULT.upper()
    [more] = asked("mmlu", QUESTION, family="chat", prompt="original", style="duplicatewrong")
    assert "the letter (A-G) corresponding" in more.messages[0].text
    [cased] = asked("mmlu", QUESTION, family="chat", prompt="original", style="randomcase")
    assert cased.messages[0].text.lower() == DEFAULT.lower()
    assert cased.messages[0].text.endswith(DEFAULT[DEFAULT.index("Please") :])
    with pytest.raises(SpecError, match="does not go with --family cot"):
        asked("mmlu", QUESTION, family="cot", prompt="original")


def test_pictures_are_asked_about_in_the_originals_words() -> None:
    def sample(video: bool, *choices: str) -> Sample:
        inputs = {
            "question": "Does it bend?",
            "choices": list(choices),
            "media": [],
            "video": video,
        }
        return Sample("o.1", inputs, "Yes", {})

    instructions = (
        "Instructions:\n1. First line: Provide ONLY your answer exactly as it appears in the"
        " options above (e.g., 'A', 'Yes', 'X axis', etc.). Do NOT add any other text on this"
        " line.\n2. Second line onwards: Provide a brief summary (1-2 sentences) explaining your"
        " reasoning.\n\nAnswer:"
    )
    whole = f"Does it bend?\n\nAnswer options:\n- Yes\n- No\n\n{instructions}"
    [still] = asked("openseesime", sample(False, "Yes", "No"), prompt="original")
    assert texts([still]) == [("user", whole)]
    [video] = asked("openseesime", sample(True, "Yes", "No"), prompt="original")
    told = "These are 0 frames from a video showing a sequence. "
    assert texts([video]) == [("user", told + whole)]
    [free] = asked("openseesime", sample(False), prompt="original")
    assert texts([free]) == [("user", f"Does it bend?\n\n{instructions}")]


def test_templates_say_what_is_asked_without_them() -> None:
    """So a file that ``--template`` prints changes nothing until somebody changes it."""
    shown = Shown("How {much} is it?", ("w", "x", "{y}", "z"), (0, 1, 2, 3))
    for family, own in (
        ("original", mmlu_prompts.original("high_school_physics", [EXAMPLE], shown)),
        ("chat", mmlu_prompts.chat([EXAMPLE], shown)),
        ("cot", mmlu_prompts.cot(shown)),
    ):
        made = mmlu_prompts.by_template(
            family, mmlu_prompts.TEMPLATES[family], "high_school_physics", [EXAMPLE], shown
        )
        assert texts([made]) == texts([own])
        assert (made.params, made.continuations) == (own.params, own.continuations)
    call, code, mutant = PROGRAM["calls"][0], str(PROGRAM["code"]), str(PROGRAM["mutant"])
    values = {"program": code, "call": call, "effort": "low"}
    predicted = code_prompts.by_template(code_prompts.PREDICTION_TEMPLATES["prediction"], values)
    assert [m.text for m in predicted] == [m.text for m in code_prompts.predict("low", code, call)]
    values = {"program_a": code, "program_b": mutant, "call": call, "effort": "low"}
    chosen = code_prompts.by_template(code_prompts.CHOICE_TEMPLATES["choice"], values)
    ours = code_prompts.choose("low", code, mutant, call)
    assert [m.text for m in chosen] == [m.text for m in ours]
    comply = spec_prompts.by_template(
        spec_prompts.COMPLY_TEMPLATES["comply"], STATEMENT, input="hi {x}", response="no"
    )
    assert texts([comply]) == texts([spec_prompts.comply(STATEMENT, "hi {x}", "no")])
    rank = spec_prompts.by_template(
        spec_prompts.RANK_TEMPLATES["rank"], STATEMENT, input="hi", response_a="1", response_b="2"
    )
    assert texts([rank]) == texts([spec_prompts.rank(STATEMENT, "hi", "1", "2")])


SAMPLES = {
    "mmlu": QUESTION,
    "quickstart": Sample("k.1", {"question": "q"}, ["a"], {"kind": "exact", "topic": "t"}),
    "code-prediction": Sample("c.1", PROGRAM, {"original": ["1"], "mutated": ["2"]}, {}),
    "code-choice": Sample("c.1", PROGRAM, {"original": ["1"], "mutated": ["2"]}, {}),
    "openseesime": Sample(
        "o.1", {"question": "q", "choices": ["Yes"], "media": [], "video": True}, "Yes", {}
    ),
    "humaneval": Sample("h.1", {"prompt": "def f():\n", "function": "f"}, "", {}),
    "mbpp": Sample("h.1", {"prompt": "Do.", "function": "f", "tests": ["assert f()"]}, "", {}),
    "simpleqa": Sample("s.1", {"question": "Who, {target}?"}, "me", {"topic": "t"}),
    "ifeval": Sample("i.1", {"prompt": "Do.", "instructions": [], "arguments": []}, None, {}),
    "spec-generate": Sample("g.1", {"input": "hi", "index": 0}, None, {"statement": "s"}),
    "spec-comply": Sample(
        "g.1", {"statement": STATEMENT, "input": "hi", "answer": "no"}, None, {"contestant": "m"}
    ),
    "spec-rank": Sample(
        "g.1", {"statement": STATEMENT, "input": "hi", "answers": ["1", "2"]}, None,
        {"a": "m", "b": "n"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAMPLES)
def test_every_benchmark_takes_a_file_of_templates(name: str, tmp_path: Path) -> None:
    cls = registry.benchmark_class(name)
    shared = {"index": {"p": 0}}
    extra = {"family": "chat"} if name == "mmlu" else {}
    printed = cls.prompt_file()
    file = tmp_path / "prompts.toml"
    file.write_text(printed)
    plain = asked(name, SAMPLES[name], shared, **extra)
    same = asked(name, SAMPLES[name], shared, prompt=str(file), **extra)
    assert texts(same) == texts(plain)
    file.write_text(printed.replace('user = """\n', 'user = """\nNow: '))
    changed = asked(name, SAMPLES[name], shared, prompt=str(file), **extra)
    assert texts(changed) != texts(plain)


NOT_TEMPLATES = {
    "mt-bench": "--judge-prompts", "custom": "its own file", "recorded": "nothing is asked",
    "lm-eval": "the library asks",
}  # fmt: skip
SETS = [
    name for name in registry.benchmark_names() if name not in SAMPLES and name not in NOT_TEMPLATES
]


def test_every_well_known_set_takes_a_file_of_templates(tmp_path: Path) -> None:
    """What is printed changes nothing; what is changed is asked, and part of the data's key."""
    assert "gsm8k" in SETS
    file = tmp_path / "prompts.toml"
    for name in SETS:
        cls = registry.benchmark_class(name)
        printed = cls.prompt_file()
        assert "[prompt]" in printed, name

        def prompts(text: str, name: str = name) -> Any:
            file.write_text(text)
            bench = build_benchmark(make_spec(name, "answers/x", options={"prompt": str(file)}))
            assert bench.prompt_set().startswith("from a file")
            return bench._file()  # type: ignore[attr-defined]

        plain = build_benchmark(make_spec(name, "answers/x"))
        assert prompts(printed) == plain._file()  # type: ignore[attr-defined]
        changed = prompts(printed.replace('template = """\n', 'template = """\nNow: '))
        assert changed.template[0].startswith("Now: ")
        [option] = [one for one in cls.options if one.name == "prompt"]
        assert option.affects_data


def test_a_file_of_a_sets_templates_is_checked(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    for name, text, told in (
        ("gsm8k", "[prompt", "not TOML"),
        ("gsm8k", "[promt]\n", "there is no prompt 'promt'"),
        ("gsm8k", "[judge]\n", "there is no prompt 'judge'"),
        ("gsm8k", '[prompt]\nmax_tokens = "3"\n', "has 'max_tokens'"),
        ("gsm8k", '[prompt]\ntemplate = "Hello"\n', "it needs {{ question }}"),
        ("gsm8k", '[prompt]\ntemplate = "{{ question"\n', "Jinja says"),
        ("aime", '[prompt]\nshot_answer = "x"\n', "has 'shot_answer'"),
        ("truthfulqa-judged", '[judge]\nrubric = "{{ question }}"\n', "it needs {{ reply }}"),
        ("humaneval", '[program]\nuser = "{task}"\n', "unknown placeholder {task}"),
    ):
        file.write_text(text)
        with pytest.raises(SpecError) as error:
            build_benchmark(make_spec(name, "answers/x", options={"prompt": str(file)}))
        assert told in str(error.value), (text, str(error.value))


def test_a_column_that_a_set_does_not_have_is_told(tmp_path: Path) -> None:
    (tmp_path / "test.jsonl").write_text('{"question": "1 + 1?", "answer": "#### 2"}\n')
    file = tmp_path / "mine.toml"
    file.write_text('[prompt]\ntemplate = "{{ question }} {{ hint }}"\n')
    bench = build_benchmark(make_spec("gsm8k", "answers/x", options={"prompt": str(file)}))
    with pytest.raises(DataError, match=r"the file of --prompt.*no column 'hint'.*\(row 1\)"):
        list(bench.prepare(DataSource(tmp_path, tmp_path)).items)


def test_a_file_of_templates_is_checked(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    for text, told in (
        ("[chat", "not TOML"),
        ("# nothing {}\n", "is empty"),
        ('[chta]\nuser = "{question} {options}"', "there is no prompt 'chta'"),
        ('[chat]\nuser = "{question} {choices}"', "unknown placeholder {choices}"),
        ('[chat]\nuser = "{question}"', "lacks {options}"),
        ("[chat]\nuser = 3\n", "no table of texts"),
        ('[chat]\nasker = "x"\n', "has 'asker'"),
        ('[original]\nsystem = "x"\n', "raw text to be continued"),
    ):
        file.write_text(text)
        with pytest.raises(SpecError) as error:
            build_benchmark(make_spec("mmlu", "answers/x", options={"prompt": str(file)}))
        assert told in str(error.value)
    file.write_text('[chat]\nuser = "{question} {options} {{not a name}}"\n')
    spec = make_spec("mmlu", "answers/x", options={"prompt": str(file)})
    file.unlink()  # its text is kept with the run
    again = type(spec).from_json(spec.to_json())
    assert build_benchmark(again).prompt_set().startswith("from a file (sha256 ")
    with pytest.raises(SpecError, match="cannot be read"):
        make_spec("mmlu", "answers/x", options={"prompt": str(file)})


def test_sets_have_names_and_prefixes_are_shared() -> None:
    own = {"a": Template("{x} then {y}", {"x": "", "y": ""}, ("y",))}
    assert chosen_templates(None, own) is None
    assert chosen_templates("evalbench", own) is None
    assert prompt_set_name(None) == prompt_set_name("evalbench") == "evalbench"
    assert prompt_set_name("original") == "original"
    parts = filled_parts("{x} then {y}", {"x": "{y}", "y": "!"}, ("x",))
    assert [(part.text, part.shared) for part in parts] == [("{y} then ", True), ("!", False)]
    assert [p.text for p in filled_parts("{y}", {"y": "!"})] == ["!"]


def test_the_family_of_mmlu_is_one_that_the_model_can_answer() -> None:
    def family(model: str, **options: Any) -> str:
        return str(make_spec("mmlu", model, options=options).options["family"])

    assert family("local/gpt2-large") == "original"
    assert family("anthropic/claude-haiku-4-5") == "chat"
    assert family("anthropic/claude-haiku-4-5", family="cot") == "cot"
    assert family("anthropic/claude-haiku-4-5", family="original") == "original"
    assert family("local/gpt2-large", prompt="original") == "chat"
    spec = make_spec("mmlu", "anthropic/claude-haiku-4-5", options={"shots": 2})
    bench: Benchmark = build_benchmark(spec)
    assert (set(bench.needs()), spec.options["shots"]) == ({"generate"}, 2)
