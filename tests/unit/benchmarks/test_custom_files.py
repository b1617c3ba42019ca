"""custom: what a file can say, the examples of its page, and that what is wrong is told first."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.benchmark import DataSource, Sample, Score, sample_ids
from evalbench.engine.benchmarks.custom import child_work
from evalbench.engine.benchmarks.custom.benchmark import Custom
from evalbench.engine.benchmarks.custom.scorers import Scoring, read_reply
from evalbench.engine.benchmarks.mt_bench.ratings import read_verdict
from evalbench.engine.calls import Outcome, Prompt, Reply
from evalbench.engine.calls.options import parse_options
from evalbench.engine.config.spec import load_suite, make_spec
from evalbench.engine.data.reading import read_rows
from evalbench.engine.errors import DataError, SpecError
from evalbench.engine.limited_process import LimitedProcess
from evalbench.engine.runs.folder import make_run
from evalbench.engine.scoring.choices import read_choice
from evalbench.engine.scoring.tally import Tally

PAGE = Path(__file__).parents[3] / "docs" / "custom-benchmarks.md"


def made(file: Path, shared: Any = None, seed: int = 0) -> Custom:
    options = parse_options(Custom.options, {"file": str(file)}, "custom")
    bench = Custom(options, seed=seed, shared=shared)
    bench.judges = ("judge/x/one", "judge/x/two")
    return bench


def prepared(file: Path, data: Path | None = None, seed: int = 0) -> tuple[Custom, list[Sample]]:
    found = made(file, seed=seed).prepare(DataSource(data, file.parent))
    samples = list(sample_ids(found.items))
    return made(file, json.loads(json.dumps(found.shared))), samples


class Asking:
    def __init__(self, *says: Reply | str) -> None:
        self.says = [
            Reply(one, stop_reason="stop") if isinstance(one, str) else one for one in says
        ]
        self.asked: list[tuple[str, Prompt]] = []

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0
    ) -> Reply:
        self.asked.append((role, prompt))
        return self.says.pop(0)

    async def many(self, asks: Any) -> list[Reply]:
        return [await self(one[0], one[1], step=one[2]) for one in asks]

    def roles(self, at: int = 0) -> list[tuple[str, str]]:
        return [(message.role, message.text) for message in self.asked[at][1].messages]


def scored(bench: Custom, sample: Sample, *says: Reply | str) -> Score:
    return asyncio.run(bench.solve(sample, Asking(*says)))


def write(
    folder: Path, body: str, table: str = "question,answer\nq,1\n", name: str = "q.csv"
) -> Path:
    (folder / name).write_text(table)
    file = folder / "mine.toml"
    file.write_text(body if "[benchmark]" in body else f'[benchmark]\ndata = "{name}"\n{body}')
    return file


PROMPT = '[prompt]\ntemplate = "{{ question }}"\n'
ANSWER = '[answer]\ntarget = "answer"\n'


# -- the page --------------------------------------------------------------------

DATA = {
    "GSM8K: a number after some thinking": ("gsm8k/test.jsonl", 1319 - 5),
    "TruthfulQA: one of two options": ("truthfulqa/TruthfulQA.csv", 790),
    "TruthfulQA: judged": ("truthfulqa/TruthfulQA.csv", 790),
    "A chat of two turns": ("mt_bench/question.jsonl", 80),
    "Pictures": ("openseesime/rows.jsonl", None),
}


@pytest.mark.parametrize("title", list(DATA))
def test_the_examples_of_the_page_are_benchmarks(
    tmp_path: Path, shared_data: Path, title: str
) -> None:
    found = re.search(rf"### {re.escape(title)}\n\n```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found
    assert len(found[1].splitlines()) < 25
    file = tmp_path / "example.toml"
    file.write_text(found[1])
    data, count = DATA[title]
    bench = made(file)
    items = bench.prepare(DataSource(shared_data / data, tmp_path)).items
    if count is None:
        assert next(items).inputs["images"][0]["type"] == "image/png"
        return
    assert sum(1 for _ in items) == count


# -- messages --------------------------------------------------------------------


def test_turns_are_sent_one_after_the_other(tmp_path: Path) -> None:
    file = write(
        tmp_path, '[prompt]\nsystem = "S"\ntemplate = ["{{ question }}", "more"]\n' + ANSWER
    )
    bench, (sample,) = prepared(file)
    ask = Asking("first", "1")
    assert asyncio.run(bench.solve(sample, ask)).values["accuracy"] == 1
    assert ask.roles(1) == [
        ("system", "S"),
        ("user", "q"),
        ("assistant", "first"),
        ("user", "more"),
    ]


def test_a_conversation_of_the_table_goes_on(tmp_path: Path) -> None:
    talk = [
        {"role": "system", "content": "S"},
        {"from": "human", "value": "hi"},
        {"from": "gpt", "value": "hello"},
        {"role": "user", "content": [{"type": "text", "text": "one?"}]},
    ]
    rows = json.dumps({"talk": talk, "answer": 1}) + "\n"
    file = write(tmp_path, '[prompt]\nmessages = "talk"\n' + ANSWER, rows, "q.jsonl")
    bench, (sample,) = prepared(file)
    ask = Asking("1")
    asyncio.run(bench.solve(sample, ask))
    assert ask.roles() == [
        ("system", "S"),
        ("user", "hi"),
        ("assistant", "hello"),
        ("user", "one?"),
    ]


TABLE = "question,answer\n" + "".join(f"q{n},{n}\n" for n in range(6))


@pytest.mark.parametrize("how", ["turns", "text"])
def test_the_first_rows_are_examples(tmp_path: Path, how: str) -> None:
    file = write(tmp_path, f'{PROMPT}shots = 2\nshots_as = "{how}"\n{ANSWER}', TABLE)
    bench, samples = prepared(file)
    assert [sample.gold for sample in samples] == [["2"], ["3"], ["4"], ["5"]]
    ask = Asking("2")
    asyncio.run(bench.solve(samples[0], ask))
    shown = [("user", "q0"), ("assistant", "0"), ("user", "q1"), ("assistant", "1"), ("user", "q2")]
    assert ask.roles() == (shown if how == "turns" else [("user", "q0 0\n\nq1 1\n\nq2")])


def test_examples_drawn_by_seed_are_never_the_question(tmp_path: Path) -> None:
    file = write(tmp_path, f"{PROMPT}shots = 3\nshots_random = true\n{ANSWER}", TABLE)
    drawn = [[s.inputs["before"] for s in prepared(file, seed=seed)[1]] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    for sample in prepared(file)[1]:
        assert sample.inputs["prompt"] not in [one["content"] for one in sample.inputs["before"]]


def test_rows_are_filtered_and_sorted(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        '[benchmark]\ndata = "q.csv"\nfilter = "{{ answer != \'9\' }}"\nsort = "-answer"\n'
        + PROMPT
        + ANSWER,
        "question,answer\na,2\nb,9\nc,10\n",
    )
    assert [sample.inputs["prompt"] for sample in prepared(file)[1]] == ["c", "a"]


def test_options_in_one_cell_are_a_list(tmp_path: Path) -> None:
    rows = 'question,options,answer\nq,"[""yes"", ""no""]",no\n'
    body = '[answer]\ntarget = "answer"\nchoices = "options"\nscorer = "choice"\n'
    (sample,) = prepared(write(tmp_path, PROMPT + body, rows))[1]
    assert (sample.inputs["choices"], sample.gold) == (["yes", "no"], 1)


def test_options_are_shuffled_with_their_target(tmp_path: Path) -> None:
    rows = "question,right,wrong,answer\n" + "".join(f"q{n},yes{n},no{n},A\n" for n in range(20))
    file = write(
        tmp_path,
        f'{PROMPT}[answer]\ntarget = "answer"\nchoices = ["right", "wrong"]\nshuffle = true\n'
        'scorer = "choice"\n',
        rows,
    )
    samples = prepared(file)[1]
    assert {sample.gold for sample in samples} == {0, 1}
    assert all(sample.inputs["choices"][sample.gold].startswith("yes") for sample in samples)


def test_excel_tables_are_read(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (("question", "answer"), ("six?", 6), (None, None), ("seven?", 7)):
        book.active.append(row)
    book.save(tmp_path / "q.xlsx")
    file = tmp_path / "mine.toml"
    file.write_text('[benchmark]\ndata = "q.xlsx"\n' + PROMPT + ANSWER + 'scorer = "numeric"\n')
    assert [sample.gold for sample in prepared(file)[1]] == [["6"], ["7"]]


# -- scoring ---------------------------------------------------------------------

SCHEMA = '{"type": "object", "required": ["a"]}'
CALL = '{"name": "f", "arguments": {"x": 1}}'


@pytest.mark.parametrize(
    ("one", "reply", "gold", "score"),
    [
        (Scoring("exact"), "70,000", ["70000"], 1),
        (Scoring("exact", read="last line"), "Hm.\nThe answer is Paris.", ["paris"], 1),
        (Scoring("exact", normalize=("space",)), "paris", ["Paris"], 0),
        (Scoring("exact", normalize=("case",)), "paris", ["Paris"], 1),
        (Scoring("f1"), "the cat sat", ["a cat sat down"], 0.8),
        (Scoring("rouge"), "the cat sat", ["the cat sat"], 1),
        (Scoring("bleu"), "the cat sat on the mat", ["the cat sat on the mat"], 1),
        (Scoring("similarity"), "abcd", ["ABCE"], 0.75),
        (Scoring("json", schema=SCHEMA), 'Here: ```json\n{"a": 1}\n```', None, 1),
        (Scoring("json", schema=SCHEMA), '{"b": 1}', None, 0),
        (Scoring("json"), '{"a": 1}', ['{"a": 1}'], 1),
        (Scoring("tool"), f"<tool_call>{CALL}</tool_call>", ["f"], 1),
        (Scoring("tool"), CALL, [CALL], 1),
        (Scoring("tool"), CALL.replace("1", "2"), [CALL], 0),
        (Scoring("tool"), "I call nothing", ["f"], 0),
        (Scoring("numeric", tolerance=0.01), "about 99.5", ["100"], 1),
    ],
)
def test_scorers(one: Scoring, reply: str, gold: Any, score: float) -> None:
    assert read_reply(one, reply, gold, {}).score == pytest.approx(score)


@pytest.mark.parametrize(
    ("reply", "place"),
    [
        *(("Paris", 1), ("The answer is Paris.", 1), ("It is Rome or Paris", None), ("12", 3)),
        *(("B", 1), ("\\boxed{Paris}", 1), ("$\\boxed{\\text{Rome}}$", 0), ("\\boxed{12}", 3)),
        *(("Rome is in Italy. So the answer is Paris.", 1), ("答案是Paris", 1)),
        *(("The answer is not Paris.", None), ("The answer is Oslo.", None)),
        *(
            ("A) Rome\n\nQuestion: What is next?\nAnswer: Paris", 0),
            ("Answer: Rome\nWait, no. B", 1),
        ),
        *(("I believe it is Paris.", 1), ("It isn't Paris.", None), ("A or Paris", None)),
    ],
)
def test_a_reply_that_says_an_option_chooses_it(reply: str, place: int | None) -> None:
    assert read_choice(reply, ["Rome", "Paris", "2", "12"]) == place


@pytest.mark.parametrize(
    ("reply", "choices", "place"),
    [
        ("It began in 1789, not in 1776 as many assume.", ("1776", "1789", "1804"), 1),
        ("Madrid is in Spain, so Lisbon fits.", ("Madrid", "Lisbon", "Rome"), 1),
        ("Neutral. The premise neither confirms nor rules it out.", ("Entailment", "Neutral"), 1),
        ("정답은 인천입니다.", ("서울", "부산", "인천"), 2),
        ("Doğru cevap İzmir'dir.", ("Ankara", "İzmir"), 1),
        ("부산이 아니라 서울입니다.", ("부산", "서울"), 1),
        ("京都ではなく東京です。", ("京都", "東京"), 1),
        ("Lisbon and Rome are both old.", ("Madrid", "Lisbon", "Rome"), None),
        ("It might be Lisbon or Rome.", ("Madrid", "Lisbon", "Rome"), None),
        ("One moment, the price rose by 120.", ("12", "20"), None),
        ("It is Rome.", ("Rome", "Rome"), None),
    ],
)
def test_a_reply_that_speaks_for_the_text_of_an_option_chooses_it(
    reply: str, choices: tuple[str, ...], place: int | None
) -> None:
    assert read_choice(reply, choices) == place


ODD = ("(a) 5 V, (b) 7 V", "A market for B", "$47$$ \\mathrm{~N} / \\mathrm{C}$", "A and B", "None")


@pytest.mark.parametrize("place", range(len(ODD)))
@pytest.mark.parametrize(
    "form",
    [
        *("{}", "{}.", "**{}**", "The answer is {}.", "Answer: {}", "I believe it is {}."),
        *("Option B is tempting.\n\nThe answer is {}.", "(C) is wrong.\nFinal answer: {}"),
    ],
)
def test_letters_in_the_text_of_an_option_name_no_other(form: str, place: int) -> None:
    assert read_choice(form.format(ODD[place]), ODD) == place


@pytest.mark.parametrize(
    ("judgement", "verdict"),
    [
        ("Fine. Verdict: [[right]]", 1),
        ("[[WRONG]]", 0),
        ("right", None),
        ("[[right]] [[wrong]]", None),
    ],
)
def test_verdicts(judgement: str, verdict: float | None) -> None:
    assert read_verdict(judgement) == verdict


def test_several_scorers_have_names_and_weights(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        f"{PROMPT}{ANSWER}[[score]]\nscorer = 'exact'\nweight = 3\n[[score]]\nscorer = 'f1'\n"
        "name = 'words'\n",
        "question,answer\nq,the big cat\n",
    )
    bench, (sample,) = prepared(file)
    score = scored(bench, sample, "big dog")
    assert score.values == {"exact": 0.0, "words": 0.5, "score": 0.125}
    tally = Tally()
    tally.add({}, score.outcome, score.values)
    assert [metric.name for metric in bench.metrics(tally)] == [
        "score",
        "exact",
        "words",
        "unparsed",
    ]


def test_votes_take_the_answer_of_most(tmp_path: Path) -> None:
    body = f"{PROMPT}votes = 3\ntemperature = 1\n{ANSWER}scorer = 'numeric'\n"
    bench, (sample,) = prepared(write(tmp_path, body))
    score = scored(bench, sample, "2", "The answer is 1.", "1")
    assert score.values == {"accuracy": 1.0, "agreement": pytest.approx(2 / 3)}
    # What a refusal says is no vote.
    refused = Reply("The answer is 2.", outcome=Outcome.REFUSED)
    assert scored(bench, sample, refused, refused, "1").values["accuracy"] == 1.0


def test_votes_that_differ_in_nothing_that_counts_are_one(tmp_path: Path) -> None:
    body = f"{PROMPT}votes = 5\ntemperature = 1\n{ANSWER}scorer = 'exact'\n"
    bench, (sample,) = prepared(write(tmp_path, body, "question,answer\nq,Paris\n"))
    score = scored(bench, sample, "Rome", "Paris", "paris.", "Rome", "PARIS")
    assert score.values == {"accuracy": 1.0, "agreement": pytest.approx(3 / 5)}


def test_log_likelihoods_by_letter_and_by_text(tmp_path: Path) -> None:
    body = (
        f'{PROMPT}[answer]\ntarget = "right"\nchoices = ["right", "wrong"]\n'
        'scorer = "loglikelihood"\nby = "text"\n'
    )
    bench, (sample,) = prepared(write(tmp_path, body, "question,right,wrong\nq,a long one,no\n"))
    assert bench.needs() == {"choose"}
    ask = Asking(Reply("", logprobs=(-3.0, -2.0)))
    assert asyncio.run(bench.solve(sample, ask)).values == {"accuracy": 0.0, "accuracy_norm": 1.0}
    assert ask.asked[0][1].continuations == (" a long one", " no")


def test_pass_at_k_over_epochs(tmp_path: Path) -> None:
    bench, _ = prepared(write(tmp_path, PROMPT + ANSWER))
    tally = Tally(epochs=4, means=Tally())
    for right in (1.0, 0.0, 0.0, 0.0):
        tally.add({}, Outcome.OK, {"accuracy": right})
    assert tally.means is not None
    tally.means.add({}, Outcome.OK, {"accuracy": 0.25})
    values = {metric.name: metric.value for metric in bench.metrics(tally)}
    assert values["pass@2"] == pytest.approx(0.5)
    assert (values["pass@4"], values["pass^2"]) == (1, 0)


GRADED = f'{PROMPT}{ANSWER}scorer = "graded"\n'


def test_means_of_verdicts_have_intervals_within_their_scale(tmp_path: Path) -> None:
    body = f'[benchmark]\ndata = "q.csv"\ngroup = "question"\n{GRADED}'
    bench, _ = prepared(write(tmp_path, body))
    tally = Tally()
    for mark in (0.0, 0.0, 0.0, 0.0, 0.0, 1.0):
        tally.add({"group": "q"}, Outcome.OK, {"accuracy": mark})
    found = [one for one in bench.metrics(tally) if one.name.startswith("accuracy")]
    assert len(found) == 2
    for one in found:
        assert one.value == pytest.approx(1 / 6)
        assert one.low is not None
        assert one.high is not None
        assert 0 < one.low < 1 / 6 < one.high < 1


def test_a_good_verdict_counts_beside_one_that_was_cut(tmp_path: Path) -> None:
    bench, (sample,) = prepared(write(tmp_path, GRADED))
    cut = Reply("It seems", stop_reason="length", outcome=Outcome.TRUNCATED)
    score = scored(bench, sample, "1", "[[right]]", cut)
    assert score.values == {"verdict/x/one": 1.0, "accuracy": 1.0}
    assert score.outcome is Outcome.TRUNCATED
    assert "x/two: the judgement was cut off" in score.note


def test_a_rating_outside_of_the_scale_says_so(tmp_path: Path) -> None:
    body = f'{PROMPT}[answer]\nscorer = "judge"\n[judge]\nrubric = "{{{{ reply }}}}"\nhigh = 5\n'
    bench, (sample,) = prepared(write(tmp_path, body))
    score = scored(bench, sample, "1", "<think>[[2]]</think>[[4]]", "[[9]]")
    assert score.values == {"rating/x/one": 4.0}
    assert score.outcome is Outcome.UNPARSED
    assert score.note == "x/two: the rating 9 is outside of the scale, 1 to 5"


# -- what is wrong is told first ---------------------------------------------------

CHOICE = '[answer]\ntarget = "answer"\nscorer = "choice"\nchoices = ["a", "b"]\n'
JUDGED = PROMPT + '[answer]\nscorer = "judge"\n[judge]\n'
BROKEN: dict[str, tuple[str, str, str]] = {
    "no TOML": ("[benchmark\n", "", "this is not TOML"),
    "unknown table": (PROMPT + "[answers]\n", "", r"line 5: .*no table \[answers\]"),
    "unknown key": (PROMPT + '[answer]\ntraget = "x"', "", r"line 6: .*has no 'traget'"),
    "no prompt": (ANSWER, "", "there is no prompt"),
    "type": (PROMPT + 'max_tokens = "x"\n' + ANSWER, "", r"line 5: \[prompt\] max_tokens"),
    "range": (PROMPT + "temperature = 3\n" + ANSWER, "", "line 5: .*temperature is out of range"),
    "scorer": (PROMPT + ANSWER + 'scorer = "exakt"', "", "line 7: .*no scorer 'exakt'"),
    "no target": (PROMPT + '[answer]\nscorer = "numeric"', "", "right answer is not named"),
    "pattern": (PROMPT + ANSWER + "scorer='regex'\npattern='('", "", "line 8: .*no regular"),
    "schema": (PROMPT + ANSWER + "scorer='json'\nschema='{'", "", "line 8: .*is not JSON"),
    "function": (PROMPT + ANSWER + "scorer='python'\nfunction='f'", "", "no entry point 'f'"),
    "misspelt score key": (
        PROMPT + ANSWER + "[[score]]\nscorer='f1'\nwieght=2",
        "",
        "line 9: .*has no 'wieght'\n.*weight",
    ),
    "log-likelihood beside another": (
        PROMPT
        + CHOICE.replace('scorer = "choice"\n', "")
        + "[[score]]\nscorer='loglikelihood'\n[[score]]\nscorer='choice'",
        "",
        "log-likelihoods are the only scorer",
    ),
    "log-likelihood of turns": (
        '[prompt]\nmessages = "question"\n' + CHOICE.replace('"choice"', '"loglikelihood"'),
        "",
        "log-likelihoods are the only scorer",
    ),
    "nested template": (
        '[prompt]\ntemplate = "{{ ' + "(" * 300 + "question" + ")" * 300 + ' }}"\n' + ANSWER,
        "",
        "a template cannot be understood\n.*put parts of it into",
    ),
    "normalize": (PROMPT + ANSWER + "normalize=['kase']", "", "line 7: .*no 'kase'"),
    "template": (
        '[prompt]\ntemplate = "{% if %}"\n' + ANSWER,
        "",
        "line 4: .*cannot be understood",
    ),
    "filter": ('[prompt]\ntemplate = "{{ a|b }}"\n' + ANSWER, "", "no filter 'b'"),
    "no rubric": (PROMPT + '[answer]\nscorer = "judge"', "", "needs a rubric"),
    "scale": (JUDGED + 'rubric = "x"\nlow = 5\nhigh = 5', "", "line 9: .*out of range"),
    "two names": (
        PROMPT + ANSWER + "[[score]]\nscorer='f1'\n[[score]]\nscorer='f1'",
        "",
        "two scorers are called 'f1'",
    ),
    "votes": (PROMPT + "votes = 3\n" + ANSWER, "", "at temperature 0 all votes"),
    "votes of two": (
        PROMPT
        + "votes = 3\ntemperature = 1\n"
        + ANSWER
        + "[[score]]\nscorer='numeric'\n[[score]]\nscorer='exact'",
        "",
        "votes go with one scorer only",
    ),
    "no table": (
        '[benchmark]\ndata = "no.csv"\n' + PROMPT + ANSWER,
        "",
        "line 2: .*no file no.csv",
    ),
    "no data": ("[benchmark]\n" + PROMPT + ANSWER, "", "questions is not named"),
    "outside": ('[benchmark]\ndata = "../x.csv"\n' + PROMPT + ANSWER, "", "lies elsewhere"),
    "column of the prompt": ('[prompt]\ntemplate = "{{ a }}"\n' + ANSWER, "", "no column 'a'"),
    "column of the target": (PROMPT + '[answer]\ntarget = "a"', "", r"line 6: .*no column 'a'"),
    "column of the rubric": (
        JUDGED + 'rubric = "{{ anser }} {{ reply }}"',
        "",
        "line 8: .*column 'anser'",
    ),
    "column by row": (
        "[prompt]\ntemplate = \"{{ row['b c'] }}\"\n" + ANSWER,
        "",
        "no column 'b c'",
    ),
    "column of the group": (
        '[benchmark]\ndata = "q.csv"\ngroup = "g"\n' + PROMPT + ANSWER,
        "",
        "line 3: .*no column 'g'",
    ),
    "twice a column": (
        PROMPT + ANSWER,
        "question,answer,answer\nq,1,2\n",
        "two columns are called",
    ),
    "cells": (PROMPT + ANSWER, "question,answer\nq,1\nq\n", "row 2: 1 cell where"),
    "no rows": (PROMPT + ANSWER, "question,answer\n", "no row is left"),
    "empty target": (
        PROMPT + ANSWER,
        "question,answer\nq,1\nq, \n",
        "row 2: .*\n.*answer is empty",
    ),
    "no number": (PROMPT + ANSWER + "scorer='numeric'", "question,answer\nq,n/a\n", "is no number"),
    "empty prompt": (PROMPT + ANSWER, 'question,answer\n" ",1\n', "its prompt is empty"),
    "no option": (PROMPT + CHOICE, "question,a,b,answer\nq,x,y,z\n", "'z' is none of the options"),
    "no such option": (
        PROMPT + CHOICE,
        "question,a,b,answer\nq,x,y,2\n",
        "'2' is none of the options",
    ),
    "empty option": (PROMPT + CHOICE, "question,a,b,answer\nq,x,,x\n", "an option in 'b' is empty"),
    "no picture": (
        PROMPT + 'images = ["answer"]\n' + ANSWER,
        "question,answer\nq,no.png\n",
        "row 1: .*\n.*'answer': there is no file no.png beside the table",
    ),
    "no picture in it": (
        PROMPT + 'images = ["answer"]\n' + ANSWER,
        "question,answer\nq,q.csv\n",
        "'answer': q.csv is no picture",
    ),
    "no example": (
        PROMPT + 'shots = 1\nshots_from = "mine.toml"\n' + ANSWER,
        "question,answer\nq,x\n",
        "shots_from: mine.toml is no table",
    ),
    "no reference": (
        PROMPT + '[answer]\nscorer = "graded"\n',
        "",
        "graded needs a right answer to compare with",
    ),
    "no target in a rubric": (
        PROMPT + '[answer]\nscorer = "judge"\n[judge]\nrubric = "{{ target }} {{ reply }}"\n',
        "",
        "line 8: .*rubric: it shows {{ target }}",
    ),
    "semicolons": (
        PROMPT + ANSWER,
        "question;answer\nq;x\n",
        "no column 'question' .*separate its cells with commas",
    ),
    "no conversation": (
        '[prompt]\nmessages = "question"\n' + ANSWER,
        "question,answer\nhello,1\n",
        "no JSON list of messages",
    ),
    "name in the rubric": (
        JUDGED + 'rubric = "{{ reply }} {{ promt }}"',
        "",
        "line 8: .*column 'promt'.*\n.*did you mean prompt",
    ),
    "no reply in the rubric": (
        JUDGED + 'rubric = "{{ repply }}"',
        "",
        "line 8: .*rubric: it does not show the answer.*\n.*did you mean reply by repply",
    ),
    "no column in the prompt": (
        '[prompt]\ntemplate = "{question}"\n' + ANSWER,
        "",
        "line 4: .*template: it shows no column",
    ),
    "filter that is no template": (
        '[benchmark]\ndata = "q.csv"\nfilter = "answer == 1"\n' + PROMPT + ANSWER,
        "",
        "line 3: .*filter: is no template",
    ),
    "key of another table": (
        '[benchmark]\ndata = "q.csv"\ntemplate = "{{ question }}"\n' + ANSWER,
        "",
        r"line 3: .*has no 'template'\n.*belongs to \[prompt\]",
    ),
    "key above the tables": (
        'target = "answer"\n[benchmark]\ndata = "q.csv"\n' + PROMPT,
        "",
        r"target belongs to \[answer\]",
    ),
    "address of a table": (
        '[benchmark]\ndata = "https://x.org/q.csv"\n' + PROMPT + ANSWER,
        "",
        "line 2: .*\n.*download it",
    ),
    "address of a picture": (
        PROMPT + 'images = ["answer"]\n' + ANSWER,
        "question,answer\nq,https://x.org/a.png\n",
        "'answer': https://x.org/a.png is an address",
    ),
    "options in one cell": (
        PROMPT + CHOICE.replace('["a", "b"]', '"a"'),
        "question,a,answer\nq,x; y,x\n",
        "there is 1 option; .*separator = ';' would split",
    ),
    "no rubric, with its line": (PROMPT + '[answer]\nscorer = "judge"', "", "line 6: .*needs a"),
    "no pattern": (PROMPT + ANSWER + "scorer='regex'", "", r"line 5: \[answer\] pattern"),
    "weights": (
        PROMPT + ANSWER + "[[score]]\nscorer='f1'\nweight=0\n[[score]]\nscorer='exact'\nweight=0",
        "",
        "line 9: .*no scorer has a weight above 0",
    ),
    "title": (
        f'[benchmark]\ndata = "q.csv"\ntitle = "{"x" * 201}"\n' + PROMPT + ANSWER,
        "",
        "line 3: .*more than 200 characters",
    ),
    "include": (
        "[prompt]\ntemplate = \"{% include 'x' %}\"\n" + ANSWER,
        "",
        "line 4: .*\n.*cannot include",
    ),
    "type in a template": (
        '[prompt]\ntemplate = "{{ question }}"\nsystem = "{{ question + 1 }}"\n' + ANSWER,
        "",
        r"row 1: the row does not fit \[prompt\] system \(mine.toml, line 5\)\n  why: can only",
    ),
    "zero in a target": (
        PROMPT + '[answer]\ntarget = "{{ 1 / 0 }}"\n',
        "",
        r"row 1: the row does not fit \[answer\] target .*\n  why: division by zero$",
    ),
    "attribute": (
        '[prompt]\ntemplate = "{{ question.nme }}"\n' + ANSWER,
        "",
        "row 1: .*template .*\n.*no attribute 'nme'\n.*columns: question, answer",
    ),
    "only examples": (
        PROMPT + "shots = 2\n" + ANSWER,
        "question,answer\nq,1\nr,2\n",
        "line 5: .*no row is left to ask: the table has 2 rows, and 2 examples come from it",
    ),
    "two options alike": (
        PROMPT + CHOICE,
        "question,a,b,answer\nq,x,x,x\n",
        "'x' is the text of two options",
    ),
    "tool": (PROMPT + ANSWER + "scorer='tool'", "", "names no function: '1'"),
    "tool without a name": (
        PROMPT + ANSWER + "scorer='tool'",
        'question,answer\nq,"{""x"": 1}"\n',
        "names no function",
    ),
    "key of another scorer": (
        PROMPT + ANSWER + "pattern='(x)'",
        "",
        "line 7: .*pattern: is for: regex",
    ),
    "half an object": (
        PROMPT + ANSWER + "scorer='json'",
        'question,answer\nq,"{""x"": 1"\n',
        "is no valid JSON",
    ),
    "not CSV": (PROMPT + ANSWER, 'question,answer\n"q,1\n', "not valid CSV"),
}


@pytest.mark.share(3)
@pytest.mark.parametrize("name", list(BROKEN))
def test_a_broken_file_is_told_before_anything_is_asked(tmp_path: Path, name: str) -> None:
    body, table, told = BROKEN[name]
    file = write(tmp_path, body, table or "question,answer\nq,1\n")
    if name == "no TOML":
        file.write_text(body)
    with pytest.raises(DataError) as caught:
        prepared(file)
    assert re.search(told, str(caught.value)), str(caught.value)
    assert str(tmp_path) in str(caught.value)


PICTURES = {
    "png": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
    "AABJRU5ErkJggg==",
    "gif": "R0lGODdhAQABAIEAAP///wAAAAAAAAAAACwAAAAAAQABAAAIBAABBAQAOw==",
    "jpg": "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAP//////////////////////////////////////////////"
    "////////////////////////////////////////wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAA"
    "AAAAA//EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AP//Z",
    "webp": "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA",
}


@pytest.mark.parametrize("kind", list(PICTURES))
def test_a_picture_that_was_cut_off_is_told_before_anything_is_asked(
    tmp_path: Path, kind: str
) -> None:
    whole = base64.b64decode(PICTURES[kind])
    rows = f"question,picture,answer\nq,one.{kind},1\n"
    file = write(tmp_path, f'{PROMPT}images = ["picture"]\n{ANSWER}', rows)
    (tmp_path / f"one.{kind}").write_bytes(whole)
    assert len(prepared(file)[1][0].inputs["images"]) == 1
    for length in (len(whole) * 3 // 4, 20, 12):
        (tmp_path / f"one.{kind}").write_bytes(whole[:length])
        with pytest.raises(DataError, match=rf"row 1: .*\n.*'picture': one\.{kind} is damaged"):
            prepared(file)


def test_a_template_without_end_is_tried_on_few_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurried = partial(LimitedProcess, child_work.__name__, 0.2)
    monkeypatch.setattr(child_work, "process", hurried)
    rows = "question,answer\n" + "q,1\n" * 40
    loop = "{{ question }}" + "{% for a in range(99999) %}" * 3 + "{% endfor %}" * 3
    file = write(tmp_path, f'[prompt]\ntemplate = "{loop}"\n{ANSWER}', rows)
    with pytest.raises(DataError, match=r"2 mistakes\n  q.csv, row 1, row 2: .*took longer than"):
        prepared(file)


def test_examples_that_do_not_fit_are_named_with_their_table(tmp_path: Path) -> None:
    file = write(
        tmp_path, f'{PROMPT}shots = 1\nshots_from = "e.csv"\n{ANSWER}', "question,answer\nq,1\n"
    )
    for table, told in (
        ("question,right\nx,2\n", "line 6: .*shots_from: the examples have no column 'answer'"),
        ("question,answer\nx,\n", "the example in row 1 of e.csv: its right answer is empty"),
    ):
        (tmp_path / "e.csv").write_text(table)
        with pytest.raises(DataError, match=told):
            prepared(file)


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_a_name_that_two_columns_have_is_refused(tmp_path: Path, suffix: str) -> None:
    table = tmp_path / f"q{suffix}"
    if suffix == ".jsonl":
        table.write_text('{"a": "a", "b": {"a": "a"}}\n{"a": 1, "b": 2, "a": 3}\n')
    else:
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        columns = [pyarrow.array([1]), pyarrow.array([2])]
        parquet.write_table(pyarrow.Table.from_arrays(columns, names=["a", "a"]), table)
    with pytest.raises(DataError, match="two columns are called 'a'"):
        list(read_rows(table))


@pytest.mark.share(4)
@pytest.mark.parametrize("empty", [None, "", "  ", [], [""]])
@pytest.mark.parametrize("scorer", ["exact", "contains", "numeric", "f1", "json", "graded"])
def test_an_empty_right_answer_is_refused_by_every_scorer(
    tmp_path: Path, empty: Any, scorer: str
) -> None:
    rows = json.dumps({"question": "q", "answer": empty}) + "\n"
    file = write(tmp_path, f"{PROMPT}{ANSWER}scorer = '{scorer}'\n", rows, "q.jsonl")
    with pytest.raises(DataError, match="row 1"):
        prepared(file)


def test_a_null_is_not_the_word_none(tmp_path: Path) -> None:
    rows = '{"question": null, "answer": "1"}\n'
    with pytest.raises(DataError, match="is null"):
        prepared(write(tmp_path, PROMPT + ANSWER, rows, "q.jsonl"))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "latin-1"])
def test_other_encodings_are_understood_or_named(tmp_path: Path, encoding: str) -> None:
    for name in ("mine.toml", "q.csv"):
        file = write(tmp_path, PROMPT + ANSWER + "# é\n", "question,answer\né,1\n")
        path = tmp_path / name
        path.write_bytes(path.read_text().encode(encoding))
        if encoding == "utf-8-sig":
            assert prepared(file)[1][0].inputs["prompt"] == "é"
            continue
        with pytest.raises(DataError, match="UTF-16" if "16" in encoding else "not UTF-8"):
            prepared(file)


def test_a_run_is_called_after_its_file_also_in_a_suite(tmp_path: Path) -> None:
    file = write(tmp_path, PROMPT + ANSWER).rename(tmp_path / "sums.toml")
    assert make_spec("custom", "local/m", options={"file": str(file)}).label == "sums"
    suite = tmp_path / "suite.toml"
    suite.write_text('[[run]]\nbenchmark = "sums.toml"\nmodel = "local/m"\n')
    (spec,) = load_suite(suite)
    assert (spec.benchmark, spec.label) == ("custom", "sums")
    assert Path(spec.options["file"]) == file
    assert make_run(spec, tmp_path / "runs").status().name == "sums"
    file.write_text(file.read_text().replace("[benchmark]", '[benchmark]\ntitle = "Little sums"'))
    run = make_run(spec, tmp_path / "runs")
    assert run.status().name == "Little sums (sums)"
    assert "-sums-m-" in run.id
    namesake = file.rename(tmp_path / "mmlu.toml")
    run = make_run(make_spec("custom", "local/m", options={"file": str(namesake)}), tmp_path)
    assert run.status().name == "Little sums (mmlu.toml)"
    assert "-mmlu.toml-m-" in run.id
    imported = make_spec("recorded", "local/m", options={"task": "their_task"})
    assert imported.label == "their_task"


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("no.toml", "run 1: there is no file .*no.toml$"),
        ("suite.toml", "run 1: .* is a suite, not"),
    ],
)
def test_a_suite_says_that_a_file_is_no_benchmark(tmp_path: Path, named: str, told: str) -> None:
    suite = tmp_path / "suite.toml"
    suite.write_text(f'[[run]]\nbenchmark = "{named}"\nmodel = "local/m"\n')
    with pytest.raises(SpecError, match=told):
        load_suite(suite)


def test_all_mistakes_that_can_be_found_are_told_at_once(tmp_path: Path) -> None:
    body = '[prompt]\ntemplate = "{{ question }}"\nmax_tokens = "x"\ntemperature = 9\n'
    file = write(tmp_path, body + '[answer]\ntraget = "answer"\nscorer = "exakt"\n')
    with pytest.raises(DataError) as caught:
        prepared(file)
    told = str(caught.value).splitlines()
    assert told[0] == f"{file}: 4 mistakes"
    assert [line.split(":")[0] for line in told[1:]] == [f"  line {n}" for n in (5, 6, 8, 9)]
    assert "did you mean target" in told[3]
    # The columns, then the rows; what is wrong with several in the same way stands on one line.
    file = write(tmp_path, '[prompt]\ntemplate = "{{ qestion }} {{ hint }}"\n' + ANSWER)
    with pytest.raises(DataError, match=r"2 mistakes\n  line 4: .*'hint'.*\n  line 4: .*question"):
        prepared(file)
    rows = "question,answer\na,1\nb,\nc,x\n ,3\nd,4\ne,\n"
    file = write(tmp_path, PROMPT + ANSWER + 'scorer = "numeric"\n', rows)
    with pytest.raises(DataError) as caught:
        prepared(file)
    told = str(caught.value).splitlines()
    assert [line.split(": ")[0] for line in told] == [
        str(file), "  q.csv, row 2, row 6", "  q.csv, row 3", "  q.csv, row 4"
    ]  # fmt: skip
    assert "4 mistakes" in told[0]
    many = write(tmp_path, PROMPT + ANSWER, "question,answer\n" + "a,\n" * 40)
    with pytest.raises(DataError, match="10 mistakes or more"):
        prepared(many)
