"""Read plain requests, in English and Chinese, for the rehearsal model."""

from __future__ import annotations

import re
from functools import cache

import msgspec


class Intent(msgspec.Struct, frozen=True):
    """What one clause asks for: a kind such as "read", and its pieces by role."""

    kind: str
    slots: dict[str, str] = {}


# A clause that ends in free text takes everything after its verb; it is not split at "and".
TAKES_ALL = frozenset({"exec", "memory_upsert", "recall", "think", "call"})
POLITE = re.compile(
    r"(?:please|could you|can you|now|first|请问?|帮我|麻烦|你?能不能|先|再)[\s,，]*", re.IGNORECASE
)
# Where a new clause may begin.
VERB = (
    r"(?:(?:please\s+)?(?:read|open|show|cat|view|list|find|glob|search|grep|run|exec|execute|write|save|create|edit|replace"
    r"|fetch|visit|remember|recall|send|think|count|call|help|tools|summari[sz]e|markdown|fail)\b|\$ "
    r"|请|再|读|查看|看|打开|列出|查找|搜|运行|执行|跑|把|将|写|编辑|在|抓取|获取|访问|记|回忆|显示|展示|发送?文件"
    r"|想|思考|慢慢|数到|调用|帮助|工具|总结|失败)"
)
LINE = re.compile(rf"\n+(?={VERB})", re.IGNORECASE)
THEN = re.compile(
    rf"(?:\s*[,，。]\s*|\s+)(?:and\s+)?then[\s,]+(?={VERB})|\s*[,，。]?\s*(?:然后|接着)[再，,]?\s*(?={VERB})",
    re.IGNORECASE,
)
JOINER = re.compile(
    rf"(?:\s*[,，;；、]\s*(?:and\s+|并且?|和|再)?|\s+and\s+|\s*(?:并且|并|和)\s*)(?={VERB})", re.IGNORECASE
)

# Each line is one way to ask; the first that fits the whole clause wins.
WAYS: tuple[tuple[str, str], ...] = (
    ("help", r"/?help|\?|what can you do|帮助|你(?:能|会)(?:做|干)?(?:什么|啥)|怎么用"),
    (
        "tools",
        r"(?:(?:list|show|what|which)\s+)?(?:the\s+)?tools(?:\s.*)?|(?:有)?(?:哪些|什么)工具|(?:列出)?工具(?:列表)?",
    ),
    ("hello", r"(?:hi|hello|hey|ahoy|good (?:morning|day|evening))(?: there)?|你好|您好|嗨|早上好|晚上好"),
    ("hello", r"who are you|what are you|你是谁|你是什么"),
    (
        "markdown",
        r"(?:show\s+)?(?:me\s+)?markdown(?:\s+(?:demo|sample))?|markdown ?(?:演示|示例)|演示 ?markdown",
    ),
    ("fail", r"fail(?:\s+(?:now|half ?way))?|失败|出错|报错"),
    ("count", r"count\s+(?:up\s+)?to\s+(?P<number>\d+)(?P<slowly>\s+slowly)?"),
    ("count", r"(?P<slowly>慢慢地?)?(?:从[一1])?数到\s*(?P<number>\d+)"),
    ("summary", r"summari[sz]e\b.*|sum up\b.*|总结.*|概括.*"),
    ("think", r"think(?:\s+hard)?(?:\s+(?:about|of))?(?:\s+(?P<topic>.+))?"),
    ("think", r"(?:想一想|想想|思考一下|思考)[:：,，]?\s*(?P<topic>.*)"),
    ("call", r"(?:call|调用)\s*(?P<tool>[A-Za-z]\w*)\s*(?P<arguments>\{.*\})?"),
    (
        "web_fetch",
        r"(?:fetch|open|read|get|visit|抓取|打开|获取|访问|读取?)(?:一下)?\s*(?P<url>https?://\S+)",
    ),
    ("memory_upsert", r"remember(?:\s+that)?[:,]?\s+(?P<content>.+)"),
    ("memory_upsert", r"(?:记住|记下来?|记一下)[:：,，]?\s*(?P<content>.+)"),
    (
        "recall",
        r"(?:recall|what do you (?:remember|know) about)\s+(?P<query>.+)|回忆(?:一下)?\s*(?P<query2>.+)",
    ),
    ("exec", r"(?:在)?后台(?P<background>运行|执行)\s*(?P<command>.+)"),
    ("exec", r"(?:run|start)\s+(?P<command>.+?)\s+(?P<background>in (?:the )?background)"),
    ("jobs", r"(?:list\s+|show\s+)?(?:the\s+)?jobs|后台任务"),
    ("exec", r"(?:run|exec|execute)(?:\s+(?:the\s+)?command)?[:\s]\s*(?P<command>.+)|\$\s+(?P<command2>.+)"),
    ("exec", r"(?:运行|执行|跑)(?:一下)?(?:命令)?[:：]?\s*(?P<command>.+)"),
    ("edit", r"edit\s+(?P<path>\S+?)[:：,]?\s+replace\s+(?P<old>.+?)\s+(?:with|by)\s+(?P<new>.+)"),
    ("edit", r"replace\s+(?P<old>.+?)\s+(?:with|by)\s+(?P<new>.+)\s+in\s+(?P<path>\S+)"),
    (
        "edit",
        r"(?:编辑|(?:在|把|将))\s*(?P<path>\S+?)\s*(?:里面?|中|[:：])的?\s*(?:把|将)?\s*(?P<old>.+?)\s*"
        r"(?:改成|改为|替换成|替换为|换成)\s*(?P<new>.+)",
    ),
    ("write", r"(?:write|save|put)\s+(?P<content>.+)\s+(?:in)?to\s+(?:the\s+)?(?:file\s+)?(?P<path>\S+)"),
    (
        "write",
        r"create\s+(?:a\s+)?(?:file\s+)?(?P<path>\S+)\s+(?:with|containing|saying)\s+(?P<content>.+)",
    ),
    (
        "write",
        r"(?:把|将)\s*(?P<content>.+?)\s*(?:写入|写到|写进|保存到|存到)\s*(?:文件)?\s*(?P<path>\S+?)(?:里面?|中)?",
    ),
    (
        "show_image",
        r"(?:show|display|view)(?:\s+me)?(?:\s+the|\s+an?)?\s+(?:image|picture|photo)\s+(?P<path>\S+)",
    ),
    ("show_image", r"(?:显示|展示|看)(?:一下)?(?:图片|图像|照片)\s*(?P<path>\S+)"),
    (
        "send_file",
        r"send(?:\s+me)?(?:\s+the|\s+a)?\s+file\s+(?P<path>\S+)|(?:发送?|传)(?:一下)?文件\s*(?P<path2>\S+)",
    ),
    (
        "glob",
        r"(?:glob|find|list|show)\s+(?:all\s+)?(?:files\s+)?(?P<pattern>\S*[*?]\S*)(?:\s+(?:in|under)\s+(?P<path>\S+))?",
    ),
    ("glob", r"(?:查找|找|列出)\s*(?P<pattern>\S*[*?]\S*)"),
    (
        "glob",
        r"(?:list|show|find)(?:\s+(?:me|all|the))*\s+(?:files|folders?)(?:\s+(?:in|under|of)\s+(?P<path>\S+))?|ls",
    ),
    ("glob", r"(?:列出|查看|看看|显示)(?:所有|全部|一下)?(?:的)?(?:文件|目录)(?:列表)?"),
    (
        "grep",
        r"(?:search|grep|find|look)\s+(?:for\s+)?(?P<pattern>.+?)(?:\s+(?:in|under|inside)\s+(?P<path>\S+))?",
    ),
    ("grep", r"在\s*(?P<path>\S+?)\s*(?:里面?|中)?\s*(?:搜索|查找|搜)\s*(?P<pattern>.+)"),
    ("grep", r"(?:搜索|搜一下|查找|搜)\s*(?P<pattern>.+)"),
    ("read", r"(?:read|open|show|cat|view|display)(?:\s+me)?\s+(?P<paths>.+)"),
    ("read", r"(?:读取|读|查看|打开|看看|看)(?:一下)?\s*(?P<paths>.+)"),
)


