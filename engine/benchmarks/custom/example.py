"""The examples that ``evalbench new-benchmark`` writes; each runs without changes."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Template:
    """An example.

    Attributes:
        about: a one-line description.
        file: the TOML file; ``NAME`` is replaced by its name.
        table: the table next to it.
        suffix: the table's extension.
        others: further files next to it, by name.
    """

    about: str
    file: str
    table: str
    suffix: str = ".csv"
    others: Mapping[str, bytes] = field(default_factory=dict)


_HEAD = """\
# A benchmark of your own: this file, and a table of questions beside it.
# Try it:    evalbench run NAME.toml
# See it:    evalbench benchmarks NAME.toml --prompts 2
# All of it: docs/custom-benchmarks.md

[benchmark]
title = "NAME"
"""

_CHOICE = Template(
    "one of several options",
    _HEAD
    + '''\
data = "NAME.csv"          # or .jsonl, .parquet, .xlsx; --data FILE takes another one
group = "topic"            # a column: results are shown for each of its values

[prompt]
# {{ names }} are columns of the table (Jinja). {{ choices }} is the list of options.
template = """
{{ question }}

A) {{ a }}
B) {{ b }}
C) {{ c }}

Reply with the letter of the right option only."""
# system = "You are a careful assistant."
max_tokens = 64
temperature = 0

[answer]
target = "answer"          # the column with the right answer: its text, letter or number from 0
choices = ["a", "b", "c"]  # columns of the options, or one column with a list
scorer = "choice"          # exact, contains, numeric, regex, judge … see the page named above
''',
    """\
question,a,b,c,answer,topic
Which planet is closest to the Sun?,Venus,Mercury,Mars,Mercury,space
How many legs does a spider have?,8,6,10,8,animals
What is frozen water called?,steam,ice,sand,ice,everyday
Which animal says moo?,the cat,the cow,the owl,the cow,animals
What do bees make?,honey,milk,bread,honey,animals
Which is the largest ocean?,Atlantic,Arctic,Pacific,Pacific,space
""",
)

_NUMBER = Template(
    "a number, after some thinking",
    _HEAD
    + '''\
data = "NAME.csv"

[prompt]
template = """
{{ question }}
Think step by step, and end with a line such as: #### 42"""
shots = 1                  # the first row is shown as an example, and not asked
shot_answer = "{{ work }}\\n#### {{ answer }}"
max_tokens = 512

[answer]
target = "answer"
scorer = "numeric"         # 1,000 and 1000 are the same; units and currencies do not count
tolerance = 0.001          # of the right number
''',
    """\
question,work,answer
Ann has 3 bags of 4 apples. How many apples has she?,3 bags of 4 apples are 3 * 4 = 12 apples.,12
A book costs $8 and a pen $2. What do 2 books and 3 pens cost?,2 * 8 + 3 * 2 = 16 + 6 = 22.,22
A train runs 150 km in 2.5 hours. How fast is it in km/h?,150 / 2.5 = 60.,60
""",
)

_TEXT = Template(
    "a word or phrase",
    _HEAD
    + """\
data = "NAME.csv"

[prompt]
template = "{{ question }} Reply with the answer only."
max_tokens = 32

[answer]
target = "answer"
separator = ";"            # several right answers in one cell

[[score]]
scorer = "exact"           # case, articles and full stops do not count
weight = 2

[[score]]
scorer = "f1"              # how many words it shares with the right answer
""",
    """\
question,answer
What is the capital of France?,Paris
Who wrote Hamlet?,Shakespeare;William Shakespeare
What gas do plants take in?,carbon dioxide;CO2
""",
)

_JUDGED = Template(
    "answers that a judge rates by a rubric; needs --judge",
    _HEAD
    + '''\
data = "NAME.csv"

[prompt]
template = "{{ task }}"
max_tokens = 512

[answer]
scorer = "judge"           # or "graded": right or wrong, by a reference in target

