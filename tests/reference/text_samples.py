"""Texts of every kind that a tokenizer may meet, from a seed."""

import ast
import inspect
import json
import random
import textwrap
import unicodedata

# The first article of the Universal Declaration of Human Rights.
SENTENCES = """
All human beings are born free and equal in dignity and rights. They are endowed with reason and conscience.
Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen begabt.
Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison et de conscience.
Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón y conciencia.
Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti. Essi sono dotati di ragione e di coscienza.
Todos os seres humanos nascem livres e iguais em dignidade e em direitos. Dotados de razão e de consciência.
Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni obdarzeni rozumem i sumieniem.
Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv. Jsou nadáni rozumem a svědomím.
Minden emberi lény szabadon születik és egyenlő méltósága és joga van. Az emberek, ésszel és lelkiismerettel bírván.
Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana sahiptirler.
Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền. Mọi con người đều được tạo hoá ban cho lý trí.
Allir menn eru bornir frjálsir og jafnir öðrum að virðingu og réttindum. Þeir eru gæddir vitsmunum og samvizku.
Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan. Heille on annettu järki ja omatunto.
Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью.
Всі люди народжуються вільними і рівними у своїй гідності та правах. Вони наділені розумом і совістю.
Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. Είναι προικισμένοι με λογική.
Բոլոր մարդիկ ծնվում են ազատ ու հավասար իրենց արժանապատվությամբ ու իրավունքներով։
ყველა ადამიანი იბადება თავისუფალი და თანასწორი თავისი ღირსებითა და უფლებებით.
כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון.
يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. وقد وهبوا عقلاً وضميرًا.
تمام افراد بشر آزاد به دنیا می‌آیند و از لحاظ حیثیت و حقوق با هم برابرند.
सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।
সমস্ত মানুষ স্বাধীনভাবে সমান মর্যাদা এবং অধিকার নিয়ে জন্মগ্রহণ করে।
மனிதப் பிறிவியினர் சகலரும் சுதந்திரமாகவே பிறக்கின்றனர்; அவர்கள் மதிப்பிலும், உரிமைகளிலும் சமமானவர்கள்.
ప్రతిపత్తిస్వత్వముల విషయమున మానవులెల్లరును జన్మతః స్వతంత్రులును సమానులును నగుదురు.
മനുഷ്യരെല്ലാവരും തുല്യാവകാശങ്ങളോടും അന്തസ്സോടും സ്വാതന്ത്ര്യത്തോടുംകൂടി ജനിച്ചവരാണ്‌.
มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ ต่างมีเหตุผลและมโนธรรม
ມະນຸດທຸກຄົນເກີດມາມີກຽດສັກສີ, ສິດທິ, ເສລີພາບແລະຄວາມສະເໝີພາບເທົ່າທຽມກັນ.
លូតដើមមនុស្សទាំងអស់កើតមកមានសេរីភាព និងសមភាព ក្នុងផ្នែកសេចក្ដីថ្លៃថ្នូរនិងសិទ្ធិ។
လူတိုင်းသည် တူညီ လွတ်လပ်သော ဂုဏ်သိက္ခာဖြင့် လည်းကောင်း၊ တူညီလွတ်လပ်သော အခွင့်အရေးများဖြင့် မွေးဖွားလာသူများ ဖြစ်သည်။
འགྲོ་བ་མིའི་རིགས་རྒྱུད་ཡོངས་ལ་སྐྱེས་ཙམ་ཉིད་ནས་ཆེ་མཐོངས་དང་། ཐོབ་ཐངགི་རང་དབང་འདྲ་མཉམ་དུ་ཡོད་ལ།
人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。
人人生而自由，在尊嚴和權利上一律平等。他們賦有理性和良心，並應以兄弟關係的精神相對待。
すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。
모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 천부적으로 이성과 양심을 부여받았다.
የሰው ልጅ ሁሉ ሲወለድ ነጻና በክብርና በመብትም እኩልነት ያለው ነው።
ᏂᎦᏓ ᎠᏂᏴᏫ ᏂᎨᎫᏓᎸᎾ ᎠᎴ ᎤᏂᏠᏱ ᎤᎾᏕᎿ ᏚᏳᎧᏛ ᎨᏒᎢ.
ᐃᓅᔪᓕᒫᑦ ᐊᓂᖅᑎᕆᔪᓕᒫᑦ ᐃᓅᓚᐅᕐᒪᑕ ᐃᓱᒪᕐᓱᕐᖢᑎᒃ ᐊᒻᒪᓗ ᐊᔾᔨᐅᖃᑎᒌᒃᖢᑎᒃ.
""".strip().splitlines()

