"""What the English words around an option's letter say of it, for :mod:`letter_evidence`.

Other languages have tables of words (:mod:`letter_words`).
"""

from __future__ import annotations

import re

_CHOICE_MADE = r"pick|choose|go|say|select|take|settle|mark"

# Words that deny, rule out or belittle
NO = re.compile(
    r"\b(?:not(?! only)|(?:any|every)thing but|never|no(?! doubt)|none|neither|nor|cannot|wrong"
    r"|incorrect\w*|false|untrue|inaccurate|invalid|fails?|contradict\w*|rul(?:e|ed|es|ing) out"
    r"|eliminat\w*|exclud\w*|discard\w*|dismiss\w*|reject\w*|distractors?|trap|fooled|tempting"
    r"|unlikely|implausible|impossible|weak(?:er)?|worse|less|unsupported|overstat\w+|irrelevant"
    r"|lacks?|misses|ignores?|omits?|confus\w+|overlooks|neglects|misstates|inverts|opposite"
    r"|cross(?:ed)? out|strike|scratch|part(?:ial)?ly|too (?!good)\w+)\b|n['’]t\b"
    r"|\b(?:is|are) (?:out|off)\b",
    re.IGNORECASE,
)
SET_ASIDE = re.compile(
    r"\b(?:eliminat|exclud|discard|dismiss|reject|rul(?:e|ed) out)\w*", re.IGNORECASE
)
# "The incorrect statement is A": what was asked for
ASKED_FOR = re.compile(
    r"(?<!not )\b(?:is|are|was|must be) (?:(?:the|option|statement|answer) ){0,2}\(?$",
    re.IGNORECASE,
)
# Another option is set above the letter that follows.
BELOW = re.compile(
    r"\b(?:than|over|instead of|rather than|unlike|besides|except|beats|preferable to|superior to"
    r"|versus|vs\.?|against|from|drop|skip|avoid|leaves? out)\b[^,;:]{0,30}$",
    re.IGNORECASE,
)
PREFERS = re.compile(r"\bprefer\w* \(?[A-Z]\)? to \(?$", re.IGNORECASE)  # "I prefer A to B"
IF = re.compile(
    r"\b(?:if(?! (?:i (?:had|must|have)|forced|pressed|anything))|unless|were|had(?! to))\b",
    re.IGNORECASE,
)
WOULD = re.compile(r"\b(?:would|could|might)\b", re.IGNORECASE)
# Looked at, thought of once, or chosen by others
OPEN_BEFORE = re.compile(
    rf"\b(?:let['’]?s(?! (?:{_CHOICE_MADE}))|let us|let me|(?<!after )(?:consider(?:ing)?"
    r"|evaluat\w*|examin\w*|look(?:ing)? at|checking|analy[sz]\w*|compar\w+)|start(?:ing)? with"
    r"|was going|at first|first|initial\w*|originally|almost|nearly|tempted|thought|i was|some"
    r"|another|others|many|students|people|between|whether|either|as for|now for|next(?! best)"
    r"|regarding|both|or|would have(?! to)|said|suppose|assum\w+|opinion|depends"
    r"|(?<!['’]d )argued?)\b",
    re.IGNORECASE,
)
_TELLS = (
    r"talks?|says?|is about|states?|refers?|describes?|mentions?|suggests?|claims?"
    r"|discuss(?:es)?|deals?"
)
# What the option says, or when it would be right
OPEN_AFTER = re.compile(
    rf"\s?\)?\s?(?:also )?(?:{_TELLS}|depend(?:s|ing)|implies|stands for|is often"
    r"|is commonly|if|or)\b"
    r"(?! (?:exactly )?(?:that|this|it)[.!]?$)"
    r"|[)\].:*\s–—-]*(?:(?:the|this) (?:\w+ )?(?:option|choice|statement|answer)|it)"
    rf" (?:{_TELLS})\b"
    r"|[)\].]*\s(?:would|could|might) (?:be|have) (?:\w+ ){1,3}(?:if|unless|had|were|when)\b",
    re.IGNORECASE,
)
BUT_NOT = re.compile(
    r"[^.!?]{0,80}, but (?:it|that|this|the question)\b[^.!?]{0,60}?"
    r"(?:\bnot\b|n['’]t\b|\bwrong\b)",
    re.IGNORECASE,
)
HEDGES = re.compile(
    r"\b(?:might|may|could|perhaps|maybe|possibly|while|although|though|not sure|unsure|guess)\b",
    re.IGNORECASE,
)
ONLY = re.compile(
    r"\b(?:only|remains?|left|leaves|leaving|nothing but|other than)\b", re.IGNORECASE
)
IS_ONLY = re.compile(r"\b(?:is|seems|looks like) the only\b")
IS_RIGHT = re.compile(
    r"\)?\s(?:is|was|would be|seems|must be)\s(?:the )?"
    r"(?:only|best|correct|right|answer|closest|most)\b"
)
CONCLUDES = re.compile(
    r"\b(?:so|thus|hence|therefore|answer|only|final\w*|correct|best|right|fits?|supported"
    r"|reflection|better|choose|pick(?:ing)?|select|go(?:ing)? with|go for|settled?|convinced"
    r"|closest|highest|stronger|superior|preferable|conclusion|tips"
    r"|lean(?:ing)?|vote|points to|edges|gut|the most|yes|we get|confirms"
    r"|match(?:es)?|corresponds|we (?:need|want)"
    r"|(?:it|that|this|which)(?:['’]s| (?:is|must be|has to be|would be))"
    r"|i['’]d say|i would say|i['’]ll say)\b|\b(?:is|be|what) \(?$|[→⇒]\W*$"
    r"|^\)?\s?(?:it is|(?:says|states|expresses) (?:exactly )?(?:that|this|it))[.!]?$",
    re.IGNORECASE,
)
# "C is false, as is D", "so does D"
LIKEWISE = re.compile(
    r"\b(?:so|as|neither|nor) (?:does|do|is|are|has|would) (?:\w+ )?\(?$", re.IGNORECASE
)
ANNOUNCES = re.compile(
    rf"\b(?:let['’]?s(?! (?:{_CHOICE_MADE}))|let (?:us|me)|step by step|go through|one by one"
    r"|we (?:need|have) to)\b",
    re.IGNORECASE,
)
WHETHER = re.compile(
    r"\s{0,3}(?:(?:so|but|or|and),? )?"
    r"(?:could|might|is|was|would|can|should|what|which|how|do|does|did)\b",
    re.IGNORECASE,
)
UNDECIDED = re.compile(
    r"\b(?:depends|toss-up|can(?:not|['’]t) (?:tell|decide|choose)|torn|let me)\b", re.IGNORECASE
)
# "It can't be anything but D", "not A but B", "no other option than C"
NOTHING_BUT = re.compile(
    r"(?:\b(?:not|cannot|never|nothing|none)\b|n['’]t\b)[^.;]{0,60}"
    r"\b(?:but|other than|except) \(?$"
    r"|\bno (?:other )?(?:one|option|choice|answer|statement)[^.;]{0,20}\b(?:than|but|except) \(?$",
    re.IGNORECASE,
)
ALL_BUT = re.compile(r"\b(?:all|any|every)\w*[^.;]{0,20}\b(?:but|except) \(?$", re.IGNORECASE)
WHAT = re.compile(r"\bwhat \(?$", re.IGNORECASE)
REASON = re.compile(r"\W*(?:because|since)\b", re.IGNORECASE)
# Where a clause begins; Korean has endings for that, Thai spaces.
CLAUSE = re.compile(
    r"[,;:](?=\s)|[،؛、，；]|\s[—–-]{1,2}\s|—|\((?!(?:[A-Za-z]{5,9} )?[A-Za-z]\))"
    r"|(?<!\([A-Za-z])(?<![^A-Za-z][A-Z])(?<!^[A-Z])\)|(?=[→⇒])|(?:(?<=니까)|(?<=라서)|(?<=므로)|(?<=고))\s"
    r"|(?<=[\u0e00-\u0e4e])\s+(?=[\u0e00-\u0e4e])"
    r"|(?<!thing )\b(?=(?:but|while|whereas|although|though|however|yet|because|since|so|therefore"
    r"|thus|hence)\b)"
    r"|\band\s(?=(?:not|therefore|thus|so|hence|that|the (?:others?|rest))\b|[A-J]\s[a-z])",
    re.IGNORECASE,
)
# What follows no longer speaks of the letter before.
AFTERWARDS = re.compile(
    r"\b(?:that|which|who|because|since|as|so|where|when|given|for|due|if|whose|but|although"
    r"|though|while|whereas)\b|[,;:.—–()]",
    re.IGNORECASE,
)
LEADS_ON = re.compile(
    r"(?:\b(?:so|thus|hence|therefore|that|the|an?|and|or|of|to|is(?<![a-gA-G] it is)"
    r"|are|in|on|by|with|for|because|since|as|which|but|if|when|while|although|not|from|at|was"
    r"|were)|[,:–—-])$|\n\s*\(?[B-Z][).:]$"
)

