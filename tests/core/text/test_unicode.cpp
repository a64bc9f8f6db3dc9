#include "core/text/pretokenizer.h"
#include "core/text/unicode.h"
#include "core/text/utf8.h"
#include "reference_data.h"
#include "support/test_main.h"

using namespace vitrine;
using namespace vitrine::test;

class TestUnicode : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void classes_of_all_code_points() {
        const std::string expected = read_file(text_reference / "classes.bin");
        QCOMPARE(expected.size(), std::size_t{0x110000});
        for (char32_t c = 0; c < 0x110000; ++c)
            QVERIFY2(static_cast<char>(unicode::char_class(c)) == expected[c], QByteArray::number(c, 16).constData());
    }

    void nfc_of_all_code_points_and_of_marks_in_any_order() {
        int changed = 0;
        for (Records records(text_reference / "nfc.bin"); records.more();) {
            const std::string_view text = records.text(), expected = records.text();
            std::string buffer;
            const std::string_view found = unicode::nfc(text, buffer);
            QVERIFY2(found == expected,
                     QByteArray(text.data(), static_cast<qsizetype>(text.size())).toPercentEncoding().constData());
            changed += text != expected;
        }
        QVERIFY(changed > 10000);
    }

    void pieces_are_those_of_the_regex() {
        int count = 0;
        for (Records records(text_reference / "pieces.bin"); records.more(); ++count) {
            const std::string_view text = records.text();
            const auto expected = records.numbers();
            std::vector<std::int32_t> found;
            for (std::size_t at = 0, end; at < text.size(); at = end) {
                end = piece_end(text, at);
                found.push_back(static_cast<std::int32_t>(end - at));
            }
            QVERIFY2(found == expected,
                     QByteArray(text.data(), static_cast<qsizetype>(text.size())).toPercentEncoding().constData());
        }
        QVERIFY(count > 20000);
    }

    void text_in_nfc_is_not_copied() {
        std::string buffer;
        for (const std::string_view text : {"", "plain", "naïve Ünïcode 日本語 각 Việt", "मनुष्यों को"}) {
            QVERIFY(unicode::nfc(text, buffer).data() == text.data());
            QVERIFY(utf8::repaired(text, buffer).data() == text.data());
        }
    }

    void ill_formed_utf8_is_replaced_by_maximal_subparts() {
        const std::string fffd = "\uFFFD";
        const std::pair<std::string, std::string> table[] = {
            {"a\x80z", "a" + fffd + "z"},
            {"\xC0\xAF", fffd + fffd},                        // overlong
            {"\xE0\x80\xAF", fffd + fffd + fffd},             // overlong
            {"\xED\xA0\x80", fffd + fffd + fffd},             // surrogate
            {"\xF4\x90\x80\x80", fffd + fffd + fffd + fffd},  // above U+10FFFF
            {"\xF0\x9F\x98", fffd},                           // unfinished at the end
            {"\xF0\x9F\x98"
             "A",
             fffd + "A"},                          // unfinished before a letter
            {"\xE2\x82\xE2\x82\xAC", fffd + "€"},  // unfinished before a whole one
            {"\xFF\xFE", fffd + fffd},
            {"\xF4\x8F\xBF\xBF", "\U0010FFFF"},
        };
        for (const auto& [text, expected] : table) {
            std::string buffer;
            QCOMPARE(std::string(utf8::repaired(text, buffer)), expected);
        }
    }
};

VITRINE_TEST(TestUnicode)
#include "test_unicode.moc"
