"""Turn the words people answer approvals with (`data/lexicon.txt`) into regular expressions.

They are matched, ignoring case, against text brought to one width, simplified script and straight quotes.
"""

from __future__ import annotations

import re

from shipmate.approvals.listing import load_lists

LISTS = load_lists("lexicon", separator="|")


def _either(section: str) -> str:
    """Join the words of a section, longest first, so that the longest is what is found."""
    listed = sorted(LISTS[section], key=len, reverse=True)
    marked = [word for word in listed if word.isascii() and word[0].isalnum()]
    others = [re.escape(word) for word in listed if word not in marked]
    # Letters may not touch other letters; Chinese has no such edges. One pair of edges for all compiles fast.
    letters = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in marked)
    return "(?>" + "|".join([*others, rf"(?<![a-z0-9])(?>{letters})(?![a-z0-9'])"]) + ")"


IT = _either("it")
YES = _either("yes")
YES_SOFT = r"(?:吧|的|啊|呀|哦|啦|哈|~)"
HASTE = r"(?:直接|请|就|那就|那|现在|马上|立即|立刻|快|please\s+|just\s+)?"
NO = _either("no")
NO_SOFT = r"(?:吧|的|啊|呀|哦|啦|哈|了|~)"

# What a verdict may be about. `X` is a command, path or tool in the person's own words.
APPROVE_VERB = _either("approve-verb")
DENY_VERB = _either("deny-verb")
ONLY = _either("only")
ALL = _either("all")
NONE = _either("none")
REST = _either("rest")
EXCEPT = _either("except")

NUMERALS = dict(zip("一二两三四五六七八九十", (1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10), strict=True))
ORDINALS = {word: number for number, group in enumerate(LISTS["ordinals"], 1) for word in group.split("/")}
NUMBER = (
    r"(?:(?:number\s+|no\.\s*|item\s+|#|第)?(?<![a-z0-9./])\d{1,3}(?!\.?[a-z0-9%/])(?:\s*(?:号|个|条|项))?"
    r"|第?[一二两三四五六七八九十](?:个|条|项|号)?"
    rf"|(?:the\s+)?(?:{'|'.join(ORDINALS)})(?![a-z])(?:\s+(?:one|command|call))?)"
)
AMID = r"\s*(?:[,、和与及跟&+-]|到|至|(?<![a-z])(?:and|to)(?![a-z])|\s)\s*"
NUMBER_LIST = rf"{NUMBER}(?:{AMID}{NUMBER})*"
RANGE = re.compile(r"(\d{1,3})\s*(?:-|到|至|to)\s*(?:第)?(\d{1,3})", re.IGNORECASE)

ONCE = _either("once")
ALWAYS = _either("always")
THREAD = _either("thread")
COUNT = r"(?:\d{1,4}|an?|one|two|three|four|five|ten|half\s+an?|[一二两三四五六七八九十半]{1,3})"
UNIT = r"(?:minutes?|mins?|hours?|hrs?|days?|m|h|d|分钟|个?小时|个?钟头|天)"
# "in 10 minutes" and "10分钟后" mean later, not for so long, and are no windows.
WINDOW = (
    rf"(?:(?:(?:for|during)\s+(?:the\s+)?(?:next\s+)?){COUNT}\s*{UNIT}(?![a-z])"
    rf"|(?:在|接下来的?|未来的?|往后的?)\s*{COUNT}\s*{UNIT}\s*(?:之内|以内|内|里)?(?:有效)?"
    rf"|{COUNT}\s*{UNIT}\s*(?:之内|以内|内|有效|内有效))"
)
# Behind the verdict the length alone is enough: `同意 10分钟`.
LENGTH = rf"(?:{WINDOW}|(?:有效期?\s*)?{COUNT}\s*(?:分钟|个?小时|个?钟头|天))"
WINDOW_PARTS = re.compile(rf"({COUNT})\s*({UNIT})(?![a-z])", re.IGNORECASE)
COUNT_WORDS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "ten": 10, "半": 0.5}

POLITE_BEFORE = r"(?:hi|hey|hello|well|so|um|hmm|please|pls|oh|ah|请|那就?|嗯+|哦|啊|麻烦你?|唔|呃|辛苦了?)"
POLITE_AFTER = _either("polite-after")
BECAUSE = r"(?:(?<![a-z])(?:because|since|cause|cuz|as|reason)(?![a-z])\s*:?|(?:因为|由于|理由是?|原因是?):?)"
# What turns words that look like consent into something else.
NEGATION = re.compile(
    r"[不没無无别勿莫非未拒否禁甭休免停]|取消|反对|驳回|算了|[👎❌🚫⛔✋🙅✖]|n't(?![a-z])|(?<![a-z])(?:"
    + "|".join(LISTS["negation"])
    + r")(?![a-z])",
    re.IGNORECASE,
)
CONDITION = re.compile(
    r"如果|要是|假如|除非|只要|前提|等|先|之后再|之前|但|不过|然后|(?<![a-z])(?:"
    + "|".join(LISTS["condition"])
    + r")(?![a-z])",
    re.IGNORECASE,
)
