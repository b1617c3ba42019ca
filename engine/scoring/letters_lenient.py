"""Parses the letter of a multiple-choice answer as a person would.

The rules, in order; the first that finds something decides:

1. The whole reply is one letter, whatever brackets, quotes or marks surround it. A reply that
   takes its answer back ("B. Wait, …") is read from there on, if it comes to a letter again.
2. A labelled answer: ``Answer: C``, ``the correct answer is (c)``, ``\\boxed{C}``.
   Of several the last counts, so a correction beats what it corrects ("Actually, C").
3. The last line is one letter.
4. The one option called right where each line says of one option whether it is.
5. The reply opens with a letter set off from what follows: ``B) Paris``, ``C. because``.
   Letters that run on in order (``A) … B) …``) repeat the question and answer nothing.
6. A stated choice: ``I think it's C``, ``B is correct``, ``B remains``, ``so D``.
   The last counts.
7. The only option mentioned: ``option B``, ``(B)`` at the end of a line, ``: B`` at the very end;
   in another language than English also the only letter of a reply of one short sentence.

Two letters joined (``A and B``, ``B or C``) are no answer. ``A`` or ``a`` before a word is the
article. A letter past the last option is no answer. Reasoning tags, control tokens, Markdown and
LaTeX wrapping are removed first. Full-width, circled, squared and mathematical letters count as
the ASCII ones; Greek and Cyrillic look-alikes do not. Zero-width marks and emoji are ignored.

Text that begins a new question ends the reply. A reply that only weighs options one by
one, or was cut while it did or before the letter, chooses none; nor does one that says it
depends, cannot decide, or only asks. Sentences that name an answer are understood
in English, Spanish, French, German, Portuguese, Italian, Polish, Turkish, Vietnamese,
Russian, Arabic, Hindi, Thai, Japanese, Korean and Chinese.

Of a reply of more than 10,000 characters the first and the last 5,000 are read. Of more than
300 words for an answer (``answer``, ``option``) the last 300 can be labels, and of more than
2,000 letters the last 2,000 are looked at.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque

from evalbench.engine.scoring.letters import LETTERS
from evalbench.engine.scoring.reply_text import (
    answer_text,
    before_next_question,
    ends,
    without_markup,
)

LENIENT = "letter-lenient/8"

# What a rule returns besides a letter or None (found nothing, try the next rule).
_NO_CHOICE = ""


def read_lenient(reply: str, options: int = 4) -> int | None:
    """Index of the option a person would read, or None. See the module docstring for the rules.

    Args:
        reply: the model's answer.
        options: the number of options, at most 7.
    """
    text = _clean(reply)
    for rule in _RULES:
        found = rule(text)
        if found is not None:
            at = LETTERS.find(found) if found else -1
            return at if 0 <= at < options else None
    return None


# Letterlike signs, full-width, circled, parenthesized, squared and mathematical letters.
_DRESSED_RANGES = (
    *((0x2100, 0x2150), (0x249C, 0x24EA), (0xFF21, 0xFF5B)),
    *((0x1D400, 0x1D6A4), (0x1F110, 0x1F14A)),
)
_DRESSED = {
    code: plain
    for first, end in _DRESSED_RANGES
    for code in range(first, end)
    if (plain := unicodedata.normalize("NFKC", chr(code)).strip("()")) in {*LETTERS, *"abcdefg"}
} | {first + at: letter for first in (0x1F150, 0x1F170) for at, letter in enumerate(LETTERS)}
_EMOJI = dict.fromkeys([*range(0x2600, 0x27C0), *range(0x1F300, 0x1FB00), 0x2B50, 0x20E3], " ")
# "✅ B) Paris" among options without a tick, or with a cross.
_TICKED = re.compile(
    r"^[ \t]*[-*•]?[ \t]*[✅✔✓☑][ \t]*\**[(\[]?([A-G])(?![A-Za-z0-9])", re.MULTILINE
)
_TICKED_AFTER = re.compile(
    r"^[ \t]*[-*•]?[ \t]*\**[(\[]?([A-G])[)\].:](?![A-Za-z0-9])[^\n✅✔✓☑]{0,200}[✅✔✓☑]\**[ \t]*$",
    re.MULTILINE,
)
_CROSS = re.compile("[❌✗✘✖]")
_TICKED_BESIDE = re.compile(r"(?<![A-Za-z0-9])([A-G])[).:]?[ \t|]*[✅✔✓☑]")
_TAG = r"(?:final[_ -]?)?(?:answer|ans|result|option|choice|output|response|letter|solution)|final"
_BOXED = re.compile(rf"\\(?:boxed|fbox)\s*(?=\{{)|<(?:{_TAG})>", re.IGNORECASE)
_END_ANSWER = re.compile(rf"</(?:{_TAG})>", re.IGNORECASE)
_TICKED_BEFORE = re.compile(r"[✅✔✓☑][ \t|]*\(?([A-G])(?![A-Za-z0-9])")
_MARK_OR_LETTER = re.compile(r"([❌✗✘✖✅✔✓☑])|(?<![A-Za-z0-9])[A-G](?![A-Za-z0-9])")
_BOX_EMPTY = re.compile(r"☐|(?<!\w)(?:\[ \]|\( \))")
_BOX_TICKED = re.compile(r"(?<!\w)(?:\[[xX]\]|\([xX]\))")


def _ticked(text: str) -> str:
    """The text with an answer in place of the one ticked option among crossed ones."""
    first = _MARK_OR_LETTER.search(text)
    pattern = _TICKED_BEFORE if first and first[1] else _TICKED_BESIDE
    return pattern.sub(r"answer: \1. ", text) if len(pattern.findall(text)) == 1 else text


_STRUCK = re.compile(r"~~(?=\S)[^~\n]{1,300}~~")
_QUOTED = re.compile(r"[\"'“”‘’«»]\s*([A-Ga-g][.)]?)\s*[\"'“”‘’«»]")
_BULLET = re.compile(
    r"^[ \t]*(?:[-*•·+–—][ \t]+(?=\S)|\d{1,2}(?:[.)][ \t]+|[ \t]?-[ \t]?)"
    r"(?=\(?[A-Ga-g]\)?[.:]?[ \t]*$))",
    re.MULTILINE,
)


# Longer than any that belongs to an answer; the patterns below would be slow on very long ones.
_LONGEST = 8_000
_RUN_OF_MARKS = re.compile(r"[\W_]{61,}")


def _undressed(text: str) -> str:
    """The text with ASCII letters for circled, squared and full-width ones.

    A lone full-width letter stays as it is: it is as likely a typing error.
    """
    return text if len(text) == 1 and "Ａ" <= text <= "ｚ" else text.translate(_DRESSED)


def _one_turn(text: str) -> str:
    """The text without marks of chat templates such as ``[/INST]``, up to a next user's turn."""
    text = text.removeprefix("<bos>").lstrip()
    if text.startswith(("[INST]", "[/INST]")):
        text = text.partition("[/INST]")[2]
    return text.partition("[INST]")[0].strip()


def _without_table_edges(text: str) -> str:
    if "|" not in text:
        return text
    return "\n".join(
        line.strip(" \t|") if line.lstrip().startswith("|") else line for line in text.split("\n")
    )


# A letter, and below it another question with its options.
_ASKS_ANEW = re.compile(
    r"\s*([(*]{0,3}[A-G][).:*]{0,3}(?:"
    r"[ ][^\n]{1,200})?)\n[^\n]{0,300}\n?[^\n]{10,400}\?\s*\n\s*\(?A[).:][ ]"
)


