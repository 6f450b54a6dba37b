"""List the words people answer approvals with, in English and Chinese, as regular expressions.

The expressions are matched against text that was brought to one width, one script (simplified) and straight
quotes, ignoring case. No word of consent here contains a negation: `没问题` and `no problem` are left to the model.
"""

from __future__ import annotations

import re


def _either(*words: str) -> str:
    """Join words, longest first, so that the longest is what is found; letters must not touch other letters."""
    listed = sorted((word for group in words for word in group.split("|")), key=len, reverse=True)
    return "(?:" + "|".join(_bounded(word) for word in listed) + ")"


def _bounded(word: str) -> str:
    pattern = re.escape(word).replace(r"\ ", r"\s+")
    if not word.isascii() or not word[0].isalnum():
        return pattern
    return rf"(?<![a-z0-9]){pattern}(?![a-z0-9'])"


IT = _either(
    "it|this|that|this one|that one|the command|this command|this call|the edit|this edit|the change|this change"
    "|它|这个|这条|这条命令|这个命令|该命令|此操作|这个操作|这项操作|这个修改|这个请求|该请求"
)
YES = _either(
    "yes|y|yep|yeah|yup|yea|aye|ok|okay|okey|okie|k|sure|sure thing|approve|approved|allow|allowed|accept|accepted|agree"
    "|agreed|confirm|confirmed|permit|permitted|granted|go|go ahead|go for it|do it|do that|do so|run it|proceed"
    "|please do|fine|fine by me|fine with me|that's fine|it's fine|lgtm|looks good|looks good to me|sounds good|of course"
    "|certainly|absolutely|definitely|affirmative|by all means|be my guest|you may|you can|you may proceed|i approve"
    "|i agree|i allow|i accept|i confirm|we approve|we agree|i'm ok with it|i am ok with it|that's ok|that's okay"
    "|it's ok|it's okay|all good|good to go|green light|ship it|approve it|allow it|permission granted",
    "同意|同意了|可以|可以的|可以了|可以啊|可以呀|可以哦|可|好|好的|好滴|好啊|好呀|好哒|好嘞|行|行的|行啊|行呀|准|准了|批准|批准了"
    "|批了|允许|许可|准许|通过|是|是的|是啊|确认|确定|执行|运行|去做吧|做吧|干吧|跑吧|赞成|接受|当然|当然可以|当然同意|我同意|我批准"
    "|我允许|我确认|我赞成|我们同意|我们批准|完全同意|完全可以|放行|授权|ok的",
    "👍|👌|✅|☑|✔|🆗|🙆",
)
YES_SOFT = r"(?:吧|的|啊|呀|哦|啦|哈|~)"
HASTE = r"(?:直接|请|就|那就|那|现在|马上|立即|立刻|快|please\s+|just\s+)?"
NO = _either(
    "no|n|nope|nah|nay|deny|denied|reject|rejected|refuse|refused|decline|declined|disallow|disallowed|disapprove"
    "|disapproved|forbid|forbidden|don't|dont|do not|stop|cancel|abort|never|not ok|not okay|not now|not allowed"
    "|not approved|not this|not that|no way|absolutely not|definitely not|certainly not|of course not|please don't"
    "|don't do it|don't do that|don't do this|do not do it|do not do that|dont do it|don't run it|do not run it"
    "|don't run that|don't allow it|do not allow it|never allow it|never do that|i refuse|i deny|i reject|i decline"
    "|i don't agree|i do not agree|i disagree|disagree|i don't approve|i do not approve|i do not allow it|negative|veto"
    "|no go|hell no|you may not|you can't|you cannot|you must not|not yet|rather not|i'd rather not|please stop",
    "拒绝|拒绝了|不行|不行的|不|不不|不要|不可以|不同意|不准|不许|不允许|不能|不好|不可|不批准|不批|不通过|否|否决|驳回|别"
    "|别做|别执行|别运行|别跑|别动|别这样|不用|不用了|不必|不必了|算了|算了吧|取消|取消吧|禁止|停|停下|停止|免了|千万别|千万不要"
    "|先不要|先别|先不|先不用|暂时不要|暂时不行|暂不|暂不同意|我不同意|我拒绝|我反对|反对|不了|没门|休想|不赞成|不接受|不支持|不授权"
    "|不确认|不执行|不运行|不做|不干|我不批准|我不允许|我们不同意|绝对不行|绝对不可以|当然不行|当然不可以|坚决不同意|不可行|打住",
    "👎|❌|🚫|⛔|✋|🙅|✖",
)
NO_SOFT = r"(?:吧|的|啊|呀|哦|啦|哈|了|~)"

