"""OpenSeeSimE: questions about images and videos of engineering simulations."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from evalbench.engine.benchmark import (
    Ask,
    Benchmark,
    DataSet,
    DataSource,
    Item,
    Sample,
    Score,
    answer_outcome,
)
from evalbench.engine.benchmarks.openseesime import data, hub
from evalbench.engine.calls import Outcome, Prompt, generate, system, user
from evalbench.engine.calls.options import setting, setting_of
from evalbench.engine.calls.templates import (
    ORIGINAL,
    Template,
    chosen_templates,
    fill,
    prompt_option,
)
from evalbench.engine.data.media import MediaCache
from evalbench.engine.data.reading import Row
from evalbench.engine.scoring import metrics
from evalbench.engine.scoring.chosen_option import (
    OPTION,
    OPTION_LENIENT,
    explanation,
    is_right,
    read_option,
    read_option_lenient,
)
from evalbench.engine.scoring.tally import Metric, Tally

MAX_TOKENS = 512
_ORDER = (
    "Reply with the option alone on the first line, written exactly as it is given"
    " (for example a letter, Yes, or an axis). From the second line on, explain your choice in"
    " one or two sentences.\nAnswer:"
)
_VIDEO = "Here are {count} frames of a video of the simulation, in order of time."

_MAY = {
    "question": "the question",
    "options": "the words Answer options: and the options, a line each; empty without options",
    "frames": "how many frames are shown of a video",
}
_MUST = ("question", "options")
_STILL = {name: what for name, what in _MAY.items() if name != "frames"}
_OURS = f"{{question}}\n\n{{options}}\n\n{_ORDER}"
TEMPLATES: Mapping[str, Template] = {
    "image": Template(_OURS, _STILL, _MUST),
    "video": Template(_VIDEO.replace("count", "frames") + "\n\n" + _OURS, _MAY, _MUST),
}
"""Our own prompts; a whole video uses the prompt for images."""

# Jezemba/ModelInference, llama_medium_claude.py, commit 22e438cc.
_THEIRS = (
    "{question}\n\n{options}\n\nInstructions:\n1. First line: Provide ONLY your answer exactly as"
    " it appears in the options above (e.g., 'A', 'Yes', 'X axis', etc.). Do NOT add any other"
    " text on this line.\n2. Second line onwards: Provide a brief summary (1-2 sentences)"
    " explaining your reasoning.\n\nAnswer:"
)
ORIGINALS: Mapping[str, Template] = {
    "image": Template(_THEIRS, _STILL, _MUST),
    "video": Template(
        "These are {frames} frames from a video showing a sequence. " + _THEIRS, _MAY, _MUST
    ),
}
"""The original's prompts."""