def _clean(reply: str) -> str:
    head, _ = before_next_question(_one_turn(ends(answer_text(reply), _LONGEST)))
    text = _RUN_OF_MARKS.sub(lambda run: f"{run[0][:30]}\n{run[0][-30:]}", head)
    if anew := _ASKS_ANEW.match(text):
        text = anew[1]
    text = _undressed(text)
    if _BOX_EMPTY.search(text):
        text = _BOX_TICKED.sub("✅", _BOX_EMPTY.sub("❌", text))
    text = _TICKED.sub(r"answer: \1", text)
    if len(_TICKED_AFTER.findall(text)) == 1:
        text = _TICKED_AFTER.sub(r"answer: \1", text)
    elif _CROSS.search(text):
        text = _ticked(text)
    text = text.translate(_EMOJI)
    text = _END_ANSWER.sub("\n", _BOXED.sub(" answer: ", text))
    text = _QUOTED.sub(lambda quoted: f" {quoted[1]} ", without_markup(_STRUCK.sub(" ", text)))
    text = (
        text.replace("（", "(")
        .replace("）", ")")
        .replace("：", ":")
        .replace("【", " ")
        .replace("】", ": ")
        .replace("。", ". ")
        .replace("．", ". ")
        .replace("，", ", ")
    )
    return _BULLET.sub("", _without_table_edges(text)).strip()


_OPEN = r"[(\[<«“‘\"']*[ \t]*"
# A letter on its own: not part of a word or term (B12, C++, A-frame, D.C., A's).
_ENDS_THERE = r"(?![A-Za-z0-9+#&_/]|['’][A-Za-z]|-\w|\.[A-Za-z](?![A-Za-z]))"
_LETTER = _OPEN + r"(?<![A-Za-z0-9])(?P<letter>[A-Ga-g])" + _ENDS_THERE
# The same, ignoring case, for patterns that start with it: the letter is searched for.
_FIRST_LETTER = rf"(?P<letter>[A-Ga-g])(?i:(?<![A-Za-z0-9].){_ENDS_THERE})"
_CLOSE = r"[)\]>.:,;!?\"'”’»]"

_LINK = (
    r"(?:(?:more|better)[ ]than|because|since|as|for|due|and|but|which|is|are|was|so|while|if"
    r"|given|based|it|this|that|comes[ ]closest|stands[ ]out|remains"
    r"|or|would|must|should|by|in|from|seems|appears|looks|fits|rather|not|though|although|then"
    r"|here|on[ ](?:the|my)|to[ ]me|exactly|perfectly|precisely|the[ ](?:correct|right|best"
    r"|only))\b"
    r"|(?:porque|pues|ya[ ]que|parce|puisque|weil|denn|da|pois|perché|poiché|ponieważ|bo|çünkü|vì"
    r"|потому|так[ ]как)\b|لأن|क्योंकि|है|เพราะ|です|だ|で|が|입니다|이다|번|이|가|是|为|因|，"
    r"|、|项|項|seçene\w*|şıkkı\w*|svarer|vaihtoehto"
)
_SET_OFF = re.compile(rf"\s*(?:$|{_CLOSE}|[–—|→]|-\s|-+>|\n|{_LINK})")
_WORD_FOLLOWS = re.compile(rf"[ \t]+(?!{_LINK})[a-z]")
_WRONG_ABROAD = (
    r"नहीं|(?:では|じゃ)(?:あり|な)|(?:是|是[ ])?(?:错|錯|不对|不對|不正确|不正確|不是)|(?:は"
    r"|が)(?:間違|誤|不正解|違)|(?:은|는|이"
    r"|가)[ ]?(?:틀|오답|아)"
    r"|(?:es|est|ist|é|è|jest|là)[ ]+(?:la[ ]+)?(?:incorrect|falsch|fals|nicht|pas|errad"
    r"|sbagliat|błędn|nieprawid|sai)"
    r"|(?:no|non|não|nie|ne|не)[ ](?:es|è|é|est|jest|это)|n['’]est|yanlış|değil|sai\b|không"
    r"|неверн|неправ|—[ ]невер|خاط|خطأ|गलत|ผิด|ไม่"
)
_DENIED = re.compile(
    rf"{_CLOSE}*[ \t]*(?:[选選项項][项項]?|şıkkı|seçeneği|선택지)?[ \t]*(?:{_WRONG_ABROAD}|"
    rf"(?:is|was|are"
    rf"|would[ ]be|seems)[ ](?:not|wrong|incorrect|false|out|off|eliminated|excluded|impossible"
    r"|invalid|inaccurate|unlikely)\b|(?:fails|contradicts)\b"
    r"|(?:is|was|does|can|would)n['’]t\b|cannot\b"
    r"|,?[ ](?:but|and)[ ](?:that|this|it)(?:['’]s|[ ]is)[ ]"
    r"(?:wrong|incorrect|not|false|a[ ]mistake)\b"
    r"|can[ ]be[ ](?:ruled|eliminated)\b)"
)
_AND_ABROAD = (
    r"(?:(?<=[ ])(?:y|o|e|et|ou|und|oder|i|lub|oraz|ve|veya|ya[ ]da|và|hoặc|и|или|أو|और"
    r"|या)(?=[ ])|(?<=[ ])و(?=[ A-G])"
    r"|และ|หรือ|と|か|や|または|와|과|및|또는|和|或|与|與|及)"
)
_JOINED = re.compile(
    rf"{_CLOSE}?[ \t]*(?:[,/&+;|、]|\b(?:and|or|and/or|as[ ]well[ ]as)\b|{_AND_ABROAD}"
    rf"|(?<=\))(?=\())[ \t]*(?:and|or|as[ ]well[ ]as)?[ \t]*(?:(?:possibly|maybe|perhaps|even)[ ])?"
    r"(?:option|choice|letter|answer|la|el|l['’])?[ \t]*[(\[\"'“]?"
    r"(?<![A-Za-z])(?:([A-G])(?![A-Za-z0-9'’])|([a-g])(?=[\s).]*$))"
    rf"(?!{_CLOSE}?[ ](?:is|was|isn|does|has|can|would)\b)"
)
_JOINED_BEFORE = re.compile(
    r"(?<![A-Za-z])([A-G])[)\]]?,?[ ](?:and|or)[ ]"
    r"(?:(?:possibly|maybe|perhaps|even)[ ])?(?:option[ ])?[(\[]?$"
)


def _chosen(found: re.Match[str], *, set_off: bool = False) -> str | None:
    """The letter of a match in upper case, ``_NO_CHOICE``, or None if no option has it.

    ``set_off`` requires a mark, a line end or a linking word after it.
    """
    text, start, end = found.string, found.start("letter"), found.end("letter")
    letter = text[start:end]
    if _NEITHER.search(text, max(0, start - 9), start):
        return None
    followed = _SET_OFF.match(text, end)
    if _DENIED.match(text, end) or (set_off and not followed):
        return None
    if letter.islower() and not (followed or text[start - 1 : start] in "(["):
        return None
    if letter == "A":
        before = _sign_before(text, start)
        if before in ("", ":", "\n") and _WORD_FOLLOWS.match(text, end):
            return None
        if before == "\n" and _lists_options(letter, text[end:]):
            return None
    joined = _JOINED.match(text, end) or _JOINED_BEFORE.search(text, max(0, start - 20), start)
    if joined and joined[joined.lastindex or 1].upper() != letter.upper():
        return _NO_CHOICE
    return letter.upper()


# "weder A noch B"
_NEITHER = re.compile(r"\b(?:weder|noch|ni|né|nem|ani|ни|neither|nor)[ ]$", re.IGNORECASE)
_MOST_LETTERS = 2000


_SUPPOSES = re.compile(r"[)\].]*[ ](?:if|unless|were|had)\b")


_OTHERS_SAY = re.compile(
    r"\b(?:people|students|others|many|some|you|one)\b[ ](?:might|may|could|often|commonly"
    r"|would)?[ ]?"
    r"(?:think|choose|say|pick|believe|answer|assume|guess|select)\b[^.\n]{0,20}$",
    re.IGNORECASE,
)
_BUT_IS_NOT = re.compile(
    r"[^.\n]{0,40},?[ ]but[ ](?:it|that|this)(?:[ ]is[ ]not|['’]s[ ]not|[ ]isn['’]t)\b"
)


