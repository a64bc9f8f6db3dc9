#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace vitrine {

// Reads JSON text forward, value by value, without building a document: a tokenizer.json holds some 300,000 strings
// that go straight into tables. A copy remembers a place to come back to. Throws TokenizerError with the line where
// reading failed.
class JsonCursor {
public:
    JsonCursor(std::string_view text, const std::filesystem::path& file) : text_(text), file_(&file) {}

    // Calls visit(key) for each member of an object, or visit() for each element of an array; visit consumes the value.
    // key is only valid until the next string is read.
    template <class Visit>
    void members(Visit visit) {
        sequence('{', '}', [&] {
            const std::string key(string());
            take(':');
            visit(std::string_view(key));
        });
    }
    template <class Visit>
    void elements(Visit visit) {
        sequence('[', ']', visit);
    }

    std::string_view string();  // valid until the next call
    std::int64_t integer();
    std::string_view raw();  // skips a value of any kind and gives its text
    char peek();             // the first character of the next value; 0 at the end of the text
    void take(char expected);
    bool take_if(char wanted);
    void end();  // nothing but white space may follow

    [[noreturn]] void fail(std::string expected);

private:
    template <class Visit>
    void sequence(char open, char close, Visit visit) {
        take(open);
        if (take_if(close)) return;
        do visit();
        while (take_if(','));
        take(close);
    }
    void unescape(std::size_t from);
    unsigned hex4();

    std::string_view text_;
    const std::filesystem::path* file_;
    std::size_t at_ = 0;
    std::string unescaped_;
};

}  // namespace vitrine
