#include "core/captions/text_style.h"
#include "support/test_main.h"

using namespace vitrine::captions;

namespace {

constexpr const char* kText = "Größe 5 € \xE2\x80\x93 first\nsecond";
constexpr const char* kWide = "\xE5\x86\x99\xE7\x9C\x9F \xF0\x9F\x98\x80\nsecond";  // CJK, and a pair in UTF-16

}  // namespace

// A caption's file keeps its spelling.
class TestTextStyle : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void every_spelling_comes_back_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<int>("encoding");
        QTest::addColumn<bool>("crlf");
        QTest::addColumn<int>("newlines");
        for (const auto encoding : {TextEncoding::utf8, TextEncoding::utf8_marked, TextEncoding::utf16_little,
                                    TextEncoding::utf16_big, TextEncoding::windows_1252}) {
            for (const bool crlf : {false, true}) {
                for (const int newlines : {0, 1, 2}) {
                    const char* const text = encoding == TextEncoding::windows_1252 ? kText : kWide;
                    QTest::addRow("encoding %d, crlf %d, %d newlines", static_cast<int>(encoding), crlf, newlines)
                        << QByteArray(text) << static_cast<int>(encoding) << crlf << newlines;
                }
            }
        }
    }
    void every_spelling_comes_back() {
        QFETCH(const QByteArray, text);
        QFETCH(const int, encoding);
        QFETCH(const bool, crlf);
        QFETCH(const int, newlines);
        const TextStyle style{static_cast<TextEncoding>(encoding), crlf, static_cast<std::size_t>(newlines)};
        const std::string bytes = encode_text(text.toStdString(), style);
        const StyledText read = decode_text(bytes);
        QCOMPARE(QByteArray::fromStdString(read.text), text);
        QVERIFY(read.style == style);
        QCOMPARE(QByteArray::fromStdString(encode_text(read.text, read.style)), QByteArray::fromStdString(bytes));
    }

    void spellings_are_what_other_programs_write() {
        QCOMPARE(QByteArray::fromStdString(encode_text("\xC3\xA9", {TextEncoding::utf16_little, false, 0})),
                 QByteArray("\xFF\xFE\xE9\x00", 4));
        QCOMPARE(QByteArray::fromStdString(encode_text("\xF0\x9F\x98\x80", {TextEncoding::utf16_big, false, 0})),
                 QByteArray("\xFE\xFF\xD8\x3D\xDE\x00", 6));
        QCOMPARE(QByteArray::fromStdString(encode_text("5 \xE2\x82\xAC", {TextEncoding::windows_1252, true, 1})),
                 QByteArray("5 \x80\r\n"));
        QCOMPARE(QByteArray::fromStdString(encode_text("a\nb", {TextEncoding::utf8_marked, true, 0})),
                 QByteArray("\xEF\xBB\xBF"
                            "a\r\nb"));
    }

    void what_windows_1252_lacks_makes_it_utf8() {
        QCOMPARE(QByteArray::fromStdString(encode_text(kWide, {TextEncoding::windows_1252, false, 0})),
                 QByteArray(kWide));
    }

    void mixed_line_ends_follow_the_majority() {
        QVERIFY(decode_text("a\r\nb\r\nc\nd\r\n").style.crlf);
        QVERIFY(!decode_text("a\nb\r\nc\n").style.crlf);
        QCOMPARE(QByteArray::fromStdString(decode_text("a\nb\r\nc\n").text), QByteArray("a\nb\nc"));
        QCOMPARE(decode_text("").style.final_newlines, std::size_t{0});
        QCOMPARE(decode_text("\r\n\r\n").style.final_newlines, std::size_t{2});
    }
};

VITRINE_TEST(TestTextStyle)
#include "test_text_style.moc"