def _is_supposed(found: re.Match[str]) -> bool:
    """Whether a letter is right only under a condition, or for others: "would be A if …"."""
    text, end = found.string, found.end("letter")
    before = text[max(0, found.start("letter") - 40) : found.start("letter")]
    if _SUPPOSES.match(text, end):
        return "would" in before[-24:]
    return _OTHERS_SAY.search(before) is not None or _BUT_IS_NOT.match(text, end) is not None


def _sign_before(text: str, start: int) -> str:
    """What precedes a letter, apart from spaces and opening brackets; may be empty."""
    while start and text[start - 1] in " \t(":
        start -= 1
    return text[start - 1] if start else ""


def _last(
    text: str, *patterns: re.Pattern[str], set_off: bool = False, start: int = 0
) -> str | None:
    """The last of all matches from ``start`` on that is an option's letter."""
    found = (match for pattern in patterns for match in pattern.finditer(text, start))
    newest = sorted(found, key=lambda match: match.start("letter"), reverse=True)
    letters = (
        _chosen(match, set_off=set_off)
        for match in newest[:_MOST_LETTERS]
        if not _is_supposed(match)
    )
    return next((letter for letter in letters if letter is not None), None)


_TRIM = r"[\s.,;:!?()\[\]<>\"'“”‘’«»*_|=…–—∴⇒→➜▶-]*"
_BARE = re.compile(
    rf"{_TRIM}(?:(?:option|choice|letter|answer|letra|lettera|lettre|odpowiedź|respuesta"
    rf"|resposta|risposta"
    rf"|réponse|antwort|cevap|opción|opção|opzione)\b{_TRIM})?(?P<letter>[A-Ga-g]){_TRIM}",
    re.IGNORECASE,
)


def _bare(text: str) -> str | None:
    if found := _BARE.fullmatch(text):
        return found["letter"].upper()
    words = set(re.split(r"[\s.,;:()\[\]]+", text)) - {""}
    return words.pop() if len(words) == 1 and words <= set(LETTERS) else None