# Things that letters name as well: "plan B", "point A"
_THING = (
    r"\b(?:plan|point|triangle|angle|segment|side|line|set|event|gene|allele|country|firm|company"
    r"|person|player|city|town|station|figure|table|appendix|section|chord|note|minor|major|matrix"
    r"|vector|node|variable|vertex|process|train|car|bond|stock|project|drug|patient|sample"
    r"|substance|compound|reaction|step|part|blood|immunoglobulin|protein|factor|theorem|worker"
    r"|machine|constant|grade|exit|element|block)s?[ ]?"
)
THINGS = re.compile(rf"(?i:{_THING})[A-Z](?![A-Za-z])")
NOT_OPTION = re.compile(rf"(?i:(?:{_THING})$|return[ ]{{1,2}}$|print\([ ]?$)|\d[ ]$|^In[ ]$")
OPTION = re.compile(
    r"\b(?:option|choice|answer|letter|statement|candidate|choos(?:e|ing)|pick(?:ing)?"
    r"|select(?:ing)?|match(?:es)?|corresponds to|best|is|so|thus|hence|therefore)\b"
    r"[:,]?\s{0,2}\(?$|(?:[→⇒]|[-=]>)\s?\(?$",
    re.IGNORECASE,
)
# "my grade was a B", "a and b"
AN = re.compile(r"(?<!t['’]s )(?<!this is )\ban?[ ]$|(?<!\w)[a-g]\)?,?[ ](?:and|or)[ ]$")
# "D minor", "B cells", "C is a programming language"
IS_ONE = re.compile(
    r"[ ](?:(?:minor|major|flat|sharp|cells?|vitamins?|lymphocytes?|batter(?:y|ies))\b|is[ ]an?[ ])"
)
# What follows the letter A where it is no article: "A is", "A captures"
VERB = re.compile(
    r"[ ](?:has|does|can|could|would|should|will|may|might|must|best|better|correctly|clearly"
    r"|accurately|and|or|because|since|for|over|rather|instead|here|it|isn|doesn|won|alone|only"
    r"|also|too|in|on|by|under|with|then|if|while|but|though|is|was"
    r"|\w{2,}(?<!s)(?<!u)(?<!i)(?<!serie)s)\b"
)
LONE_NOUN = re.compile(r"(?<=\bis A)[ ][a-z]{3,}[.!]?$")  # "the answer is A car"
