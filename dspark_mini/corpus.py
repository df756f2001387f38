"""A synthetic corpus for a model of a million weights, in three domains: sums, functions and small talk.

A document is a prompt and its continuation. Sums are worked out digit by digit, so most words are determined; functions
repeat the names in their header; small talk says the same thing in many ways, and its nouns depend on a verb two words
back ("pack the suitcase"), so the previous word alone does not predict them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Words = list[str]
Document = tuple[Words, Words]  # prompt and continuation, without the final END

DOMAINS = ("math", "code", "chat")
END = "<end>"
NEWLINE, INDENT = "\n", "    "

PLACES = ("ones", "tens", "hundreds")
NAMES = ["items", "values", "numbers", "prices", "scores", "words", "names", "points", "rows", "cells", "keys", "marks"]
SINGLE = ["item", "value", "number", "price", "score", "word", "name", "point", "row", "cell", "key", "mark"]
RESULTS = ["total", "result", "answer", "best", "found", "kept", "output", "level"]
LIMITS = ["limit", "bound", "low", "high"]
FUNCTIONS = {
    "accumulate": ["add_up", "sum_all", "collect_total"],
    "filter": ["keep_large", "select_some", "pick_above"],
    "extreme": ["find_best", "largest_of", "top_one"],
    "count": ["count_all", "tally", "how_many"],
    "scale": ["scale_all", "times_each", "stretch"],
    "loop": ["count_down", "run_until", "shrink"],
}
BODIES = {  # each leading ">" is one more level of indentation
    "accumulate": ["{result} = 0", "for {one} in {many} :", ">{result} = {result} + {one}", "return {result}"],
    "filter": [
        "{result} = [ ]",
        "for {one} in {many} :",
        ">if {one} > {limit} :",
        ">>{result} . append ( {one} )",
        "return {result}",
    ],
    "extreme": [
        "{result} = {many} [ 0 ]",
        "for {one} in {many} :",
        ">if {one} > {result} :",
        ">>{result} = {one}",
        "return {result}",
    ],
    "count": [
        "{result} = 0",
        "for {one} in {many} :",
        ">if {one} == {limit} :",
        ">>{result} = {result} + 1",
        "return {result}",
    ],
    "scale": ["{result} = [ {one} * {digit} for {one} in {many} ]", "return {result}"],
    "loop": ["while {many} > {digit} :", ">{many} = {many} - {digit}", "return {many}"],
}
TOPICS: dict[str, list[tuple[str, str, str]]] = {  # verb, its object, an adjective for the object
    "trip": [
        ("pack", "suitcase", "heavy"),
        ("book", "hotel", "cheap"),
        ("charge", "camera", "ready"),
        ("print", "ticket", "valid"),
        ("renew", "passport", "old"),
    ],
    "dinner": [
        ("boil", "rice", "soft"),
        ("chop", "onion", "fresh"),
        ("season", "soup", "hot"),
        ("bake", "bread", "brown"),
        ("chill", "wine", "cold"),
    ],
    "garden": [
        ("water", "roses", "dry"),
        ("mow", "lawn", "green"),
        ("prune", "hedge", "tall"),
        ("rake", "leaves", "wet"),
        ("plant", "bulbs", "small"),
    ],
    "laptop": [
        ("restart", "system", "slow"),
        ("install", "update", "new"),
        ("clean", "keyboard", "dusty"),
        ("replace", "battery", "weak"),
        ("free", "disk", "full"),
    ],
    "exam": [
        ("review", "notes", "clear"),
        ("solve", "exercises", "hard"),
        ("memorise", "formulas", "short"),
        ("ask", "tutor", "patient"),
        ("set", "alarm", "loud"),
    ],
    "party": [
        ("invite", "neighbours", "kind"),
        ("order", "cake", "sweet"),
        ("hang", "lights", "bright"),
        ("choose", "music", "quiet"),
        ("fill", "balloons", "red"),
    ],
}
OPENERS = (
    "of course , happy to help with that .",
    "no problem , glad to talk about it .",
    "sure thing , always good to plan ahead .",
    "well then , great that you asked me .",
)
CLOSERS = (
    "good luck and let me know",
    "have fun and tell me later",
    "take care and come back soon",
)
THANKS = (
    "thanks a lot , that was very useful .",
    "many thanks , this is really great advice .",
    "perfect , now it all makes sense .",
)
REPLIES = (
    "you are welcome , see you next time .",
    "my pleasure , until we speak again .",
    "any time , just write to me .",
)


def _pick(rng: np.random.Generator, choices: Sequence[str]) -> str:
    return choices[int(rng.integers(len(choices)))]


def _digits(number: int) -> Words:
    return list(str(number))


def math_document(rng: np.random.Generator) -> Document:
    """Add two three-digit numbers place by place, then check the sum."""
    first, second = (int(value) for value in rng.integers(100, 500, size=2))
    prompt = ["<math>", _pick(rng, ("compute", "add")), *_digits(first), "+", *_digits(second), "."]
    body: Words = []
    carry = 0
    for place, (a, b) in enumerate(zip(_digits(first)[::-1], _digits(second)[::-1])):
        start = _pick(rng, ("then the", "next the") if place else ("we start with the", "first come the"))
        total = int(a) + int(b) + carry
        body += [*start.split(), PLACES[place], ":", a, "+", b, *(["+", "1"] if carry else [])]
        body += ["=", *_digits(total), ","]
        carry = total // 10
        if carry:
            words = _pick(rng, ("write {} and carry 1 .", "put down {} , keep 1 ."))
        else:
            words = _pick(rng, ("write {} , nothing to carry .", "put down {} , that is all ."))
        body += words.format(total % 10).split()
    body += [*_pick(rng, ("the sum is", "so we get")).split(), *_digits(first + second), "."]
    body += ["check", ":", *_digits(first + second), "-", *_digits(second), "=", *_digits(first), "."]
    return prompt, body


def _function(rng: np.random.Generator) -> Document:
    kind = _pick(rng, tuple(FUNCTIONS))
    name = _pick(rng, FUNCTIONS[kind])
    which = int(rng.integers(len(NAMES)))
    words = {"many": NAMES[which], "one": SINGLE[which], "result": _pick(rng, RESULTS), "limit": _pick(rng, LIMITS)}
    words["digit"] = str(rng.integers(2, 10))
    arguments = [words["many"], *([",", words["limit"]] if kind in ("filter", "count") else [])]
    header = ["def", name, "(", *arguments, ")", ":", NEWLINE]
    body: Words = []
    if kind != "loop" and rng.random() < 0.4:
        body += [INDENT, "if", "not", words["many"], ":", NEWLINE, INDENT, INDENT, "return", "None", NEWLINE]
    for line in BODIES[kind]:
        depth = 1 + line.count(">", 0, 2) if line.startswith(">") else 1
        body += [INDENT] * depth + line.lstrip(">").format(**words).split() + [NEWLINE]
    body += [*_pick(rng, ("print (", "test (", "show (")).split(), name, "(", *arguments, ")", ")", NEWLINE]
    return header, body


def code_document(rng: np.random.Generator) -> Document:
    """Write two small functions, each followed by a call."""
    header, body = _function(rng)
    second_header, second_body = _function(rng)
    return ["<code>", *header], [*body, *second_header, *second_body]


def chat_document(rng: np.random.Generator) -> Document:
    """Write a request for help, an answer in steps, thanks and a reply."""
    topic = _pick(rng, tuple(TOPICS))
    steps = [TOPICS[topic][int(i)] for i in rng.permutation(5)[:4]]
    question = _pick(rng, ("can you help me with the", "what should i do for the", "any ideas about the"))
    prompt = ["<chat>", "user", ":", *question.split(), topic, "?", NEWLINE, "bot", ":"]
    (verb_1, noun_1, _), (verb_2, noun_2, _), (verb_3, noun_3, _), (_, noun_4, state_4) = steps
    order = _pick(rng, ("first you {} the {} , then {} the {}", "you could {} the {} , or {} the {}"))
    body = _pick(rng, OPENERS).split()
    body += [*order.format(verb_1, noun_1, verb_2, noun_2).split(), "."]
    body += [*_pick(rng, ("after that", "in the end")).split(), verb_3, "the", noun_3, "as", "well", "."]
    body += [*_pick(rng, ("when the", "if the")).split(), noun_4, *_pick(rng, ("is", "looks")).split(), state_4, ","]
    body += ["please", *_pick(rng, ("wait for the", "stay with the", "talk to the")).split()]
    body += [_pick(rng, ("morning", "evening", "weekend")), ".", *_pick(rng, CLOSERS).split(), ".", NEWLINE]
    body += ["user", ":", *_pick(rng, THANKS).split(), NEWLINE, "bot", ":", *_pick(rng, REPLIES).split(), NEWLINE]
    return prompt, body


WRITERS: dict[str, Callable[[np.random.Generator], Document]] = {
    "math": math_document,
    "code": code_document,
    "chat": chat_document,
}