# Here and below: checking the first letter spares most words a try of each alternative.
_NOUN = (
    r"(?=[acolsrbvg答])(?:answer|ans|option|choice|letter|solution|selection|response|verdict|guess"
    r"|答案|(?:correct|right|best)[ ]one)"
)
# Words between the noun and its verb, as in "answer to this question is"; a negation ends them.
_GAP = r"(?:[ \t]+(?!(?:not|cannot|options?|choices?)\b)[^\s.:;!?,()=]+(?<!n['’]t)){0,10}?"
_FILL = (
    r"(?:(?:the|option|choice|letter|answer|number|likely|most|probably|clearly|definitely|indeed"
    r"|therefore|thus|simply|actually|still|hence|correct|right|best|statement|conclusion|response"
    r"|that|description|last|first|second|third|fourth|one|of[ ]course|certainly|undoubtedly"
    r"|surely)"
    r"(?:[ \t,#]+|:\s+)|\#){0,4}"
)
_IS = r"\b(?:is|was|(?:would|should|must|will|has[ ]to|seems[ ]to|appears[ ]to)[ ]be)\b"
_LABEL = re.compile(
    rf"(?<![A-Za-z])(?<!each[ ])(?<!every[ ])(?<!jede[ ])(?<!jeder[ ])(?<!chaque[ ])(?<!elke[ ])"
    rf"(?<!first[ ])(?<!this[ ])"
    rf"(?<!with[ ]){_NOUN}{_GAP}[\"'”]?\s*"
    rf"(?::|=|[-–—]+>?|→|/|(?<=ns)\.|(?:{_IS}|['’]s\b|是|为)\s*[:–—-]?)\s*{_FILL}{_LETTER}",
    re.IGNORECASE,
)
_NOUNS = re.compile(rf"(?<![A-Za-z]){_NOUN}", re.IGNORECASE)
_FILL_ABROAD = (
    r"(?:(?:la|el|die|der|a|l['’]|это|option|opción|letra|lettre|lettera|буква|вариант|câu|选项"
    r"|選項"
    r"|選択肢|선택지|विकल्प|ข้อ)[\s:：(（\"“*]{1,3}|(?:选项|選項|選択肢|ข้อ))?"
)
_MOST_LABELS = 300
_MARKS_ABROAD = r"[\s:：=>→–—*\"“”‘’'(\[（「『-]{0,6}"
_BESIDE_ABROAD = r"[ \t*\"“(（「]{0,4}"
_LABEL_ABROAD = re.compile(
    r"(?=[raslgodcypkbjvzwf][^\W\d_]|[şđαสขовпاउजคตเ答正解回適妥ふ当정답적올맞옳알选選最合恰适])(?:"
    # Spanish, Portuguese, Italian, French, German, Polish
    r"(?:(?:opción|opção|opzione|option|alternativa|letra|lettera|lettre|opcja)[ ](?:corre\w+"
    r"|exacta|esatta|poprawna)"
    r"|(?:richtige|korrekte|bonne|poprawna)[ ](?:option|opcja|buchstabe|lettre)|الخيار[ ]الصحيح"
    r"|(?:richtige|korrekte|zutreffende|wahre|falsche)[ ]aussage|stwierdzenie"
    r"|(?:afirmación|afirmação|affermazione|affirmation)[ ](?:in|es)?(?:corr?e\w+|exact\w"
    r"|verdadeira"
    r"|verdadera|vera|vraie|fals\w|fausse)"
    r"|respuesta|resposta|risposta|réponse|antwort|lösung|solución|solução|soluzione|gabarito"
    r"|(?:scelta|elección|escolha|choix|wybór)"
    # Swedish, Danish, Norwegian, Dutch, Czech, Indonesian, Greek, Ukrainian, Romanian, Hungarian
    r"|svar(?:et)?|antwoord|odpověď|jawaban(?:nya)?|απάντηση|відповідь|răspuns(?:ul)?|válasz"
    r"|odpowied(?:ź|zią|z)|rozwiązani\w+)"
    rf"(?:[ ](?!no[ ]|não[ ]|non[ ]|nicht[ ]|nie[ ]|n['’]"
    rf"|pas[ ])[^\s.:;!?,=]{{1,20}}){{0,8}}?{_MARKS_ABROAD}"
    r"(?:(?:es|sería|é|هو|seria|è|sarebbe|est|serait|ist|lautet|wäre|to|jest|brzmi"
    r"|sia|sea|seja|soit|sei|är|er|is|je|adalah|είναι|este)(?:[ ](?:donc"
    r"|also|quindi|pues|portanto|daher|zatem))?(?:[ ](?:la|el|a|o|le|die|der"
    r"|das))?(?:[ ](?:opción|opção|opzione|option|letra|lettera|lettre|alternativa|opcja|litera"
    r"|antwort|buchstabe|respuesta|resposta|réponse))?|(?<=[:：=>→–—-][ ])|(?<=[:：=>*]))"
    # Turkish, Vietnamese, Russian, Arabic, Hindi, Thai
    r"|(?:doğru[ ])?(?:cevap|cevabı|yanıt|yanıtı|seçenek|şık)|doğrusu|doğru[ ](?:olan|ifade)"
    r"|(?:đáp[ ]án|câu[ ]trả[ ]lời"
    r"|lựa[ ]chọn|phương[ ]án|phát[ ]biểu|khẳng[ ]định)(?:[ ](?:đúng|chính[ ]xác|cuối[ ]cùng"
    r"|của[ ]tôi"
    r"|đúng[ ]nhất))*(?:[ ]là)?(?:[ ](?:đáp[ ]án|phương[ ]án|câu))?|chọn(?:[ ]đáp[ ]án)?"
    r"|(?:ответ(?:ом)?|(?:верный|правильный)[ ]вариант(?:[ ]ответа)?"
    r"|(?:верное|правильное)[ ]утверждение"
    r"|верно[ ]только(?:[ ]утверждение)?)(?:[ ](?:на[ ]вопрос|является|будет"
    r"|под[ ]буквой))?(?:[ ](?:это|вариант))*"
    r"|(?:الإجابة|الجواب|الاجابة)(?:[ ](?:الصحيحة|الصحيح|النهائية|هي|هو|الخيار|الحرف))*"
    r"|(?:उत्तर|जवाब|सही[ ]विकल्प)(?:[ ](?:है|विकल्प))*"
    r"|(?:คำตอบ|ตอบ|เลือก|(?:ข้อ|ตัวเลือก)(?=ที่ถูก))(?:ที่ถูกต้อง|ที่ถูก"
    r"|สุดท้าย)?[ ]?(?:คือ|เป็น)?[ ]?(?:ข้อ|ตัวเลือก)?"
    # Japanese, Korean, Chinese
    r"|(?:答え|正解|解答|回答|正答)(?:は|が|も|為|为)?(?:選択肢)?|(?:정답|답변|답)(?:은|는|이)?[ ]?"
    r"(?:선택지)?"
    r"|(?:正しい|適切な|正解の|妥当な|ふさわしい|当てはまる)(?:選択肢|もの|の|記述|説明|文)は"
    r"|(?:적절한|올바른|맞는|정확한|옳은|알맞은)[ ]?(?:선택지|보기|답|것|설명)[은는]"
    r"|(?:答案|(?:正[确確]|最?合[适適]|最佳|最?恰[当當]"
    r"|最?[适適][当當合])(?:的)?[选選][项項])(?:应该|應該|应|應)?(?:是|为|為|选|選)?"
    r"(?:选项"
    r"|選項)?|(?<![不别別未挑])(?:选择|選擇|选"
    r"|選)(?!项|項|出|手|举|舉)(?:的是|了|选项|選項)?"
    rf"){_MARKS_ABROAD}{_FILL_ABROAD}(?<![A-Za-z0-9])(?P<letter>[A-G])(?![A-Za-z0-9+#&_]"
    rf"|['’][a-ce-z])",
    re.IGNORECASE,
)
_NEGATED_ABROAD = r"(?:no|non|não|nie|не|pas|n['’]est[ ]pas)"
_CHOOSES_ABROAD = re.compile(
    r"(?<!\w)(?=[cjn]['’]|[abcdefgijklmnopqrstuwyz][^\W\d_]|[èéвднмяأ])(?:"
    # Spanish, Portuguese, Italian, French, German, Polish
    r"(?:creo|pienso|diría|acho|penso|credo)[ ](?:que|che)[ ](?:es|sea|é|seja|sia)"
    r"|elijo|escojo|marco|señalo|queda|me[ ]inclino[ ]por|por[ ]eliminación|resta|(?:il[ ])?reste"
    r"|bleibt(?:[ ]nur)?|zostaje|(?:sądzę|uważam),[ ]że[ ]to|elegiría|selecciono"
    r"|escolheria|sceglierei|choisirais"
    r"|me[ ]quedo[ ]con|opto[ ]por|diría[ ]que|diria|escolho"
    r"|fico[ ]com|scelgo|direi|c['’](?:est|était)|(?:je|j['’])[ ]?(?:choisis|dirais|prends"
    r"|sélectionne|opte[ ]pour|penche(?:rais)?[ ]pour)|ich[ ](?:wähle|nehme|tippe[ ]auf"
    r"|entscheide[ ]mich[ ]für"
    r"|denke,?[ ]es[ ]ist|würde[ ]sagen,?)|(?:richtig|korrekt)[ ](?:ist|wäre)|(?:correcta?|correto)"
    r"[ ](?:es|é)|(?:prawdziw|prawidłow|poprawn|właściw)\w{1,3}[ ]jest|wybieram"
    r"|stawiam[ ]na|myślę,[ ]że[ ]to"
    # Vietnamese, Russian, Arabic
    r"|tôi[ ](?:nghĩ[ ]là|chọn)|(?:я[ ])?(?:выбираю|выберу)|думаю,[ ](?:что[ ])?(?:это)?|أختار"
    # "not A but C"
    rf"|{_NEGATED_ABROAD}[ ][^.\n]{{1,25}}?,?[ ](?:mais|ma|mas|ale|а|но|bensì|plutôt)"
    r"|sino|sondern|lecz|mà[ ]là"
    r"|ist(?=[ ](?:(?:die[ ])?(?:antwort|option)[ ]|[A-G][ ](?:die[ ])?(?:richtig|korrekt|beste)))"
    r"|es[ ]ist|(?:así[ ]que|entonces|por[ ](?:lo[ ])?tanto|luego|quindi|dunque|então|logo|portanto"
    r"|więc|zatem),?[ ](?:es|è|é|to|jest)"
    r"|(?<!no[ ])(?<!non[ ])(?<!não[ ])(?:è|es|é)(?=[ ](?:la|a|il|o)[ ])"
    r"|(?:secondo|per)[ ]me[ ]è|para[ ]mí[ ]es"
    r"|(?:denke|glaube|meine),?[ ]dass)"
    r"[ ,:]{1,3}(?:(?:la|le|el|die|der|a|o|na|für|plutôt|é|es|l['’])[ ]?)?"
    r"(?:(?:opción|opção|opzione|option|opcję|opcja|letra|lettre|lettera|literę|réponse|respuesta"
    r"|resposta|risposta|antwort|odpowiedź|вариант|ответ|букву|đáp[ ]án|phương[ ]án|câu|الخيار"
    rf")[ ])?{_BESIDE_ABROAD}(?<![A-Za-z0-9])(?P<letter>[A-G])(?![A-Za-z0-9+#&_]|['’][a-ce-z])",
    re.IGNORECASE,
)
_BUT_ABROAD = re.compile(
    r"(?:[只仅僅]剩|剩下?的?|sobra|rimane|تبقى|排除法得?"
    r"|消去法(?:で|により)|남은[ ]것은|остаётся|остается|còn[ ]lại"
    r"|เหลือ(?:ข้อ)?|geriye|而是|아니라|ではなくて?|じゃなくて?|değil|(?:认为|認為|觉得|覺得"
    r"|应该|應該|可能)(?:答案)?(?:是|选|選)"
    r"|(?:所以|因此|故|于是|於是)(?:应该|應該|应|應)?(?:是|为|為)|なので|よって|したがって|므로|따라서"
    r"|(?:\bdonc|,[ ]also|\bentonces|\basí[ ]que|\bquindi|\bportanto|\bwięc|\bzatem|\bзначит"
    r"|\bпоэтому|\bследовательно|\bdus|\balltså|\bdaher|\bsomit|\byani|\bvậy|\bnên|\bjadi|لذا|لذلك"
    r"|إذن|इसलिए|ดังนั้น)"
    rf"|正[确確]的?是)[\s,，、:]*(?:选项|選項|選択肢|선택지)?{_BESIDE_ABROAD}"
    r"(?<![A-Za-z0-9])(?P<letter>[A-G])(?![A-Za-z0-9+#&_])",
    re.IGNORECASE,
)
_MENTION_ABROAD = re.compile(
    r"(?:选项|選項|선택지|選択肢|opción|opção|opzione|opcja|antwortmöglichkeit|seçenek|lựa[ ]chọn"
    r"|phương[ ]án|вариант|الخيار|विकल्प|ตัวเลือก|ข้อ|odpowiedź|letra|lettera|lettre|réponse"
    r"|respuesta"
    r"|resposta|risposta|antwort|alternativa)"
    rf"{_BESIDE_ABROAD}(?<![A-Za-z0-9])(?P<letter>[A-G])(?![A-Za-z0-9+#&_])",
    re.IGNORECASE,
)
_RIGHT_ABROAD = re.compile(
    rf"{_FIRST_LETTER}[)\]）.\"”*]*[ ]?(?=[^\W_abcf-hkm-rtu-z0-9]|[ —'’]|t(?:o|rifft)[ ])"
    r"(?:(?:选项|選項|项|項|選択肢|선택지|şıkkı|seçeneği)[ ]?)?"
    r"(?:是|为)?(?:唯一|最)?(?:正确|正確|符合|恰当|恰當|对的|對的|最合适|が(?:正解|正しい|答え"
    r"|最も(?:適切|適当|正し|近い|妥当|ふさわし)|適切|妥当)"
    r"|(?:이|가"
    r"|번이)[ ]?(?:(?:가장|제일)[ ](?:적절|적합|알맞|가까)|정답|답|맞|옳)|(?:es|est|ist"
    r"|é|è|e|está|jest|to)[ ](?:la[ ]|a[ ]|die[ ])?(?:(?:[úu]nica|seule|einzige)[ ])?"
    r"(?:respuesta[ ]|resposta[ ]|risposta[ ]"
    r"|réponse[ ]"
    r"|bonne[ ]réponse|antwort[ ])?(?:correct|richtig|korrekt|corret|poprawn|prawidłow|bonne"
    r"|dobra|verdader|vrai|wahr|ver[ao]\b|cert[ao]\b|giust|esatt|prawdziw)|trifft[ ]zu|stimmt"
    r"|(?:だけ|のみ)が(?:正|適|妥|当て)|만[ ]?(?:옳|맞|정답)"
    r"|doğru|(?:là[ ])?đúng|là[ ](?:đáp[ ]án|câu[ ]trả[ ]lời)(?![ ]sai)|đúng|(?:—|это"
    r"|является)?[ ]?(?:верн"
    r"|правильн)|(?:هي|هو)[ ](?:الإجابة|الجواب)|सही|ถูก"
    r"|[がは]残|(?:이|가|만)[ ]?남|[ ]बच|[ ]kalır"
    r"|を選|を選択|[를을][ ]?(?:선택|고르|고릅|택)|이?라고[ ](?:생각|봅|판단)|だと(?:思|考え)"
    r"|['’][a-zıü]{1,3}[ ]seç|[ ]को[ ]चुन)",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"^[ \t]*(?:(?:final|correct|my)[ ])*(?:answer|ans\.?|correct:)(?:\s+|\s*(?=[#(]))"
    rf"(?:(?:option|choice)[ ]|\#)?{_LETTER}",
    re.IGNORECASE | re.MULTILINE,
)
_ABROAD_IN_ASCII = (
    *("respuesta", "resposta", "risposta", "reponse", "antwort", "gabarito", "odpowiedz", "cevap"),
    *(
        "richtig",
        "correcte",
        "corretta",
        "alternativa",
        "poprawna",
        "prawdziw",
        "option est",
        "creo",
        "pienso",
    ),
    *("zutreffend", "aussage", "affirmation", "affermazione", "stwierdzenie", "marco"),
    *("queda", "resta ", "reste ", "bleibt", "me inclino", "zostaje", "je penche"),
    *("elijo", "escojo", "selecciono", "quedo con", "opto por", "diria", "escolho", "fico com"),
    *("scelgo", "direi", "c'est", "c’est", "je choisis", "je dirais", "je prends", "opte pour"),
    *("ich ", "ist ", "secondo me", "per me", "svar", "antwoord", "odpov", "jawaban", "raspuns"),
    *("valasz", "scelta", "eleccion", "escolha", "choix", "wybor", "korrekt", "correcta es"),
    *("wybieram", "stawiam", "sino", "sondern", "lecz", " mais ", " mas ", " ma ", " ale "),
    *("opcion", "opcao", "opzione", "donc", "sobra", "rimane", "also ", "quindi", "portanto"),
    *("escolheria", "dus "),
)
_ABROAD_WORDS = re.compile("|".join(map(re.escape, _ABROAD_IN_ASCII)))