class BrokenMedia(Exception):
    """The image or video of a sample cannot be shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSeeSimEOptions:
    """Options of :class:`OpenSeeSimE`."""

    set: str = setting(
        "structural-mini", "data set to draw from", choices=tuple(data.SETS), affects_data=True
    )
    rows: int = setting(
        200,
        "rows to draw (see --seed), out of five times as many that are streamed",
        minimum=1,
        affects_data=True,
    )
    revision: str | None = setting(
        None, "commit, tag or branch of the data set (default: newest commit)", affects_data=True
    )
    video: str = setting(
        "frames",
        "how to send videos: as frames, or natively to models that accept video",
        choices=("frames", "native"),
        affects_data=True,
    )
    frames: int = setting(8, "frames per video", minimum=1, maximum=64, affects_data=True)
    frame_sampling: str = setting(
        "uniform",
        "frame sampling: evenly from first to last, or the middle of equal segments",
        choices=("uniform", "segment"),
        affects_data=True,
    )
    max_side: int = setting(
        1568,
        "maximum pixels of an image's longer side; larger images are scaled down",
        minimum=64,
        maximum=8000,
        affects_data=True,
    )
    media_cache_gb: float = setting(
        20.0,
        "maximum size of the media cache in GB; least recently used files go first",
        minimum=0.1,
    )
    prompt: str | None = setting_of(prompt_option(ORIGINAL))


class OpenSeeSimE(Benchmark):
    """One question about one image, or about frames of one video."""

    name = "openseesime"
    version = "1"
    title = "OpenSeeSimE"
    summary = "questions about pictures and videos of engineering simulations"
    licence = "MIT"
    data_source = "--rows of a --set on the Hugging Face hub; --data FOLDER reads others instead"
    spread_by = "type"
    spread_within = ("medium", "simulation")
    seeded_data = True
    streams_hub = True
    filters: ClassVar[Mapping[str, str]] = {
        "type": "only these question types",
        "medium": "only: image, video",
        "simulation": "only these simulations",
    }
    opt = OpenSeeSimEOptions()
    prompt_templates = TEMPLATES

    def __init__(self, options: Mapping[str, Any], *, seed: int = 0, shared: Any = None) -> None:
        super().__init__(options, seed=seed, shared=shared)
        self._templates = chosen_templates(self.opt.prompt, TEMPLATES, {ORIGINAL: ORIGINALS})

    def needs(self) -> frozenset[str]:
        """Models that accept images, and videos if these are sent directly."""
        videos = {"video"} if self.opt.video == "native" else set()
        return frozenset({"generate", "images"} | videos)

    def prepare(self, source: DataSource) -> DataSet:
        """Read or stream the rows; scale and store their images."""
        opt, cache = self.opt, MediaCache()
        looks = data.Looks(
            cache,
            frames=opt.frames,
            sampling=opt.frame_sampling,
            longest=opt.max_side,
            native=opt.video == "native",
        )
        cache.trim(int(self.opt.media_cache_gb * 1e9))
        if source.path is None:
            name, wanted = data.SETS[self.opt.set], self.opt.revision
            if source.hub:
                name, wanted = source.hub.name, source.hub.revision or wanted
            commit = hub.commit_of(source, name, wanted)
            draw = hub.Draw(name, commit, self.opt.rows, self.seed)
            kept = source.cache / f"{self.name}-{self._key(draw)}.jsonl"
            items = hub.drawn_items(source, draw, partial(_item, looks, name), kept)
            return DataSet(items, origin=name, revision=commit)
        path = source.path
        found = data.folder_rows(path)
        items = (
            data.item(row, looks, folder, (str(path), number), source.read)
            for number, row, folder in found
        )
        return DataSet(items, origin=path.name)

    def _key(self, draw: hub.Draw) -> str:
        """A name for the selection and how it is shown."""
        opt = self.opt
        looks = [opt.video, opt.frames, opt.frame_sampling, opt.max_side]
        return hashlib.sha256(repr([draw, looks]).encode()).hexdigest()[:24]

    def templates(self) -> Any:
        """The prompt's fixed texts and the parsers' versions."""
        return [_ORDER, _VIDEO, MAX_TOKENS, OPTION, OPTION_LENIENT]

    async def solve(self, sample: Sample, ask: Ask) -> Score:
        """Ask one question; the first line of the reply is the answer."""
        if broken := sample.inputs.get("broken"):
            raise BrokenMedia(broken)
        reply = await ask("candidate", _prompt(sample, self._templates))
        choices = sample.inputs["choices"]
        strict, lenient = read_option(reply.text, choices), read_option_lenient(reply.text, choices)
        outcome = answer_outcome(reply, lenient)
        answered = not outcome.declined
        return Score(
            outcome,
            {
                "accuracy": float(answered and is_right(lenient, sample.gold)),
                "accuracy_strict": float(answered and is_right(strict, sample.gold)),
                "unread_strict": float(strict is None),
            },
            {OPTION_LENIENT: lenient, OPTION: strict},
            explanation(reply.text)[:500],
        )

    def metrics(self, tally: Tally) -> list[Metric]:
        """Accuracy next to that of the most common answer; by type, medium, simulation."""
        out = [
            metrics.rate(tally, "accuracy", "accuracy", "Accuracy"),
            _majority(tally, "majority", "What always the most common answer to its type reaches"),
            metrics.rate(
                tally, "accuracy_strict", "accuracy_strict", f"As read by {OPTION}", "By parser"
            ),
            metrics.rate(
                tally,
                "unread_strict",
                "unread_strict",
                f"Replies {OPTION} reads no option in",
                "By parser",
            ),
        ]
        for tag, group in (
            ("type", "By question type"),
            ("medium", "By medium"),
            ("simulation", "By simulation"),
        ):
            out += metrics.table(
                tally,
                tag,
                "accuracy",
                lambda part, name, value, group=group: metrics.rate(  # type: ignore[misc]
                    part, "accuracy", name, value, group
                ),
            )
        for kind, part in tally.groups("type").items():
            out.append(
                _majority(
                    part, f"majority/type={kind}", kind, "Most common answer, by question type"
                )
            )
        return out


def _item(looks: data.Looks, name: str, row: Row, number: int) -> Item:
    return data.item(row, looks, None, (name, number))


def _majority(tally: Tally, name: str, title: str, group: str = "") -> Metric:
    """The share of scored samples whose gold answer is the most common of their question type."""
    counts: dict[str, dict[str, int]] = {}
    for row in tally:
        if row.outcome is not Outcome.ERROR:
            answers = counts.setdefault(row.tags.get("type", ""), {})
            gold = row.tags.get("answer", "")
            answers[gold] = answers.get(gold, 0) + row.count
    k = sum(max(answers.values()) for answers in counts.values())
    n = sum(sum(answers.values()) for answers in counts.values())
    return Metric(name, k / n if n else None, k=k, n=n, title=title, group=group, share=True)


def _prompt(sample: Sample, templates: Mapping[str, Template] | None) -> Prompt:
    """An image or a whole video precedes the text, frames follow it."""
    given, cache = sample.inputs, MediaCache()
    pictures = [cache.part(medium["type"], medium["sha256"]) for medium in given["media"]]
    whole = any(part.media_type.startswith("video/") for part in pictures)
    frames = given["video"] and not whole
    template = (templates or TEMPLATES)["video" if frames else "image"]
    text = template.user
    if not given["choices"]:
        # Without options there is nothing to separate.
        text = text.replace("{options}\n\n", "")
    values = {
        "question": given["question"],
        "options": "\n".join(["Answer options:", *(f"- {choice}" for choice in given["choices"])]),
        "frames": str(len(pictures)),
    }
    filled = fill(text, values)
    messages = [user([filled, *pictures] if frames else [*pictures, filled])]
    if template.system:
        messages.insert(0, system(fill(template.system, values)))
    return generate(messages, max_tokens=MAX_TOKENS, temperature=0.0)