# What a verdict may be about. `X` is a command, path or tool in the person's own words.
APPROVE_VERB = _either(
    "approve|allow|permit|accept|yes to|ok to|okay to|agree to|confirm|run|yes for|ok for|yes|ok|okay|you may run"
    "|you can run|i approve|i allow|go ahead with|i agree to|proceed with|please approve|please allow",
    "都同意|都允许|都批准|都可以|同意|同意执行|同意运行|允许|允许执行|允许运行|批准|批准执行|准许|可以执行|可以运行|可以|执行|运行|通过"
    "|授权|放行|确认|我同意|我批准|我允许",
)
DENY_VERB = _either(
    "deny|reject|refuse|decline|disallow|forbid|no to|don't allow|do not allow|don't approve|do not approve|don't run"
    "|do not run|dont run|never run|never allow|no|not|but not|i deny|i reject|veto|cancel|skip",
    "拒绝|不同意|不允许|不批准|不准|不许|不要执行|不要运行|别执行|别运行|不执行|不运行|驳回|否决|禁止|取消|不要|不通过|都拒绝|都不同意",
)
ONLY = _either(
    "only|just|only approve|only allow|only accept|only permit|only run|approve only|allow only|accept only|permit only"
    "|just approve|just allow|just run|run only|approve just|allow just|yes to only|yes but only|ok but only|ok only|yes only",
    "只同意|只允许|只批准|只准|只可以|只能|只执行|只运行|只通过|只接受|仅同意|仅允许|仅批准|仅执行|仅运行|仅通过|我只同意|我只允许|我只批准"
    "|同意但只限|只限|仅限|只放行|只授权",
)
ALL = _either(
    "all|all of them|all of it|all of these|all of those|everything|every one|each|each of them|both|both of them|them all"
    "|to all|to everything|to both|to all of them",
    "全部|全都|所有|所有的|都|全|全部都|所有都|所有的都|一律|统统|通通|一概|这些都|这些|它们|全体|两个都|三个都|每个|每个都|每一个都|大家都",
)
NONE = _either(
    "none|none of them|none of these|neither|nothing",
    "一个都不要|一个都不行|一个也不要|一个也不行|都别|全都别",
)
REST = _either(
    "the rest|rest|the others|others|other ones|the other|the other ones|everything else|all others|all the others|the remaining"
    "|the other one|remaining",
    "其他|其它|其余|其他的|其它的|其余的|剩下的|其他都|其它都|其余都|剩下的都|别的|别的都|另外的|另一个|另外一个",
)
EXCEPT = _either(
    "except|except for|but|but not|besides|other than|apart from|excluding|save", "除了|除|除去|除开"
)

NUMERALS = {
    "一": 1,
    "二": 2,
    "两": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
    "十": 10,
}
ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4, "5th": 5,
}  # fmt: skip
NUMBER = (
    r"(?:(?:number\s+|no\.\s*|item\s+|#|第)?(?<![a-z0-9./])\d{1,3}(?!\.?[a-z0-9%/])(?:\s*(?:号|个|条|项))?"
    r"|第?[一二两三四五六七八九十](?:个|条|项|号)?"
    rf"|(?:the\s+)?(?:{'|'.join(ORDINALS)})(?![a-z])(?:\s+(?:one|command|call))?)"
)
NUMBER_LIST = rf"{NUMBER}(?:\s*(?:,|、|和|与|及|跟|&|\+|(?<![a-z])and(?![a-z])|-|到|至|(?<![a-z])to(?![a-z])|\s)\s*{NUMBER})*"
RANGE = re.compile(r"(\d{1,3})\s*(?:-|到|至|to)\s*(?:第)?(\d{1,3})", re.IGNORECASE)

ONCE = _either(
    "once|just once|only once|just this once|only this once|this once|this time|this time only|just this time|only this time"
    "|one time|one time only|for now|but only once|but just this once|but only this time",
    "仅此一次|就这一次|只此一次|仅这一次|只这一次|这一次|仅限这次|仅这次|只限这次|这次|本次|就这次|下不为例|只同意这一次|仅限本次|仅限一次",
)
ALWAYS = _either(
    "always|from now on|forever|permanently|every time|for good",
    "始终|总是|一直|永远|今后|以后|今后都|以后都|以后一律|今后一律|每次|每次都|永久",
)
THREAD = _either(
    "in this thread|for this thread|this thread|in this chat|for this chat|this chat|in this conversation"
    "|for this conversation|this conversation|this session|in this session|for this session|for the session"
    "|for the rest of this chat|for the rest of this conversation|in this room",
    "本会话|这个会话|此会话|本线程|这个线程|这次会话|本次会话|这个对话|本对话|本次对话|这次对话|在本会话|在这个会话|在本次会话|本会话内|这个会话内|在这个会话里"
    "|这个会话里|本会话中|在本会话中|在这个对话里|这个对话里|当前会话|在当前会话|在本会话内|在这个会话内|当前会话内|这个群里|在这个群里|本次会话内",
)
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

POLITE_BEFORE = r"(?:hi|hey|hello|well|so|um|hmm|please|pls|oh|ah|请|那就?|嗯+|哦|啊|麻烦你?|唔|呃)"
POLITE_AFTER = (
    r"(?:please|pls|plz|thanks(?:\s+a\s+lot)?|thank\s+you|thx|ty|cheers|mate|sir|buddy|bro|谢谢[你您]?|多谢|辛苦[你了]*|拜托了?|感谢"
    r"|哈哈?|喽|咯)"
)
BECAUSE = r"(?:because|since|cause|cuz|as|reason\s*:|因为|理由是?:?|原因是?:?|由于)"
# Words that turn what looks like consent into something else.
NEGATION = re.compile(
    r"[不没無无别勿莫非未拒否禁甭休免停]|取消|反对|驳回|算了"
    r"|(?<![a-z])(?:no|not|none|nor|never|nope|nah|neither|without|cannot|cant|dont|wont|deny|denied|reject\w*|refus\w*|declin\w*"
    r"|disallow\w*|disapprov\w*|forbid\w*|stop|cancel|abort|except|unless|wait|hold)(?![a-z])|n't(?![a-z])|👎|❌|🚫|⛔|✋|🙅|✖",
    re.IGNORECASE,
)
CONDITION = re.compile(
    r"如果|要是|假如|除非|只要|前提|等|先|之后再|之前|但|不过|然后"
    r"|(?<![a-z])(?:if|when|once|after|before|until|unless|provided|as\s+long|but|however|then|first|wait|later)(?![a-z])",
    re.IGNORECASE,
)