def _is_abroad(text: str) -> bool:
    """Whether it may be in another language than English."""
    if not text.isascii():
        return True
    lower = text.lower()
    return any(word in lower for word in _ABROAD_IN_ASCII)


_CORRECTS = re.compile(
    r"(?<=[\s.,;:!?…—–(])(?=[acehimnorsw])(?:actually|no[ ]?wait|wait|sorry|oops|correction|hmm"
    r"|scratch[ ]that|on[ ](?:second[ ]thought|reflection)|edit|make[ ]that|i[ ](?:meant|mean)"
    r"|no(?=[,:])"
    r"|it[ ]should[ ](?:have[ ]been|be)|rather)[\s,:.…!—–-]{1,5}"
    r"(?:(?=[amnihwost])(?:actually|no|wait|sorry|hmm|on[ ]second[ ]thought|i[ ]meant?|it[ ]is"
    r"|it['’]?s"
    r"|should[ ]be"
    rf"|make[ ]that|to|not[ ][A-G][ ]but)[\s,:.…!—–-]{{1,5}}){{0,2}}{_FILL}{_LETTER}"
    r"(?=[)\]\"'”*]{0,3}(?:[.!,;]|\s*$|\n|[ ](?:because|since|as|instead|not)\b))",
    re.IGNORECASE,
)
_ABBREVIATED = re.compile(rf"A[ \t]*:[ \t]*{_LETTER}{_CLOSE}*\s*")


def _labelled(text: str) -> str | None:
    if found := _ABBREVIATED.fullmatch(text):  # "A: B", as in question and answer
        return found["letter"].upper()
    patterns, start = [_LABEL, _HEADING, _CORRECTS], _last_labels(_NOUNS, text)
    if _is_abroad(text):
        patterns += [_LABEL_ABROAD, _CHOOSES_ABROAD, _BUT_ABROAD]
        start = max(start, _last_labels(_ABROAD_WORDS, text.lower()))
    return _last(text, *patterns, start=start)


def _last_labels(nouns: re.Pattern[str], text: str) -> int:
    """Where the words for an answer that can be labels start; 0 if there are not too many."""
    starts = deque((found.start() for found in nouns.finditer(text)), maxlen=_MOST_LABELS)
    return starts[0] if len(starts) == _MOST_LABELS else 0


_CAPITAL = re.compile(r"(?<![A-Za-z])[A-G](?![A-Za-z])")
_DEPENDS = re.compile(
    r"\bif\b[^.\n]{1,160}\b(?:otherwise|else)\b[^.\n]{0,60}?(?<![A-Za-z])[A-G](?![A-Za-z])",
    re.IGNORECASE,
)


def _conditional(text: str) -> str | None:
    """No choice where the last sentence names one letter for each of two cases."""
    start = max(text.rfind("\n"), text.rfind(". ", 0, -1), len(text) - 400) + 1
    sentence = text[start:]
    letters = set(_CAPITAL.findall(sentence))
    return _NO_CHOICE if len(letters) > 1 and _DEPENDS.search(sentence) else None


_TAKES_BACK = re.compile(
    r"(?:^|[.!?…,)\n])\s{0,3}(?=[bchilmostw])(?:but[ ])?(?:hmm{0,3},?[ .…]{0,3})?"
    r"(?:wait|hold[ ]on|oops|scratch[ ]that|correction|my[ ]mistake|on[ ]second[ ]thought|sorry"
    r"|let[ ]me[ ](?:re|double|try[ ]again|correct|fix)|i[ ]made[ ]an?[ ](?:mistake|error)"
    r"|that(?:['’]s|[ ]is|[ ]was)[ ](?:wrong|incorrect|not[ ]right|a[ ]mistake))\b",
    re.IGNORECASE,
)
_MOST_TAKEN_BACK = 20


def _taken_back(text: str) -> str | None:
    """What a reply comes to after it took back what it had said, as in "B. Wait, … So A"."""
    backs = deque((found.end() for found in _TAKES_BACK.finditer(text)), maxlen=_MOST_TAKEN_BACK)
    if not backs or not _CAPITAL.search(text, 0, backs[-1]):
        return None
    rest = text[backs[-1] :].strip()
    if not _CAPITAL.search(rest):
        return None
    for rule in (_labelled, _last_line, _claimed):
        if found := rule(rest):
            return found
    return None


_CUT = re.compile(
    rf"(?:answer|choice|option)[\"'”]?[ ]?(?::|=|{_IS}:?)[\s*\"'“(\[]*$", re.IGNORECASE
)


def _cut(text: str) -> str | None:
    """No choice, where the reply breaks off before the letter that it is about to name."""
    return _NO_CHOICE if _CUT.search(text, max(0, len(text) - 40)) else None


_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")


