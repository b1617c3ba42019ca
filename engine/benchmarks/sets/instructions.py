"""IFEval's 25 kinds of instructions and how each is verified; runs in a child with limits.

Source: J. Zhou et al., "Instruction-Following Evaluation for Large Language Models", arXiv
2311.07911 (2023), with the rules of the authors' code,
https://github.com/google-research/google-research/tree/master/instruction_following_eval.
Three differences: an instruction about a non-letter character counts that character (the authors'
code draws a random letter instead); languages are detected with a fixed seed, so that results never
change; and sentences are split by nltk's Punkt algorithm with the abbreviations below, not with its
trained model of English, which would have to be downloaded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from evalbench.engine.limited_process import LimitedProcess, serve

Args = Mapping[str, Any]

_ABBREVIATIONS = (
    "adj al apr aug ave b.c capt cf co col corp dec dept dr e.g ed eds eq est etc feb fig figs ft "
    "gen gov hon hr i.e inc jan jr jul jun lt ltd mar messrs mr mrs ms mt no nos nov oct op p.m "
    "a.m ph.d pp prof pvt rep rev sen sep sept sgt sr st u.k u.s v vol vs"
)


def process() -> LimitedProcess:
    """A child that verifies; its input is ids, arguments and a reply, its result two lists."""
    return LimitedProcess(__name__)


def follows(ids: Sequence[str], arguments: Sequence[Args], reply: str) -> list[list[bool]]:
    """For each instruction whether a reply follows it: by the strict rule, and by the loose one.

    By the loose rule it is enough if the reply follows it without its first line, its last, or
    both, or without asterisks.
    """
    lines = reply.split("\n")
    some = [reply, *("\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1]))]
    some += [text.replace("*", "") for text in some]
    strict, loose = [], []
    for name, given in zip(ids, arguments, strict=True):
        rule = RULES[name]
        strict.append(bool(reply.strip()) and rule(reply, given))
        loose.append(any(text.strip() and rule(text, given) for text in dict.fromkeys(some)))
    return [strict, loose]


def _compare(count: int, relation: str, wanted: int) -> bool:
    return count < wanted if relation == "less than" else count >= wanted


def _keywords(text: str, a: Args) -> bool:
    return all(re.search(word, text, re.IGNORECASE) for word in a["keywords"])


def _keyword_frequency(text: str, a: Args) -> bool:
    count = len(re.findall(a["keyword"].strip(), text, re.IGNORECASE))
    return _compare(count, a["relation"], a["frequency"])


def _forbidden(text: str, a: Args) -> bool:
    words = a["forbidden_words"]
    return not any(re.search(rf"\b{word}\b", text, re.IGNORECASE) for word in words)


def _letter_frequency(text: str, a: Args) -> bool:
    count = text.lower().count(a["letter"].strip().lower())
    return _compare(count, a["let_relation"], a["let_frequency"])


def _language(text: str, a: Args) -> bool:
    return _guessed(text) in (a["language"], None)


def _guessed(text: str) -> str | None:
    """The language of a text; None if it has no words to tell, which counts as followed."""
    import langdetect

    langdetect.DetectorFactory.seed = 0
    try:
        return str(langdetect.detect(text))
    except langdetect.LangDetectException:
        return None


@lru_cache(1)
def _load_libraries() -> None:
    """Import what reads languages and sentences, which takes a second."""
    from nltk.tokenize import NLTKWordTokenizer

    _guessed("words")
    _splitter()
    NLTKWordTokenizer()


@lru_cache(1)
def _splitter() -> Any:
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    known = PunktParameters()
    known.abbrev_types = set(_ABBREVIATIONS.split())
    return PunktSentenceTokenizer(known)


def _sentences(text: str, a: Args) -> bool:
    return _compare(len(_splitter().tokenize(text)), a["relation"], a["num_sentences"])


def _paragraphs(text: str, a: Args) -> bool:
    parts = re.split(r"\s?\*\*\*\s?", text)
    if any(not part.strip() for part in parts[1:-1]):
        return False
    ends = {0, len(parts) - 1}
    empty = sum(not parts[at].strip() for at in ends)
    return bool(len(parts) - empty == a["num_paragraphs"])


def _words(text: str, a: Args) -> bool:
    return _compare(len(re.findall(r"\w+", text)), a["relation"], a["num_words"])


def _first_word(text: str, a: Args) -> bool:
    parts = re.split(r"\n\n", text)
    count, nth = sum(bool(part.strip()) for part in parts), a["nth_paragraph"]
    if nth > count or not (part := parts[nth - 1].strip()):
        return False
    word = part.split()[0].lstrip("'").lstrip('"')
    first = re.split(r"[.,?!'\"]", word)[0].lower()
    return bool(count == a["num_paragraphs"] and first == a["first_word"].lower())


def _placeholders(text: str, a: Args) -> bool:
    return bool(len(re.findall(r"\[.*?\]", text)) >= a["num_placeholders"])


def _postscript(text: str, a: Args) -> bool:
    marker = a["postscript_marker"].strip()
    known = {"P.P.S": r"\s*p\.\s?p\.\s?s.*$", "P.S.": r"\s*p\.\s?s\..*$"}
    pattern = known.get(marker) or rf"\s*{marker.lower()}.*$"
    return bool(re.findall(pattern, text.lower(), re.MULTILINE))


def _bullets(text: str, a: Args) -> bool:
    stars = re.findall(r"^\s*\*[^\*].*$", text, re.MULTILINE)
    dashes = re.findall(r"^\s*-.*$", text, re.MULTILINE)
    return bool(len(stars) + len(dashes) == a["num_bullets"])


def _constrained(text: str, _: Args) -> bool:
    return any(f"My answer is {word}." in text for word in ("yes", "no", "maybe"))


def _highlights(text: str, a: Args) -> bool:
    single = [one for one in re.findall(r"\*[^\n\*]*\*", text) if one.strip("*").strip()]
    double = [
        one
        for one in re.findall(r"\*\*[^\n\*]*\*\*", text)
        if one.removeprefix("**").removesuffix("**").strip()
    ]
    return bool(len(single) + len(double) >= a["num_highlights"])


def _sections(text: str, a: Args) -> bool:
    parts = re.split(rf"\s?{a['section_spliter'].strip()}\s?\d+\s?", text)
    return bool(len(parts) - 1 >= a["num_sections"])


def _json(text: str, _: Args) -> bool:
    text = text.strip()
    for fence in ("```json", "```Json", "```JSON", "```"):
        text = text.removeprefix(fence)
    try:
        json.loads(text.removesuffix("```").strip())
    except (ValueError, RecursionError):
        return False
    return True


def _title(text: str, _: Args) -> bool:
    titles = re.findall(r"<<[^\n]+>>", text)
    return any(title.lstrip("<").rstrip(">").strip() for title in titles)


def _two_responses(text: str, _: Args) -> bool:
    parts = text.split("******")
    if any(not part.strip() for part in parts[1:-1]):
        return False
    responses = [part.strip() for part in parts if part.strip()]
    return len(responses) == 2 and responses[0] != responses[1]


def _repeats_prompt(text: str, a: Args) -> bool:
    return text.strip().lower().startswith(a["prompt_to_repeat"].strip().lower())


def _ends_with(text: str, a: Args) -> bool:
    return text.strip().strip('"').lower().endswith(a["end_phrase"].strip().lower())


def _capital_words(text: str, a: Args) -> bool:
    from nltk.tokenize import NLTKWordTokenizer

    tokens = [
        token
        for sentence in _splitter().tokenize(text)
        for token in NLTKWordTokenizer().tokenize(sentence)
    ]
    count = sum(token.isupper() for token in tokens)
    return _compare(count, a["capital_relation"], a["capital_frequency"])


def _all_capital(text: str, _: Args) -> bool:
    return text.isupper() and _guessed(text) in ("en", None)


def _all_small(text: str, _: Args) -> bool:
    return text.islower() and _guessed(text) in ("en", None)


def _no_comma(text: str, _: Args) -> bool:
    return "," not in text


def _quoted(text: str, _: Args) -> bool:
    text = text.strip()
    return len(text) > 1 and text[0] == text[-1] == '"'


RULES: Mapping[str, Callable[[str, Args], bool]] = {
    "keywords:existence": _keywords,
    "keywords:frequency": _keyword_frequency,
    "keywords:forbidden_words": _forbidden,
    "keywords:letter_frequency": _letter_frequency,
    "language:response_language": _language,
    "length_constraints:number_sentences": _sentences,
    "length_constraints:number_paragraphs": _paragraphs,
    "length_constraints:number_words": _words,
    "length_constraints:nth_paragraph_first_word": _first_word,
    "detectable_content:number_placeholders": _placeholders,
    "detectable_content:postscript": _postscript,
    "detectable_format:number_bullet_lists": _bullets,
    "detectable_format:constrained_response": _constrained,
    "detectable_format:number_highlighted_sections": _highlights,
    "detectable_format:multiple_sections": _sections,
    "detectable_format:json_format": _json,
    "detectable_format:title": _title,
    "combination:two_responses": _two_responses,
    "combination:repeat_prompt": _repeats_prompt,
    "startend:end_checker": _ends_with,
    "startend:quotation": _quoted,
    "change_case:capital_word_frequency": _capital_words,
    "change_case:english_capital": _all_capital,
    "change_case:english_lowercase": _all_small,
    "punctuation:no_comma": _no_comma,
}
NEEDS: Mapping[str, tuple[str, ...]] = {
    "keywords:existence": ("keywords",),
    "keywords:frequency": ("keyword", "frequency", "relation"),
    "keywords:forbidden_words": ("forbidden_words",),
    "keywords:letter_frequency": ("letter", "let_frequency", "let_relation"),
    "language:response_language": ("language",),
    "length_constraints:number_sentences": ("num_sentences", "relation"),
    "length_constraints:number_paragraphs": ("num_paragraphs",),
    "length_constraints:number_words": ("num_words", "relation"),
    "length_constraints:nth_paragraph_first_word": (
        *("num_paragraphs", "nth_paragraph", "first_word"),
    ),
    "detectable_content:number_placeholders": ("num_placeholders",),
    "detectable_content:postscript": ("postscript_marker",),
    "detectable_format:number_bullet_lists": ("num_bullets",),
    "detectable_format:number_highlighted_sections": ("num_highlights",),
    "detectable_format:multiple_sections": ("section_spliter", "num_sections"),
    "combination:repeat_prompt": ("prompt_to_repeat",),
    "startend:end_checker": ("end_phrase",),
    "change_case:capital_word_frequency": ("capital_frequency", "capital_relation"),
}
"""The arguments required by each kind; the others have none."""


if __name__ == "__main__":
    serve(lambda piece: follows(*piece), lambda piece: _load_libraries())
