"""Text that would harm a terminal, crash a screen or upset its columns; a run full of it."""

from __future__ import annotations

from evalbench.engine.benchmark import Sample
from evalbench.engine.calls import (
    Call,
    MediaPart,
    ModelRef,
    Outcome,
    ParamNote,
    Prompt,
    Reply,
    TextPart,
    assistant,
    choose,
    generate,
    system,
    user,
)
from evalbench.engine.calls.replies import plain
from evalbench.engine.journal import CallKey, Journal
from evalbench.engine.journal.codec import quotable
from tests.pretending import ACCURACY, PretendEngine, pretend

NASTY = {
    "closing bracket": "[/",
    "empty tag": "[/]",
    "closing tag": "[/foo] [bold]no[/bold]",
    "click": "[@click=app.exit()]press me[/]",
    "link": "[link='file:///etc/passwd']here",
    "styles": "[on red]x[/] [$primary]y [red",
    "colours": "\x1b[31mred\x1b[0m \x9b32mgreen",
    "cursor": "\x1b[2J\x1b[H\x1b[10A\x1b[?1049l",
    "clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "hyperlink": "\x1b]8;;http://evil.example\x1b\\text\x1b]8;;\x1b\\",
    "title": "\x1b]0;owned\x07\x1bPq#0\x1b\\",
    "half a sequence": "end \x1b",
    "bells": "a\x07b\x08c\x0b\x0c\x0e\x7fd",
    "nul": "a\0b\0",
    "tabs": "one\ttwo\t\tthree",
    "line ends": "one\rtwo\r\nthree\u2028four\u2029five\x85six",
    "family": "\U0001f468\u200d\U0001f469\u200d\U0001f467 and \U0001f3f3\ufe0f\u200d\U0001f308",
    "combining": "Z" + "\u0351\u0327\u0489" * 40 + "algo e\u0301",
    "right to left": "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 \u202egnp\u2066x",
    "wide": "漢字" * 30 + "ｗｉｄｅ",
    "variation": "\u2764\ufe0f 1\ufe0f\u20e3 \U0001f1e9\U0001f1ea",
    "surrogate": "half \ud83d of \udc00 one",
    "private": "\ue000\U000f0000\ufff9\ufffa\ufeff\u00ad\u2028",
    "percent": "%s {0} {x!r} ${HOME} `rm`",
    "nothing": "",
    "blanks": " \n\n \t\n",
    "a long line": "x[/]\x1b[1m" * 100_000,
    "many lines": "line\n" * 2_000,
}
"""What models and data sets have said, or could."""

STORABLE = {name: plain(Reply(text)).text for name, text in NASTY.items()}
"""The same without what JSON cannot carry; the engine stores no other."""


async def nasty_run() -> PretendEngine:
    """A live run whose every text is nasty, one kind for each sample.

    The sample after those was not asked; the last one was asked with broken pictures.
    """
    evil = "".join(STORABLE[name] for name in ("closing tag", "click", "colours", "clipboard"))
    made = pretend(
        "quickstart", f"local/good{evil}", total=len(STORABLE) + 2, desc=evil, tag=[evil]
    )
    model = ModelRef("local", f"good{evil}")
    journal = Journal(made.folder.journal)
    for row, text in enumerate(STORABLE.values(), 1):
        await one_sample(journal, row, text, model)
    journal.add_samples([(len(STORABLE) + 1, Sample("0" * 16 + ".1", {"a": []}, None, {}))])
    # What an image of a prompt may be.
    broken = [
        MediaPart("image/png", b"\x89PNG\r\n\x1a\nbroken"),
        MediaPart("image/[/foo]\x1b[31m", b"no picture"),
        MediaPart("video/mp4", b"\0" * 100),
        MediaPart("image/gif", b""),
    ]
    last = Sample("1" * 16 + ".1", {"question": "pictures"}, "A", {})
    row = len(STORABLE) + 2
    journal.add_samples([(row, last)])
    store(journal, row, last, generate([user([*broken, "what is it?"])]), None, model)
    await journal.close()
    made.status(
        done=len(STORABLE),
        metrics={"accuracy": {**ACCURACY, "title": evil}},
        outcomes={"ok": 3, "error": 1},
        errors={evil: 3},
        params={"temperature": {"fate": "dropped", "reason": evil}},
        problem=evil,
        gauges={"in_flight": 1, "waiting": 3, "paused_s": 3.0, "paused_why": evil},
    )
    for text in STORABLE.values():
        made.event("wait", reason=text[:2000], what=text[:2000], asked=3.0)
        made.event("sample-failed", error=text[:2000])
        made.event(text[:200], anything=text[:2000])
    return made


def store(
    journal: Journal, row: int, sample: Sample, prompt: Prompt, reply: Reply | None, model: ModelRef
) -> None:
    """One call of a sample."""
    call = Call(model, prompt)
    step = f"step {len(prompt.messages)}"
    key = CallKey(0, "candidate", str(model), step, 0)
    journal.intend(row, key, 0, call, call.content_hash, quotable(sample))
    if reply is not None:
        journal.store_reply(row, key, 0, reply)


async def one_sample(journal: Journal, row: int, text: str, model: ModelRef) -> None:
    """A sample with the text wherever text can be."""
    tags = {"subject": text[:3000], text[:50] or "none": "x"}
    sample = Sample(f"{row:016x}.1", {"question": text, "choices": [text, text]}, row % 2, tags)
    journal.add_samples([(row, sample)])
    shared = TextPart(text, shared=True)
    turns = [system(text), user([shared, text]), assistant(text), user(text)]
    reply = Reply(
        text,
        reasoning=text,
        stop_reason=text[:100],
        provider_model=text[:100],
        request_id=text[:100],
        params=(ParamNote(text[:50] or "seed", "dropped", text[:500]),),
        latency_s=0.5,
    )
    store(journal, row, sample, generate(turns), reply, model)
    store(
        journal,
        row,
        sample,
        choose(text, [text, " B"]),
        Reply(logprobs=(-1.0, float("-inf"))),
        model,
    )
    failed = Reply(error=f"Overloaded: {text}", outcome=Outcome.ERROR, possibly_billed=True)
    store(journal, row, sample, generate([user(text)] * 2), failed, model)
    detail = {
        "parsed": {text[:50] or "letter": text, "lenient/1": text},
        "note": text,
        text[:20]: text,
    }
    journal.store_score(row, 0, tags, Outcome.OK, {text[:20] or "accuracy": row % 2}, detail)