def _last_line(text: str) -> str | None:
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    letters = [found["letter"].upper() for line in lines if (found := _BARE.fullmatch(line))]
    if _BARE.fullmatch(lines[-1]):
        # Two different ones are a correction; more repeat the options.
        if _goes_on_from(text.rstrip().splitlines()[-2:], letters[-1]):
            return _NO_CHOICE
        only = len(letters) == len(lines)
        return letters[-1] if len(set(letters)) <= (1 if only else 2) else _NO_CHOICE
    if again := _repeated(lines) or _cell(lines):
        return again
    sentences = [part for part in _SENTENCE_END.split(lines[-1]) if _BARE.fullmatch(part)]
    alone = len(sentences) == 1 and re.search(rf"{re.escape(sentences[0])}(?<![-–—:])$", lines[-1])
    return _bare(sentences[0]) if alone else None


def _repeated(lines: list[str]) -> str | None:
    """The letter of the last line, where it says again one of the options listed above it."""
    found = _LEADING.match(lines[-1])
    if found is None or len(lines) > _MOST_LETTERS:
        return None
    listed = [lead[1].upper() for line in lines[:-1] if (lead := _LEADING.match(line))]
    letter = found[1].upper()
    same = any(line.strip() == lines[-1].strip() for line in lines[:-1])
    return letter if same and listed.count(letter) == 1 and len(listed) > 2 else None


_ANSWERS = re.compile(
    r"\W*(?:(?:your|my|final|correct)[ ])?(?:answer|ans|choice)\W*", re.IGNORECASE
)


def _cell(lines: list[str]) -> str | None:
    """The letter below "Answer" in a table of one row."""
    if len(lines) < 3 or not re.fullmatch(r"[\s|:-]*-[\s|:-]*", lines[-2]):
        return None
    for head, cell in zip(lines[-3].split("|"), lines[-1].split("|"), strict=False):
        if _ANSWERS.fullmatch(head) and (found := _BARE.fullmatch(cell)):
            return found["letter"].upper()
    return None


_LEADING = re.compile(r"[ \t]*(?:option[ ])?[(\[]?([A-G])[)\].:]", re.IGNORECASE)


def _goes_on_from(lines: list[str], letter: str) -> bool:
    """Whether the last of two lines is only the next letter of a list that was cut off."""
    found = _LEADING.match(lines[0]) if len(lines) == 2 and not _BARE.fullmatch(lines[0]) else None
    return found is not None and ord(found[1].upper()) + 1 == ord(letter)


_STARTS = re.compile(
    r"(?:(?:sure|ok|okay|certainly|yes)[!,.:]?\s+)?(?:(?:la|el|le|die)[ ])?"
    rf"(?P<named>(?:option|choice|letter|letra|lettre|lettera)[ ])?{_LETTER}",
    re.IGNORECASE,
)
_TEXT_FOLLOWS = re.compile(r"[ \t]+(?:[A-Z$€£\d\"“]|-?\d)")
_MARKED = re.compile(
    r"[)\]>.:,;!\"'”’»](?=\W|[A-Z\d]|$)|[ \t]*(?:[–—|→:]|-{1,2}\s|-+>|/\s)|[ \t]*(?:\n|$)"
    r"|[ \t]+(?:\(|(?:because|probably|definitely|likely|for[ ]sure|certainly|obviously"
    r"|clearly|rather[ ]than|instead[ ]of)\b"
    r"|over[ ][A-G]\b)"
)
_MARKER = re.compile(
    r"(?:(?<=\s)(?<!not[ ])|^)\(?(?<!not[ ]\()([A-G])(?:[).]|[ ]?:)(?=\s|$)"
    r"(?!\s+(?:is|was|are|isn|would|does|can)\b)"
)
_EXPLAINS = re.compile(
    r"explanation|explain|because|reason|incorrect|wrong|other options|not correct|whereas"
    r"|however",
    re.IGNORECASE,
)


_ITEM = re.compile(r"\d{1,2}[.)][ \t]+")


def _opening(text: str) -> str | None:
    if "\n" not in text and (item := _ITEM.match(text)):
        text = text[item.end() :]
    found = _STARTS.match(text)
    if not found:
        return None
    rest = text[found.end() :]
    letter = _chosen(found)
    if not letter or not (
        found["named"]
        or _MARKED.match(rest)
        or (found["letter"] in "BCDEFG" and _TEXT_FOLLOWS.match(rest))
    ):
        return None
    if _lists_options(letter, rest):
        return None
    if found["named"] and not _MARKED.match(rest) and _WEIGHING.search(rest.partition("\n")[0]):
        return None
    if _WEIGHED.match(rest) and (not found["named"] or _MENTION.search(rest)):
        return None
    if (letter == "A" and _ANSWERS_ITSELF.match(rest)) or _RANKS.match(rest):
        return None
    return None if _is_denied_there(letter, rest) else letter


_RANKS = re.compile(r"[ \t]?[<>][ \t]?[A-G]\b")  # "A > B > C"
# "A: Because …", as in question and answer
_ANSWERS_ITSELF = re.compile(
    r":[ ](?:because|since|yes|no|it|they|he|she|we|you|i|there|this|that)\b", re.IGNORECASE
)


_WEIGHED = re.compile(
    r"[)\].:*\s–—-]*(?:(?:the|this)[ ](?:(?:first|second|third|fourth)[ ])?(?:option|choice"
    r"|statement|answer)"
    r"|it|)[ ]?(?:talks|says|said|is[ ]about|states|refers|describes|mentions|suggests|claims"
    r"|discusses|deals)\b",
    re.IGNORECASE,
)
_SAYS_WRONG = re.compile(
    r"\b(?:incorrect|wrong|false|untrue|not[ ](?:the[ ])?(?:correct|right|true|answer|best)"
    r"|can(?:not|['’]t)[ ]be[ ]right)\b",
    re.IGNORECASE,
)
_ABOUT_OTHERS = re.compile(
    r"(?<![A-Za-z'’])[A-G](?![A-Za-z'’])|\bother|\brest\b|\boptions\b|\bnot[ ]", re.IGNORECASE
)


_ONLY_WRONG = re.compile(r"\W*(?:false|incorrect|wrong|untrue|no)\W*", re.IGNORECASE)
_OTHER_HEAD = re.compile(r"^[ \t]*\(?[A-G][).:]?(?:[ \t]*[–—|:-]|[ \t]|$)", re.MULTILINE)


def _is_denied_there(letter: str, rest: str) -> bool:
    """Whether a letter heads a line that says why its option is wrong, with the next one below."""
    line, _, below = rest.partition("\n")
    if _ONLY_WRONG.fullmatch(line):  # may be the option's text: "A) True", "B) False"
        return _OTHER_HEAD.search(below) is not None
    if not _SAYS_WRONG.search(line) or _ABOUT_OTHERS.search(_SAYS_WRONG.sub("", line)):
        return False
    return not below.strip() or any(m[1] != letter for m in _MARKER.finditer(below))


def _lists_options(first: str, rest: str) -> bool:
    """Whether ``rest`` continues with the next option's letter, as a repeated question does."""
    for marker in _MARKER.finditer(rest):
        if marker[1] != first:
            in_order = ord(marker[1]) == ord(first) + 1
            return in_order and not _EXPLAINS.search(rest[: marker.start()])
    return False


