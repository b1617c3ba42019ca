"""What the worst megabyte costs each reply parser, and how the cost grows with the length.

    python -m bench.parsers [--size 1000000] [--pairs 400] [--seed 1] [--only NAME]

Adversarial replies are made of what the parsers' patterns look for: one token again and
again, two tokens in turn, many of one and then many of another, each also with a head that
begins an answer and a tail that spoils it. Every parser reads all of them; a reply that takes
longer than ``--give-up`` seconds is cut off and counts as that long. Afterwards the worst
replies of each parser are measured again, the best of three. All times are CPU, as other
programs run too.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.figures import Figure, declare, tell
from evalbench.engine.benchmarks.custom.scorers import Scoring, read_reply
from evalbench.engine.benchmarks.mt_bench.ratings import read_verdict
from evalbench.engine.benchmarks.parsers import KINDS, Parser
from evalbench.engine.scoring import chosen_option, letters, number_words, numbers, short_answers
from evalbench.engine.scoring.letters_many import read_many
from evalbench.engine.scoring.literals import equal, strictly_equal

CHOICES = ("Yes", "No", "X axis", "Y axis", "-5 MPa")
PROMISED_MS = 50.0

TOKENS = (
    *("a", "A", "B", "(", ")", "(A)", "A.", "A) ", " A ", "A\n", "A,", "A or ", "B and ", "C is "),
    *("[", "]", "[[", "]]", "[[A]]", "[[A", "[[8", "[[8]]", "[ ", "[A]", "[8]", "【", "8", "1,"),
    *("1,000", "-", "- ", "–", "—", "−", ".", ".5", "=", "= ", "==", "=1", ":", ": ", ", ", "/"),
    *("{", "}", '{"', '"', "'", '":', "\\", '\\"', "\\[", "\\(", "\\text", "\\boxed{", "$", "|"),
    *(
        " ",
        "  ",
        "\t",
        "\n",
        "\r\n",
        " \n",
        "\n ",
        "\u2028",
        "\xa0",
        "\0",
        "é",
        "ſ",
        "İ",
        "ﷺ",
        "字",
    ),
    *("\ud800", "*", "**", "* ", "_", "__", "`", "```", "```\n", "```json\n", "~~", "# ", "> "),
    *("<", ">", "</", "<|", "|>", "<|a", "<think>", "</think>", "<thinking", "<answer>", "</b>"),
    *("<b ", "<b a", "<p>", "?", "!", ";", "…", "“", "”", "'s ", "n't ", "~", "+", "#", "&", "%"),
    *("Answer: ", "answer is ", "answer", "answer ", "the ", "The answer is ", "final answer "),
    *("correct ", "most likely ", "option ", "choice ", "I choose ", "it's ", "is ", "only "),
    *("not ", "or ", "and ", "because ", "as ", "result ", "output is ", "output ", "sum of "),
    *("Rating: ", "rating ", "Rating: [", "score [[", "out of ", "verdict [", "verdict ", "tie"),
    *("Model: ", "Model: A\n", "model ", "Model:", "equal", "N/A", "unsure ", "n a ", "response "),
    *(
        "compliant",
        '"compliant": ',
        "compliant: ",
        "Compliant: yes\n",
        "confidence: ",
        "true",
        "no",
    ),
    *('{"compliant": true} ', '{"chosen_program": "A"', '{"chosen_program": "A"} ', '{"a":'),
    *('"assertion": "', '"outputs": [', "chosen program: A", "program ", "outputs: ", "}\n", '",'),
    *("[ANSWER]", "[/ANSWER]", "[ANSWER]x", "assert ", "assert f(", "assert f() == ", "f() == "),
    *("assert f() == 3\n", "assert f(", "??", "...", "()", "1+", "not 1", "lambda: ", "x."),
    *(
        "Yes",
        "No",
        "Yes, ",
        "Yes or ",
        "X axis",
        "X axis ",
        "X-",
        "based on ",
        "from a ",
        "twenty ",
    ),
    *(
        "1. ",
        "a) ",
        "1)",
        "• ",
        "£1",
        "percent of ",
        "of the program ",
        "sure, ",
        "ok! ",
        "to this ",
    ),
    *(
        "#### 1",
        "\\boxed{1}",
        "\\frac{1}{2}",
        "\\frac{",
        "1 000 ",
        "1.000.",
        "1'000",
        "½",
        "10^3",
        "1e3",
    ),
    *(
        "one hundred and ",
        "one ",
        "so 1. ",
        "= 1 ",
        "**1** ",
        "the answer is 1 or 2. ",
        "k ",
        "$1",
        "-1",
    ),
    *(
        "<answer>1</answer>",
        "\nQuestion: ",
        "Wait, ",
        "(1)",
        "（1）",
        "<<1=1>>",
        "if ",
        "<|channel|>",
    ),
    *(
        "<|channel|>final<|message|>",
        "答案是",
        "la respuesta es ",
        "1. x\n",
        "- 1\n",
        "A: 1\n",
        "x = 1, ",
    ),
    *("==(", "== [1", "==(x", "assert (", "\u200b", "\u200d\ufeff", "<think><thinking>"),
    *('"a', "so "),
    *("I think ", "answer A ", "I ", "[1", "[[1", "[1.", "1.", "\u0663", "( ", "is A ", "（A）"),
)
"""What patterns look for, and what texts are full of."""

_HEADS = (
    *("", "Answer: ", "[[", '{"compliant": ', "[ANSWER]assert f(", "<think>", '{"a": "', "A "),
    *("assert f(", '{"chosen_program": "A", "assertion": "assert f(', "[1] ", "B is right, "),
)
_TAILS = ("", "\x01", "!", "\nA", "]]", '"}', "</think>", "[/ANSWER]", "\n```", " is Z", "z")

Reader = Callable[[str], object]


def _custom(scorer: str, gold: object, *choices: str) -> Reader:
    return lambda reply: read_reply(Scoring(scorer), reply, gold, {}, choices)


def _chosen_from(parser: Parser, reply: str) -> object:
    return parser.read(reply, CHOICES)


def readers() -> Mapping[str, Reader]:
    """Every built-in reading of a reply, by name."""
    found: dict[str, Reader] = {}
    for kind in KINDS.values():
        for parser in (kind.faithful, kind.lenient):
            found[parser.version] = partial(_chosen_from, parser)
    found |= {
        letters.SEED_LATER: letters.read_first,
        letters.SIMPLE_EVALS: letters.read_simple_evals,
        letters.MANY: partial(read_many, options=10),
        number_words.LENIENT: numbers.read_number,
        "short answer, yes or no": short_answers.read_yes_no,
        "short answer, phrase": short_answers.read_phrase,
        "short answer, output": short_answers.read_output,
        "openseesime, explanation": chosen_option.explanation,
        "custom, choice": _custom("choice", 0, "one thing", "another", "both of them"),
        "custom, exact": _custom("exact", ["the right answer"]),
        "custom, contains": _custom("contains", ["the right answer"]),
        "custom, numeric": _custom("numeric", ["1024.5"]),
        "custom, f1": _custom("f1", ["the right answer"]),
        "custom, tool": _custom("tool", ['{"name": "f", "arguments": {}}']),
        "custom, verdict": read_verdict,
        "two outputs compared": lambda reply: equal(reply, "[1, 2]"),
        "two outputs compared strictly": lambda reply: strictly_equal(reply, "[1, 2]"),
    }
    return found


def _filled(piece: str, size: int) -> str:
    return (piece * (size // len(piece) + 1))[:size]


def replies(size: int, pairs: int, seed: int) -> Iterator[tuple[str, str]]:
    """Names and texts of about ``size`` characters; the same ones for the same seed."""
    draw = random.Random(seed)
    for token in TOKENS:
        yield f"{token!r}", _filled(token, size)
        head, tail = draw.choice(_HEADS), draw.choice(_TAILS)
        yield f"{head!r} {token!r} {tail!r}", head + _filled(token, size) + tail
        yield f"{token!r} and a bad end", _filled(token, size) + draw.choice(_TAILS[1:3])
    for _ in range(pairs):
        one, two = draw.choice(TOKENS), draw.choice(TOKENS)
        head, tail = draw.choice(_HEADS), draw.choice(_TAILS)
        few = draw.choice((1, 1, 3, 10, 30, 100, 1000))
        yield (
            f"{head!r} ({one!r} × {few} {two!r}) {tail!r}",
            head + _filled(one * few + two, size) + tail,
        )
        yield (
            f"{head!r} many {one!r}, many {two!r} {tail!r}",
            head + _filled(one, size // 2) + _filled(two, size // 2) + tail,
        )


@dataclass(frozen=True)
class Worst:
    """The slowest reply of a parser: seconds, its name and text."""

    seconds: float
    name: str
    text: str


class _GaveUp(BaseException):
    pass


def seconds(read: Reader, text: str, give_up: float) -> float:
    """How long one reading takes; ``give_up`` where it was cut off."""

    def stop(*_: object) -> None:
        raise _GaveUp

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, give_up)
    begun = time.process_time()
    try:
        read(text)
    except _GaveUp:
        return give_up
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return time.process_time() - begun


def worst_of(
    read: Reader, texts: Sequence[tuple[str, str]], give_up: float, again: int = 5
) -> Worst:
    """The slowest of the texts; the slowest few are read three times, the best counts."""
    first = sorted(
        (Worst(seconds(read, text, give_up), name, text) for name, text in texts),
        key=lambda one: -one.seconds,
    )[:again]
    sure = (
        Worst(min(seconds(read, one.text, give_up) for _ in range(3)), one.name, one.text)
        for one in first
    )
    return max(sure, key=lambda one: one.seconds)


def main(words: Sequence[str] | None = None) -> int:
    """Measure every parser and print its worst reply."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--size", type=int, default=1_000_000, help="characters of a reply")
    parser.add_argument("--pairs", type=int, default=400, help="pairs of tokens to draw")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--give-up", type=float, default=10.0, help="seconds for one reply")
    parser.add_argument("--only", action="append", default=[], help="parsers whose names hold this")
    declare(parser)
    args = parser.parse_args(words)
    texts = list(replies(args.size, args.pairs, args.seed))
    timed = []
    for name, read in readers().items():
        if args.only and not any(part in name for part in args.only):
            continue
        worst = worst_of(read, texts, args.give_up)
        quarter = seconds(read, worst.text[: args.size // 4], args.give_up)
        growth = worst.seconds / quarter if quarter else 0.0
        print(
            f"{worst.seconds * 1000:9.1f} ms  x{growth:5.1f} from a quarter  {name}: {worst.name}",
            flush=True,
        )
        timed.append((worst.seconds, name))
    slowest, name = max(timed)
    print(f"{len(texts)} replies of {args.size} characters; slowest: {name}")
    note = f"{name}; {len(texts)} replies, {len(timed)} parsers"
    promise = PROMISED_MS if args.size == 1_000_000 else None
    tell(
        args.figures,
        [Figure("worst megabyte for a parser", slowest * 1000, "ms", promise, note=note)],
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