@cache
def _compile(way: str) -> re.Pattern[str]:
    # Only when first tried: compiling all of them would cost more than a whole offline answer.
    return re.compile(way, re.IGNORECASE | re.DOTALL)


QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "「": "」", "《": "》"}
QUOTED = re.compile(r"[\"'`“「]([^\"'`“”「」]+)[\"'`”」]")
PATH_GAP = re.compile(r"\s*[,，、]\s*|\s+(?:and|和|与|以及)\s+|(?<=[A-Za-z0-9])(?:和|与|以及)|\s+")
FILLER = frozenset(
    ("the", "file", "files", "and", "please", "content", "contents", "of", "文件", "的内容", "内容", "吧")
)
PATH_TAIL = re.compile(r"(?:的内容|这个文件|文件|吧|[,，。;；!！?？])+$|(?<=\w)[.:]$")


def parse_request(text: str) -> list[list[Intent]]:
    """Return the stages of a request, each a list to do at once; empty when it is no plain request."""
    stages: list[list[Intent]] = []
    for stage in THEN.split(text.strip()):
        found = _parse_stage(stage)
        if not found:
            return []
        stages.append(found)
    return stages


def _parse_stage(text: str) -> list[Intent]:
    found: list[Intent] = []
    for line in LINE.split(text.strip()):
        clauses = _parse_clauses(line)
        if not clauses:
            return []
        found.extend(clauses)
    return found


def _parse_clauses(text: str) -> list[Intent]:
    whole = _parse_clause(text)
    cut = JOINER.search(text)
    if cut is None or (whole and whole[0].kind in TAKES_ALL):
        return whole
    first, rest = _parse_clause(text[: cut.start()]), _parse_clauses(text[cut.end() :])
    return [*first, *rest] if first and rest else whole


def _parse_clause(text: str) -> list[Intent]:
    clause = _strip_polite(text)
    for kind, words in WAYS:
        way = _compile(words)
        match = way.fullmatch(clause) or way.fullmatch(clause.rstrip(".!?。！？ "))
        if match is None:
            continue
        slots = {role.rstrip("2"): unquote(value) for role, value in match.groupdict().items() if value}
        if kind != "read":
            return [
                Intent(
                    kind, {**slots, "path": PATH_TAIL.sub("", slots["path"])} if "path" in slots else slots
                )
            ]
        if paths := _find_paths(match["paths"]):
            return [Intent(kind, {"path": path}) for path in paths]
    return []


def _strip_polite(text: str) -> str:
    clause = text.strip()
    while (polite := POLITE.match(clause)) and polite.end() < len(clause):
        clause = clause[polite.end() :]
    return clause


def _find_paths(text: str) -> list[str]:
    if quoted := QUOTED.findall(text):
        return quoted
    words = [unquote(PATH_TAIL.sub("", word)) for word in PATH_GAP.split(text)]
    words = [word for word in words if word and word.lower() not in FILLER]
    likely = [word for word in words if re.search(r"[./]", word.strip("."))]
    return likely or (words if len(words) == 1 else [])


def unquote(text: str) -> str:
    """Take a pair of quotation marks off a piece of text."""
    text = text.strip()
    if len(text) > 1 and QUOTES.get(text[0]) == text[-1]:
        return text[1:-1]
    return text