_RIGHT = (
    r"(?:(?:the|most|likely|probably|clearly|definitely|indeed|therefore|only|also|actually|truly"
    r"|really|certainly|obviously|thus|in[ ]fact|my|our|your|final)[ ]){0,4}"
    r"(?:correct|(?<=(?:my|ur|al)[ ])(?:choice|pick|selection|option)|(?<=must[ ]be[ ])true"
    r"|what[ ]remains|closest|right|best|better|appropriate|answer"
    r"|(?<=the[ ])one(?=[.!,]|[ \t]*$)|(?<=most[ ])(?:accurate|suitable|plausible|likely"
    r"|reasonable|logical|fitting|consistent))\b"
)
_IS_RIGHT = re.compile(
    rf"(?<![A-G],[ ][A-G],[ ])(?<!nor[ ])(?<!nor[ ]is[ ])(?<!which[ ])(?<!whether[ ])(?<!if"
    rf"[ ]){_FIRST_LETTER}"
    rf"(?im:{_CLOSE}*[ \t]*(?=[aimswhc])(?:{_IS}|(?:seems|appears)(?:[ ]to[ ]be)?|comes"
    rf"|stands[ ]out(?:[ ]as)?)[ ]{_RIGHT})"
)
_REMAINS = re.compile(
    rf"{_FIRST_LETTER}(?i:{_CLOSE}?(?=[ ](?:remains|is[ ]left|it[ ]is(?=[.!]|[ \t]*$))))",
    re.MULTILINE,
)
_ONLY_ONE = re.compile(
    rf"{_FIRST_LETTER}(?i:{_CLOSE}*[ ]is[ ]the[ ]only[ ](?:one|option|choice|answer|statement"
    r"|letter)[ ](?:that|which)(?![ ](?:is|does|do|can|could|would)?[ ]?(?:not|n['’]t|wrong"
    r"|incorrect|false|fails|cannot|contradicts)))"
)
_ONLY = re.compile(
    rf"\bonly[ ](?:(?:option|choice|statement|answer)[ ])?{_LETTER}"
    r"\)?[ ](?:satisf|works|fits|match|meets|makes[ ]sense|agrees|fulfil|holds|applies|describes"
    r"|(?:is|seems|looks)[ ](?:correct|true|right|consistent|possible|valid|plausible))",
    re.IGNORECASE,
)
_CHOOSES = re.compile(
    rf"\b(?=I[ '’]|[abcdefghilmoprstvw][a-z])"
    r"(?:(?:I|I['’](?:d|ll|m)|would|will|to|going)[ ](?:to[ ])?"
    r"(?:choose|pick|select|say|guess|think|believe|answer|answer[ ]with|go[ ]for)"
    r"|leaves|leaving|left[ ](?:with|is)|go[ ]with|going[ ]with|go[ ]for|going[ ]for"
    r"|lean(?:ing)?(?:[ ]to(?:wards?)?)?|mak(?:es|ing)|likely|perhaps|maybe|possibly|choose"
    r"|select|pick|only"
    r"|settl(?:e|ed|ing)[ ](?:on|for)|end(?:s|ed)?[ ]up[ ](?:with|at)|left[ ]us[ ]with"
    r"|leaves[ ](?:us|me|only)(?:[ ]with)?|confirms|confident[ ](?:in|about|of|that)"
    r"|vote(?:[ ]for)?|clearly|presumably"
    r"|(?<=['’]d[ ])argue[ ]for|(?:looks|seems)[ ]like|arrives?[ ]at|obviously"
    r"|surely|certainly|evidently|mark"
    r"|opt(?:ing)?[ ]for|(?:leads?|brings?)[ ](?:me|us)[ ]to|points?[ ]to"
    r"|match(?:es|ing)?|corresponds?[ ]to|agrees?[ ]with"
    r"|(?:supports?|favou?rs?|suggests?|in[ ]favou?r[ ]of|meant|mean)"
    r"|(?<!anything[ ])(?<!everything[ ])(?<!all[ ])(?<!nothing[ ])but(?:[ ](?:rather|instead))?"
    r"|decided?[ ](?:on|for)|bubble[ ]in|(?:stick|sticking|went|gone|reply|respond)[ ]with"
    r"|circle|tick|choosing|selecting|picking|(?:example|instance)[ ]of|meaning|implying"
    r"|(?:closest|nearest)[ ]to"
    r"|submit|enter|fill[ ]in|recommend|propose|deem|stand[ ]by"
    r"|it['’]s|that['’]s|(?<!\bas[ ])is|(?<!n['’]t[ ])(?<!not[ ])be|so|thus|therefore|hence|ergo"
    r"|probably|most[ ]likely"
    r"|definitely)"
    rf"[,:]?\s+{_FILL}{_LETTER}",
    re.IGNORECASE,
)


_RIGHT_WORDS = (
    *("correct", "right", "best", "better", "most", "appropriate", "answer", "choice", "pick"),
    *("closest", "must be", "what remains", "selection", "option", "the one"),
)


def _claimed(text: str) -> str | None:
    lower = text.lower()
    patterns = [_CHOOSES]
    # Patterns that try every letter are slow, and most texts do not contain the words.
    if any(word in lower for word in _RIGHT_WORDS):
        patterns.append(_IS_RIGHT)
    if "remains" in lower or "is left" in lower or "it is" in lower:
        patterns.append(_REMAINS)
    found = _last(text, *patterns, set_off=True)
    if found and _is_torn(text, found):
        return _NO_CHOICE
    if found is None and (not text.isascii() or any(word in lower for word in _RIGHT_IN_ASCII)):
        found = _last(text, _RIGHT_ABROAD)
    if found is None and "only" in lower:
        found = _last(text, _ONLY_ONE, _ONLY)
    return found if found is not None else _working(text)


_WORKS = re.compile(
    rf"(?<!nor[ ]){_FIRST_LETTER}(?i:\)?(?:[ ][\"“][^\"”\n]{{1,80}}[\"”])?[ ](?=[abcfhimsw])"
    r"(?:(?:(?:correctly|best|clearly)[ ])?(?:works|fits|holds"
    r"|satisfies|makes[ ](?:the[ ]most[ ])?sense|matches|checks[ ]out|corresponds|meets)"
    r"|(?:best|correctly|accurately)[ ][a-z]{3,12}s|is[ ]what[ ]we[ ](?:want|need"
    r"|are[ ]looking))\b)"
)


_MAKES_RIGHT = re.compile(
    rf"{_FIRST_LETTER}(?i:\)?[ ](?=[a-z])[^.\n]{{1,120}},[ ](?:making|which[ ]makes)[ ]it[ ]the[ ]"
    r"(?:correct|right|best)\b)"
)


def _working(text: str) -> str | None:
    """The only letter of which it is said that it works, or why it is right."""
    letters = {found["letter"] for found in _WORKS.finditer(text)}
    if not letters and "ing it the " in text:
        letters = {found["letter"] for found in _MAKES_RIGHT.finditer(text)}
    return letters.pop().upper() if len(letters) == 1 else None


_HEDGES = re.compile(
    rf"\b(?=[cmp])(?:(?:could|may|might)[ ](?:also[ ])?be|maybe|perhaps|possibly)[ ]{_FILL}"
    rf"{_LETTER}",
    re.IGNORECASE,
)


def _is_torn(text: str, found: str) -> bool:
    """Whether the letter is one of several that may be right, and no more is said of it."""
    hedged = [hedge["letter"].upper() for hedge in _HEDGES.finditer(text)]
    if found not in hedged or text.endswith(":"):
        return False
    return (
        len(set(hedged)) > 1
        or _DANGLES.search(text) is not None
        or _UNDECIDED.search(text) is not None
    )


_DANGLES = re.compile(
    r"(?:\b(?:that|the|an?|and|or|of|to|is|are|in|on|by|with|for|because|since|as|which|but|if"
    r"|when|while"
    r"|although|not|from|at|was|were)|,)$"
)
_UNDECIDED = re.compile(
    r"\b(?:can(?:not|['’]t)[ ](?:tell|decide)|torn|undecided|either[ ]way)\b", re.IGNORECASE
)
_RIGHT_IN_ASCII = (" es ", " est ", " ist ", " e ", "trifft", "stimmt")
_VERDICT = (
    r"(?:(?P<no>incorrect|not[ ](?:correct|right|true)|wrong|false|no)"
    r"|(?P<yes>correct|right|true|yes))"
)
_VERDICTS_INLINE = re.compile(
    r"(?:^|[.;,][ ]|\n|(?<=[a-z])[ ](?=\())(?:(?:and|but)[ ])?(?:(?:option|choice|statement)[ ])?"
    r"\(?(?P<letter>[A-G])\)?"
    rf"(?::|[ ]is|[ ]?[–—→=-]|(?<=\)))[ ]{_VERDICT}"
    r"(?=[.,;!]|[ ]\(|[ ](?:because|as|since|and)\b|\s*$)",
    re.IGNORECASE,
)
_VERDICTS = re.compile(
    r"^[ \t]*(?:option[ ]|choice[ ])?\(?(?P<letter>[A-G])[).:]?[ \t]*(?:[^\n]{0,200}[ ])?"
    rf"(?:[–—:→(|-]|is|this[ ]is|that['’]s|(?<=[A-G][).:]))[ \t]*{_VERDICT}"
    r"(?=[ \t]*(?:$|[.,;:!)–—-]|[ ](?:because|as|since)\b))",
    re.IGNORECASE | re.MULTILINE,
)


