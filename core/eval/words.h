#pragma once

#include <string>
#include <string_view>
#include <vector>

// Captions and answers as the metrics compare them.
namespace vitrine {

// For exact match: NFC, lower case, each run of white space one space, none at the ends. Ill-formed UTF-8 reads as
// U+FFFD. Lower case covers the alphabets that have one and people write captions in: Latin, Greek, Cyrillic, Armenian.
std::string normalised_text(std::string_view text);

// For the n-gram metrics: the words of normalised_text much as the Penn Treebank tokenizer of COCO's caption evaluation
// splits them.
// - Punctuation and brackets separate and are dropped; $ % & # + = * are words of their own.
// - Kept whole: letters or digits joined by - ' / _ or @ (t-shirt, o'clock), digits joined by . , : (3.5, 1,000,
// 10:30).
// - Clitics are words: isn't is "is n't", dog's is "dog 's", they're is "they 're", cannot is "can not".
// - Each Chinese character and each kana is a word: these scripts put no space between words.
// The original's list of abbreviations (Mr., e.g.) is left out: their dots are dropped like any other.
std::vector<std::string> caption_words(std::string_view text);

}  // namespace vitrine