[judge]
rubric = """
Task: {{ task }}
Answer: {{ reply }}
Is the answer correct, complete and polite? Mind: {{ mind }}"""
low = 1
high = 10
''',
    """\
task,mind
Write a two-line birthday greeting for a colleague.,it should not be too familiar
Explain to a child why the sky is blue.,no formulas
""",
)

_CHAT = Template(
    "a conversation that goes on",
    _HEAD
    + """\
data = "NAME.jsonl"

[prompt]
system = "You are the help desk of a bicycle shop. Answer in one sentence."
messages = "conversation"  # a column with messages: role and content; the last is the user's
max_tokens = 128

[answer]
target = "must_say"
scorer = "contains"
""",
    """\
{"conversation": [{"role": "user", "content": "Hi, I am Kim. My bike has 28 inch wheels."}, \
{"role": "assistant", "content": "Hello Kim, how can I help?"}, \
{"role": "user", "content": "Which tube size do I need, in inches?"}], "must_say": "28"}
{"conversation": [{"role": "user", "content": "Do you open at 9 or at 10? Your sign says 10."}], \
"must_say": "10"}
""",
    ".jsonl",
)


_PROGRAM = Template(
    "programs, which are tested; needs a sandbox such as bubblewrap",
    _HEAD
    + '''\
data = "NAME.jsonl"

[prompt]
template = """
Write a Python function. {{ task }} It must pass these tests:

```python
{{ tests }}
```
Reply with the code in one fenced block and nothing else."""
max_tokens = 512

[answer]
target = "tests"           # Python that is run after the program; an error means that it is wrong
scorer = "program"
seconds = 10               # for the program and its tests
''',
    """\
{"task": "add(a, b) gives the sum of two numbers.", \
"tests": "assert add(2, 3) == 5\\nassert add(-1, 1) == 0"}
{"task": "last(items) gives the last item, or None.", "tests": \
"assert last([1, 2]) == 2\\nassert last([]) is None"}
""",
    ".jsonl",
)


def _png(red: int, green: int, blue: int) -> bytes:
    """An image of 32 × 32 pixels in one colour."""
    rows = (b"\0" + bytes((red, green, blue)) * 32) * 32

    def chunk(kind: bytes, body: bytes) -> bytes:
        check = zlib.crc32(kind + body).to_bytes(4, "big")
        return len(body).to_bytes(4, "big") + kind + body + check

    size = (32).to_bytes(4, "big")
    head = chunk(b"IHDR", size + size + b"\x08\x02\0\0\0")
    return (
        base64.b16decode("89504E470D0A1A0A")
        + head
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


_PICTURES = Template(
    "questions about pictures",
    _HEAD
    + """\
data = "NAME.csv"

[prompt]
template = "{{ question }} Reply with one word."
images = ["picture"]       # columns with files beside the table; they come before the text
max_tokens = 16

[answer]
target = "answer"
scorer = "exact"
""",
    """\
question,picture,answer
What colour is this?,red.png,red
What colour is this?,blue.png,blue
""",
    others={"red.png": _png(220, 20, 20), "blue.png": _png(20, 20, 220)},
)

_CODE = Template(
    "what a program prints",
    _HEAD
    + '''\
data = "NAME.jsonl"

[prompt]
template = """
What does this Python program print?

```python
{{ code }}
```
End with a line: Output: …"""
max_tokens = 256

[answer]
target = "prints"
scorer = "regex"
pattern = "(?s).*Output:[ `]*([^`\\\\n]+)"
normalize = ["space", "punctuation"]
''',
    """\
{"code": "print(sum(range(5)))", "prints": "10"}
{"code": "print('a'.join(['x', 'y', 'z']))", "prints": "xayaz"}
""",
    ".jsonl",
)

TEMPLATES: Mapping[str, Template] = {
    "choice": _CHOICE,
    "number": _NUMBER,
    "text": _TEXT,
    "judged": _JUDGED,
    "chat": _CHAT,
    "pictures": _PICTURES,
    "code": _CODE,
    "program": _PROGRAM,
}


def files_of(template: str, name: str) -> dict[str, bytes]:
    """The files of an example, by file name; the TOML file comes first."""
    found = TEMPLATES[template]
    return {
        f"{name}.toml": found.file.replace("NAME", name).encode(),
        f"{name}{found.suffix}": found.table.encode(),
        **found.others,
    }