SPACES = " \t\n\r\v\f\x85\xa0\u1680\u2000\u2003\u200a\u2028\u2029\u202f\u205f\u3000"
NOT_SPACES = "\u200b\u2060\ufeff\u180e\x1c\x1d\x1e\x1f"
EMOJI = "😀 😂 ❤️ 👍🏽 👨‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 🇯🇵 🏴󠁧󠁢󠁥󠁮󠁧󠁿 👩🏿‍🚀 🤷🏻‍♀️ ☕ ✈️ 1️⃣ #️⃣ 🧑‍🤝‍🧑 🫠 🪿 ☺ ♥︎ ㊗️ 🀄".split()
CONTRACTIONS = "'s 't 're 've 'm 'll 'd 'S 'T 'RE 'Re 'rE 'VE 'vE 'M 'LL 'lL 'D 'ſ ’s ' '' 'l 'r 'v 'x 'ss 'sé 'ſt 'ﬅ 'Ł 'lſ 'K".split()
MARKS = [c for c in range(0x110000) if unicodedata.combining(chr(c))]
COMPOSED = [c for c in range(0x110000) if unicodedata.decomposition(chr(c))[:1] not in ("", "<")]
ASSIGNED = [c for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
# Every so many of the rest too: they belong to no class, yet reach the tokenizer as bytes.
UNASSIGNED = [c for c in range(0, 0x110000, 97) if unicodedata.category(chr(c)) in ("Cn", "Co")]


def code_lines():
    lines = []
    for module in (ast, inspect, json, random, textwrap):
        lines += inspect.getsource(module).splitlines(keepends=True)
    return lines


def pick(rng, items, low, high):
    return [rng.choice(items) for _ in range(rng.randint(low, high))]


def multilingual(rng):
    sentence = rng.choice(SENTENCES)
    kind = rng.random()
    if kind < 0.3:
        return sentence
    words = sentence.split(" ") if " " in sentence else list(sentence)
    if kind < 0.6:
        begin = rng.randrange(len(words))
        return " ".join(words[begin : begin + rng.randint(1, 12)])
    if kind < 0.8:
        words += rng.choice(SENTENCES).split()
        rng.shuffle(words)
        return rng.choice([" ", "  ", ", ", "", "-", "\n"]).join(words)
    return rng.choice([str.upper, str.lower, str.title, str.swapcase])(sentence) + rng.choice(["!", "?!", "...\n", "\r\n\r\n", "”", " 　"])


def code(rng, lines):
    begin = rng.randrange(len(lines))
    text = "".join(lines[begin : begin + rng.randint(1, 12)])
    return text.replace("    ", "\t") if rng.random() < 0.3 else text.replace("\n", "\r\n") if rng.random() < 0.2 else text


def marks(rng):
    """Base characters with combining marks in any order, as few as one and as many as a stack of twelve."""
    text = ""
    for _ in range(rng.randint(1, 6)):
        kind = rng.random()
        text += chr(rng.choice(COMPOSED)) if kind < 0.4 else rng.choice("aeiouAEsSdDqk \u0915\u05d0\u0627\u1100\uac00가각<") if kind < 0.9 else ""
        text += "".join(map(chr, pick(rng, MARKS, 0, 12 if rng.random() < 0.1 else 3)))
        if rng.random() < 0.3:
            text += rng.choice("\u0301\u0300\u0308\u0323\u0327\u031b\u0345\u09be\u0bbe\u0dcf\u102e\u3099\u093c\u1161\u11a8\u0338")
    return text


def jamo(rng):
    ranges = ((0x1100, 0x1112), (0x1161, 0x1175), (0x11A7, 0x11C3), (0xAC00, 0xD7A3), (0x1113, 0x1160), (0x1176, 0x11A7), (0x3131, 0x318E))
    weights = (4, 4, 4, 2, 1, 1, 1)
    return "".join(chr(rng.randint(*rng.choices(ranges, weights)[0])) for _ in range(rng.randint(1, 16)))


def whitespace(rng):
    text = ""
    for _ in range(rng.randint(1, 5)):
        text += "".join(pick(rng, SPACES if rng.random() < 0.5 else " \n\r\t", 0, 6))
        text += rng.choice(["", "", "a", "Zeile", "1", "!", "é", "中", "...", rng.choice(NOT_SPACES), "'s"])
    return text


def numbers(rng):
    digits = rng.choice(["0123456789", "٠١٢٣٤٥٦٧٨٩", "०१२३", "０１２３", "²³½Ⅷ①", "𝟘𝟙𝟚", "一二三"])
    return "".join(rng.choice([rng.choice(digits), rng.choice(digits), rng.choice(".,-+/:e% €$x")]) for _ in range(rng.randint(1, 24)))


def contraction(rng):
    return "".join(rng.choice(["it", "We", "O", " ", "I", "l", "\n", "日", "9", "'", '"', "ß", ""]) + rng.choice(CONTRACTIONS) for _ in range(rng.randint(1, 5)))


def long_word(rng):
    alphabet = rng.choice(["a", "ab", "abcdefghijklmnopqrstuvwxyz", "eéèêñø", "漢字仮名交文的一是不", "가나다라", "=-", "😀👍", "\u0301\u0316", " ", "\n ", "7", "aА", "!", "กขฃ"])
    return "".join(rng.choices(alphabet, k=rng.choice([1000, 4000, 10000, 12000])))


def with_tokens(rng, tokens):
    """Added tokens whole, cut, doubled and glued to words."""
    text = ""
    for _ in range(rng.randint(1, 6)):
        token = rng.choice(tokens)
        cut = rng.randrange(len(token))
        text += rng.choice([token, token, token, token[:cut], token[cut:], token[:cut] + token, token.upper(), "<" + token + ">"])
        text += rng.choice(["", "", " ", "\n", "user\n", "é", "e\u0301", "\u0301", "中", "x"])
    return text


def every_code_point(rng):
    points = ASSIGNED + UNASSIGNED
    for start in range(0, len(points), 48):
        chars = [chr(c) for c in points[start : start + 48]]
        yield "".join(chars)
        yield "".join(rng.choice(["a", " ", "1", "!", "\n", "'", ""]) + c for c in chars)


def words(rng, definition):
    """What the small tokenizers can get right or wrong beyond the common samples."""
    added = [t["content"] for t in definition["added_tokens"]]
    vocabulary = "red green blue circle square photograph café 中 straße photographs left of the cafe\u0301 中!".split(" ") + added
    return ["", " "] + [rng.choice([" ", "", "s "]).join(pick(rng, vocabulary, 1, 8)) for _ in range(400)]


def training_text(rng):
    return [" ".join(pick(rng, "a the red green blue yellow circle square triangle is left right above below of large small two and".split(), 4, 12)) for _ in range(3000)] + SENTENCES


def everything(rng, added_tokens):
    lines = code_lines()
    makers = {
        lambda: multilingual(rng): 4000,
        lambda: code(rng, lines): 3000,
        lambda: rng.choice(["", " "]).join(pick(rng, EMOJI, 1, 8)) + rng.choice(["", " ok", "!"]): 1500,
        lambda: marks(rng): 3000,
        lambda: jamo(rng): 600,
        lambda: "".join(chr(rng.choice(ASSIGNED)) for _ in range(rng.randint(1, 24))): 2000,
        lambda: "".join(rng.choice(["a", "B ", chr(rng.randrange(0x20)), chr(rng.randrange(0x7F, 0xA1))]) for _ in range(rng.randint(1, 20))): 800,
        lambda: rng.randbytes(rng.randint(1, 60)).decode("latin-1"): 1500,
        lambda: rng.randbytes(rng.randint(1, 60)): 1000,
        lambda: broken(rng): 1500,
        lambda: whitespace(rng): 3000,
        lambda: numbers(rng): 800,
        lambda: contraction(rng): 1500,
        lambda: with_tokens(rng, added_tokens): 2500,
        lambda: long_word(rng): 60,
    }
    samples = ["", " ", "'", "\r", "\n", "a" * 100_000, "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=100_000))]
    for make, count in makers.items():
        samples += [make() for _ in range(count)]
    return samples + list(every_code_point(rng))


def broken(rng):
    """UTF-8 with bytes changed, cut out or put in."""
    data = bytearray(rng.choice(SENTENCES + EMOJI).encode()[: rng.randint(1, 80)])
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        data[at : at + rng.randint(0, 2)] = rng.choice([b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf", b"\xe0\x80", b"\xf0\x9f", b"\xff", b"", rng.randbytes(2)])
    return bytes(data)