def _verdicts(text: str) -> str | None:
    """The one option called right where each line says of one whether it is."""
    for pattern in (_VERDICTS, _VERDICTS_INLINE):
        said = {found["letter"].upper(): bool(found["yes"]) for found in pattern.finditer(text)}
        right = [letter for letter, yes in said.items() if yes]
        if len(said) > 2 and len(right) == 1:
            return right[0]
    return None


_ENDS_OPEN = re.compile(r"[\s*)\]]*:[\s*]*")
_WEIGHING = re.compile(
    r"\b(?:let['’]?s|let us|let me|i['’]?d like to"
    r"|we (?:need to|can|will|must|should)|i(?:['’]ll| will)"
    r"|to answer)\b[^.\n:]{0,40}?"
    r"\b(?:evaluat|analy[sz]|look|consider|examin|go through|check|review|assess"
    r"|compar)\w*[^.\n:]{0,60}"
    r"\b(?:each|options?|choices?|statements?|them|one by one|(?:the )?(?:others?|rest))\b",
    re.IGNORECASE,
)
_WEIGHS = re.compile(
    r"\b(?:let['’]?s|let us|consider(?:ing)?|evaluat\w*|examin\w*|look(?:ing)? at|check(?:ing)?"
    r"|analy[sz]\w*|start(?:ing)? with"
    r"|regarding|take|test(?:ing)?|try|about|for|begin(?:ning)? with)\b[^.\n]*$"
    r"|\bstep by step[.:]\s*$",
    re.IGNORECASE,
)
_MENTION = re.compile(rf"\b(?=[oc])(?:option|choice)[ ]{_LETTER}", re.IGNORECASE)
_ASKED = re.compile(r"[^.!?\n]{1,80}\?")
_BRACKETED = re.compile(r"\(([A-G])\)")
_ENDS_A_LINE = re.compile(r"\([A-G]\)[.!]?[ \t]*$", re.MULTILINE)

# "Diagnosis: C. Gout", "the patient has D) gout"
_NAMED = re.compile(r"(?<=:)[ ]([A-G])[).][ ]\w|(?<=[a-z]{2})[ ]([A-G])\)[ ]\w")
_END_OF_LINE = re.compile(
    r"(?::|(?<=[a-z]{2})(?<!ext)(?<!hen)(?<!irst)(?<!nally),|[→⇒∴]|[-=]>)[ \t]*([A-G])[.!]?$"
)


def _mentioned(text: str) -> str | None:
    if _WEIGHING.search(text) or _DANGLES.search(text):
        return None
    letters = {
        _chosen(found)
        for pattern in (_MENTION, *((_MENTION_ABROAD,) if _is_abroad(text) else ()))
        for found in pattern.finditer(text)
        if not _WEIGHS.search(text, max(0, found.start() - 40), found.start())
        and not _WEIGHS_ABROAD.search(text, max(0, found.start() - 40), found.start())
        and not (
            _WEIGHED.match(text, found.end())
            or _ENDS_OPEN.fullmatch(text, found.end())
            or _ASKED.match(text, found.end())
        )
    }
    if _ENDS_A_LINE.search(text):
        letters |= set(_BRACKETED.findall(text))
    if labelled := _END_OF_LINE.search(text):
        letters.add(labelled[1])
    if not letters and len(named := _NAMED.findall(text)) == 1 == len(_CAPITAL.findall(text)):
        letters.add("".join(named[0]))
    letters.discard(None)
    if not letters:
        return _lone_abroad(text)
    return letters.pop() if len(letters) == 1 else None


_LONGEST_LONE = 80
# Function words that English does not have, for sentences in ASCII.
_NOT_ENGLISH = re.compile(
    r"[^\x00-\x7f]|\b(?:la|el|que|seja|sea|por|il|che|sia|das|der|ich|ist|est|jest|bence|oikea"
    r"|es|muss|meiner|nach|moim|zdaniem|cevab\w*|vastaus|svaret|det|het|ini|yang|adalah|je|er|este)\b",
    re.IGNORECASE,
)
_SAYS_NO = re.compile(
    r"\b(?:no|non|não|nao|nicht|kein\w*|nie|ne|ni|né|pas|не|ни|нет|weder|inte|ej|niet|geen|ikke|ei|nem|nu"
    r"|bukan|tidak|değil|yok|không|ليس\w*|لا|לא|نه|نیست|или|oder|sin|sans|ohne|bez|ja|si|se|wenn"
    r"|если)\b|n['’]|ไม่|ない|ません|아니|아닙|않|[不没沒非無错錯誤误]|नहीं|गलत|排除|틀|ผิด|\?|？",
    re.IGNORECASE,
)
_NO_DOUBT = re.compile(
    r"\b(?:sin[ ]duda|sans[ ](?:aucun[ ])?doute|ohne[ ]zweifel|senza[ ]dubbio|sem[ ]dúvida"
    r"|bez[ ]wątpienia)\b",
    re.IGNORECASE,
)
_NAMES_NO_OPTION = re.compile(
    r"\b(?:[vw]itamin\w*|hepatit\w*|plan\w*|ti?yp\w*|tipo|clase|klass?e?\w*|gr[uo]u?p\w*|p[uo]i?n[tk]\w*"
    r"|serie|teil|parte?|note|витамин\w*|гепатит\w*|план\w*|точк\w*|групп\w*|\w+型)[ ]?$",
    re.IGNORECASE,
)
_WEIGHS_ABROAD = re.compile(
    r"\b(?:anali[cs]\w+|analy[sz]\w+|anali?z\w+|examin\w+|considér\w+|consider\w+|betracht\w+|prüf\w*"
    r"|rozważ\w+|przeanaliz\w+|рассмотр\w+|проанализ\w+|inceley\w+|bakalım|phân[ ]tích|xét)"
    r"|لنحلل|دعنا|विचार|देखते|พิจารณา|検討|見て|검토|분석|살펴|分析|考虑|考慮|看看|首先|まず|먼저"
    r"|\b(?:primero|d['’]abord|zuerst|zunächst|prima|primeiro|najpierw|сначала|önce)\b",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"(?<!.)A[ ][a-zà-ÿ]", re.DOTALL)
_ALONE = re.compile(
    r"(?<![A-Za-z0-9_+#&.'’-])(?P<letter>[A-G])(?![A-Za-z0-9_+#&]|[.'’-][A-Za-z]|\s?=)"
)


def _lone_abroad(text: str) -> str | None:
    """The only letter of a reply of one short sentence that is not in English.

    An ``A`` at its start before a word may be an article.
    """
    if len(text) > _LONGEST_LONE or "\n" in text or not _NOT_ENGLISH.search(text):
        return None
    if (
        _SAYS_NO.search(_NO_DOUBT.sub("", text))
        or _WEIGHS_ABROAD.search(text)
        or len(_SENTENCE_END.split(text)) > 1
        or text.endswith((":", ","))
    ):
        return None
    found = [
        one
        for one in _ALONE.finditer(text)
        if not _ARTICLE.match(text, one.start()) or _JOINED.match(text, one.end())
    ]
    if len(found) != 1 or _NAMES_NO_OPTION.search(text[: found[0].start()]):
        return None
    return _chosen(found[0])


_RULES = (
    _bare,
    _conditional,
    _taken_back,
    _labelled,
    _last_line,
    _verdicts,
    _opening,
    _cut,
    _claimed,
    _mentioned,
)
