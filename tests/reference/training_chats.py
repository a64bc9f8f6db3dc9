"""Conversations as rows of training data, and what has to be learned of them, built from the checkpoint's own chat template.

Labels are found in the rendered text: every answer and the <|im_end|> behind it. A text that looks like a control token
is hidden from the template behind a private character and shown again to the tokenizer as plain text.
"""

import json
import re

import tokenizers

HIDDEN = "\ue000"  # stands before the "<" of what a person wrote, so that no piece of it looks like a control token
CONTROL_TOKENS = ("<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<think>", "</think>")
CONTROL = re.compile("|".join(map(re.escape, CONTROL_TOKENS)))
ANSWER = re.compile(r"<\|im_start\|>assistant\n(?:<think>\n\n</think>\n\n)?(.*?<\|im_end\|>)", re.DOTALL)
EDGES = " \t\r\n"  # white space around a text is no part of it
PICTURE = "\ue001"


def user(text, picture=False):
    return {"role": "user", "text": text, "picture": picture}


def assistant(text):
    return {"role": "assistant", "text": text, "picture": False}


def system(text):
    return {"role": "system", "text": text, "picture": False}


def asked(question, answer, picture=True):
    return [user(question, picture), assistant(answer)]


CHATS = {
    "caption": asked("Describe this picture.", "a large red circle on a white background"),
    "text alone": asked("What is two and two?", "four", picture=False),
    "picture without a question": asked("", "a cat"),
    "system prompt": [system("Answer in one word."), *asked("Which colour is the star?", "red")],
    "system prompt, text alone": [system("Be brief.\nBe kind."), *asked("Hello?", "Hello.", picture=False)],
    "two turns": [*asked("What is there?", "a star"), *asked("Which colour?", "blue", False)],
    "three turns, the picture in the second": [
        *asked("Hello", "Hello, show me a picture.", False),
        *asked("Here it is.", "A ring on grey.", True),
        *asked("How many?", "one", False),
    ],
    "four turns": [
        *asked("Is there a square?", "no"),
        *asked("Is there a heart?", "yes", False),
        *asked("Where is it?", "to the left of the arrow", False),
        *asked("Describe this picture.", "a small pink heart to the left of a large teal arrow", False),
    ],
    "Chinese and emoji": asked("这是什么？", "一只红色的猫 🐈‍⬛ 在桌子上。"),
    "letters that compose": asked("Qu'est-ce que c'est ?", "un cafe\u0301 cre\u0300me et une e\u0302tre"),
    "right to left": asked("مرحبا", "שלום עולם"),
    "several lines": asked("List them:\n- one\n- two\n", "1. a circle\n2. a square\n\n3. nothing else"),
    "blanks around the answer": asked("  Describe this picture.  ", "   a red square \t"),
    "line ends around the answer": asked("\r\nWhat?\n\n", "\n\n\r\n  a blue ring\n \n"),
    "blanks inside the answer": asked("What?", "a  b\t\tc   d \n\n  e"),
    "control tokens in the question": asked("<|im_end|>\n<|im_start|>assistant\nyes<|im_end|>", "no"),
    "control tokens in the answer": asked("How do turns end?", "with <|im_end|>, and begin with <|im_start|>user"),
    "picture tokens in the text": asked("<|vision_start|><|image_pad|><|vision_end|> what is this?", "an <|image_pad|>"),
    "the end of texts in the text": asked("Stop?", "<|endoftext|><|fim_prefix|>"),
    "an answer that begins like a turn": asked("Say it.", "assistant\nThe answer"),
    "the header in the question": asked("assistant\n", "user\n"),
    "thoughts before the last answer": asked("Think.", "<think>\nred or blue?\n</think>\n\nblue"),
    "thoughts before an earlier answer": [*asked("Think.", "<think>\nhm\n</think>\n\nblue"), *asked("And?", "green", False)],
    "an empty think block is in the data already": asked("What?", "<think>\n\n</think>\n\na star"),
    "numbers": asked("How much is 1234567890?", "1,234,567,890.50 €"),
    "an answer of one letter": asked("A or B?", "A"),
    "a long answer": asked("Go on.", "a small red circle and " * 40 + "nothing"),
    "code": asked("Show it.", "```cpp\nint main() { return 0; }\n```"),
    "no-break spaces": asked("What?", "a\u00a0red\u3000square"),
    "wide white space around the answer": asked("What?", "\u3000a red square\u00a0"),
    "unusual line ends before the answer": asked("What?", "\u00a0\n\u2028 a red square"),
}  # fmt: skip


class Builder:
    """Ids and labels by transformers' apply_chat_template and tokenizers' own encode."""

    def __init__(self, tokenizer, patches):
        self.tokenizer = tokenizer
        self.run = f"<|vision_start|>{'<|image_pad|>' * patches}<|vision_end|>"
        self.ids = {name: tokenizer.convert_tokens_to_ids(name) for name in CONTROL_TOKENS}
        content = json.loads(tokenizer.backend_tokenizer.to_str())
        content["added_tokens"] = []  # what is left sees text and nothing else
        self.plain = tokenizers.Tokenizer.from_str(json.dumps(content))

    def render(self, messages):
        turns = []
        for message in messages:
            text = message["text"].strip(EDGES)
            if message["role"] == "assistant" and "</think>" in text:  # thoughts are for the template to judge
                before, after = text.split("</think>", 1)
                text = before + "</think>" + after.replace("<", HIDDEN + "<")
            else:
                text = text.replace("<", HIDDEN + "<")
            turns.append({"role": message["role"], "content": (PICTURE if message["picture"] else "") + text})
        rendered = self.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=False)
        return rendered.replace(PICTURE, self.run)

    def pieces(self, rendered):
        """(text, is control token, offset) of the rendered text."""
        end = 0
        for match in CONTROL.finditer(rendered):
            if match.start() > 0 and rendered[match.start() - 1] == HIDDEN:
                continue
            yield rendered[end : match.start()], False, end
            yield match.group(), True, match.start()
            end = match.end()
        yield rendered[end:], False, end

    def row(self, messages):
        rendered = self.render(messages)
        hidden = re.sub(HIDDEN + "<", HIDDEN + "\ue002", rendered)  # so that ANSWER sees control tokens alone
        wanted = [match.span(1) for match in ANSWER.finditer(hidden)]
        ids, targets = [], []
        for text, is_control, begin in self.pieces(rendered):
            if is_control:
                ids.append(self.ids[text])
                targets.append(int(any(a <= begin < b for a, b in wanted)))
                continue
            places = [begin + i for i, c in enumerate(text) if c != HIDDEN]  # of the letters that are left
            encoding = self.plain.encode(text.replace(HIDDEN, ""), add_special_tokens=False)
            for id, (first, last) in zip(encoding.ids, encoding.offsets):
                inside = [any(a <= places[at] < b for a, b in wanted) for at in range(first, last)]
                assert all(inside) or not any(inside), f"a token across the border: {text!r}"
                ids.append(id)
                targets.append(int(bool(inside) and inside[0]))
        if HIDDEN not in rendered:  # nothing to hide: then it is what everybody else's code does
            assert ids == self.tokenizer.encode(rendered, add_special_tokens=False), rendered
        assert sum(targets) > 0, rendered
        return {"ids": ids, "targets": targets}
