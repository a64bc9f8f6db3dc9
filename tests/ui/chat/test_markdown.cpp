#include "support/test_main.h"
#include "ui/text/markdown.h"
#include "ui/text/markdown_view.h"

#include <QAbstractButton>
#include <QClipboard>
#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QGuiApplication>
#include <QTextBlock>

using namespace vitrine;
using Kind = MarkdownBlock::Kind;

class TestMarkdown : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void readsBlocks();
    void readsLists();
    void readsTables();
    void readsStyles_data();
    void readsStyles();
    void followsOnlyPlainLinks_data();
    void followsOnlyPlainLinks();
    void leavesHtmlAlone();
    void givesTheSameWhateverThePieces();
    void survivesHostileInput_data();
    void survivesHostileInput();
    void keepsFinishedBlocks();
    void growsAListing();
    void showsWhatItRead();
    void showsPlainTextAsItIs();
    void isAsTallAsItsText();
    void loadsNothing();
};

namespace {

QList<Kind> kinds(const QList<MarkdownBlock>& blocks) {
    QList<Kind> kinds;
    for (const MarkdownBlock& block : blocks) kinds += block.kind;
    return kinds;
}

// "plain", "*italic*", "**bold**", "~struck~", "`code`", "<link>" of each span, joined by bars.
QString sketch(const QList<MarkdownSpan>& spans) {
    QStringList parts;
    for (const MarkdownSpan& span : spans) {
        QString part = span.text;
        if (span.code) part = u'`' + part + u'`';
        if (span.italic) part = u'*' + part + u'*';
        if (span.bold) part = QStringLiteral("**%1**").arg(part);
        if (span.struck) part = u'~' + part + u'~';
        if (!span.link.isEmpty()) part += u'<' + span.link + u'>';
        parts += part;
    }
    return parts.join(u'|');
}

const QString kEverything = QStringLiteral(
    "# A picture\n\nIt shows *two* dogs and\none **cat**.\n\n- a dog\n  - brown\n- another\n\n3. third\n4. fourth\n\n"
    "> quoted\n> text\n\n```cpp\nint a = 1;\n\nreturn a;\n```\n\n| animal | count |\n|:--|--:|\n| dog | 2 |\n| cat | "
    "`1` |\n\n"
    "---\n\nLast [link](https://example.org/a_b).\n");

}  // namespace

void TestMarkdown::readsBlocks() {
    const auto blocks = readMarkdown(kEverything);
    QCOMPARE(kinds(blocks),
             (QList<Kind>{Kind::Heading, Kind::Paragraph, Kind::Item, Kind::Item, Kind::Item, Kind::Item, Kind::Item,
                          Kind::Paragraph, Kind::Code, Kind::Table, Kind::Rule, Kind::Paragraph}));
    QCOMPARE(blocks[0].level, 1);
    QCOMPARE(blocks[0].text, QStringLiteral("A picture"));
    QCOMPARE(blocks[1].text, QStringLiteral("It shows *two* dogs and\none **cat**."));
    QCOMPARE(blocks[7].quotes, 1);
    QCOMPARE(blocks[7].text, QStringLiteral("quoted\ntext"));
    QCOMPARE(blocks[8].language, QStringLiteral("cpp"));
    QCOMPARE(blocks[8].text, QStringLiteral("int a = 1;\n\nreturn a;"));
    QCOMPARE(readMarkdown(u"Title\n=====\nText")[0].kind, Kind::Heading);
    QCOMPARE(readMarkdown(u"#no heading")[0].kind, Kind::Paragraph);
    QCOMPARE(readMarkdown(u"```\nnever closed\n# not a heading"),
             readMarkdown(u"```\nnever closed\n# not a heading\n```"));
    QCOMPARE(readMarkdown(u"").size(), 0);
}

void TestMarkdown::readsLists() {
    const auto blocks = readMarkdown(u"1. one\n   more of it\n   - inner\n\n   a paragraph inside\n2) two\n\nafter");
    QCOMPARE(blocks.size(), 5);
    QCOMPARE(blocks[0].marker, QStringLiteral("1."));
    QCOMPARE(blocks[0].text, QStringLiteral("one\nmore of it"));
    QCOMPARE(blocks[1].depth, 2);
    QCOMPARE(blocks[2].kind, Kind::Paragraph);
    QCOMPARE(blocks[2].depth, 1);
    QCOMPARE(blocks[3].marker, QStringLiteral("2)"));
    QCOMPARE(blocks[3].depth, 1);
    QCOMPARE(blocks[4].depth, 0);
}

void TestMarkdown::readsTables() {
    const auto blocks = readMarkdown(u"Text\n\na | b \\| c\n:-: | ---\n1 | 2 | 3\n4\n\n| no | table |");
    QCOMPARE(kinds(blocks), (QList<Kind>{Kind::Paragraph, Kind::Table, Kind::Paragraph, Kind::Paragraph}));
    QCOMPARE(blocks[1].rows, (QList<QStringList>{{QStringLiteral("a"), QStringLiteral("b | c")},
                                                 {QStringLiteral("1"), QStringLiteral("2")}}));
    QCOMPARE(blocks[1].alignments, (QList<Qt::AlignmentFlag>{Qt::AlignHCenter, Qt::AlignLeft}));
}

void TestMarkdown::readsStyles_data() {
    QTest::addColumn<QString>("source");
    QTest::addColumn<QString>("expected");
    const auto row = [](const char* source, const char* expected) {
        QTest::newRow(source) << QString::fromUtf8(source) << QString::fromUtf8(expected);
    };
    row("plain", "plain");
    row("*a* and **b**", "*a*| and |**b**");
    row("***both***", "***both***");
    row("**bold *and italic***", "**bold **|***and italic***");
    row("snake_case_name stays", "snake_case_name stays");
    row("_a_ __b__", "*a*| |**b**");
    row("2 * 3 * 4", "2 * 3 * 4");
    row("**not closed", "**not closed");
    row("~~gone~~ ~not~", "~gone~| ~not~");
    row("`a * b` *c*", "`a * b`| |*c*");
    row("`` `tick` ``", "``tick``");
    row("`open", "`open");
    row("\\*no\\* \\q", "*no* \\q");
    row("**猫**と犬", "**猫**|と犬");
}

void TestMarkdown::readsStyles() {
    QFETCH(QString, source);
    QFETCH(QString, expected);
    QCOMPARE(sketch(readSpans(source)), expected);
}

void TestMarkdown::followsOnlyPlainLinks_data() {
    QTest::addColumn<QString>("source");
    QTest::addColumn<QString>("expected");
    const auto row = [](const char* source, const char* expected) {
        QTest::newRow(source) << QString::fromUtf8(source) << QString::fromUtf8(expected);
    };
    row("[a *b*](https://x.org/y(z) \"t\")", "a <https://x.org/y(z)>|*b*<https://x.org/y(z)>");
    row("see https://x.org/a_b_c.", "see |https://x.org/a_b_c<https://x.org/a_b_c>|.");
    row("<http://x.org>", "http://x.org<http://x.org>");
    row("![alt](https://x.org/p.png)", "alt<https://x.org/p.png>");
    row("[x](javascript:alert(1))", "[x](javascript:alert(1))");
    row("[x](file:///etc/passwd)", "[x](file:///etc/passwd)");
    row("![x](data:image/png;base64,AAAA)", "![x](data:image/png;base64,AAAA)");
    row("[x]()", "[x]()");
    row("[only](", "[only](");
}

void TestMarkdown::followsOnlyPlainLinks() {
    readsStyles();
}

void TestMarkdown::leavesHtmlAlone() {
    const QString html = QStringLiteral("<b>x</b> <img src=\"http://x.org/p.png\"> <script>alert(1)</script> &lt;");
    QCOMPARE(plainText(readSpans(html)), html);
    MarkdownView view;
    view.setMarkdown(readMarkdown(html));
    QCOMPARE(view.toPlainText(), html);
}

void TestMarkdown::givesTheSameWhateverThePieces() {
    const auto whole = readMarkdown(kEverything);
    for (const int step : {1, 2, 7, 31}) {
        MarkdownReader reader;
        MarkdownView view;
        for (qsizetype i = 0; i < kEverything.size(); i += step) {
            reader.append(QStringView(kEverything).mid(i, step));
            view.setMarkdown(reader.blocks());
        }
        QCOMPARE(reader.blocks(), whole);
        MarkdownView once;
        once.setMarkdown(whole);
        QCOMPARE(view.toPlainText(), once.toPlainText());
        QCOMPARE(view.document()->blockCount(), once.document()->blockCount());
    }
    QCOMPARE(readMarkdown(QString(kEverything).replace(u'\n', QStringLiteral("\r\n"))), whole);
}

void TestMarkdown::survivesHostileInput_data() {
    QTest::addColumn<QString>("text");
    const auto many = [](const char* piece, int count) { return QString::fromUtf8(piece).repeated(count); };
    QTest::newRow("stars") << many("*", 100'000);
    QTest::newRow("stars and letters") << many("*a", 50'000);
    QTest::newRow("mixed emphasis") << many("**a _b* c__ ", 10'000);
    QTest::newRow("brackets") << many("[", 50'000);
    QTest::newRow("links without end") << many("[a](", 20'000);
    QTest::newRow("backticks of all lengths") << [] {
        QString text;
        for (int i = 1; i < 400; ++i) text += QString(i, u'`') + u' ';
        return text;
    }();
    QTest::newRow("quotes") << many(">", 50'000);
    QTest::newRow("nested lists") << [] {
        QString text;
        for (int i = 0; i < 1'000; ++i) text += QString(2 * i, u' ') + QStringLiteral("- x\n");
        return text;
    }();
    QTest::newRow("unclosed fence") << QStringLiteral("```\n") + many("line of code\n", 20'000);
    QTest::newRow("bars") << many("|", 20'000) + u'\n' + many("|-", 10'000);
    QTest::newRow("one long word") << many("x", 300'000);
    QTest::newRow("many lines") << many("a line\n", 40'000);
    QTest::newRow("zeros and controls") << many("\x01\x02\x7f", 10'000) + QChar(0) + QChar(0xd800);
}

void TestMarkdown::survivesHostileInput() {
    QFETCH(QString, text);
    QElapsedTimer clock;
    clock.start();
    const auto blocks = readMarkdown(text);
    for (const MarkdownBlock& block : blocks) readSpans(block.text);
    QVERIFY2(clock.elapsed() < 3'000, qPrintable(QString::number(clock.elapsed())));
    for (const MarkdownBlock& block : blocks) QVERIFY(block.depth <= 8 && block.quotes <= 8);
}

void TestMarkdown::keepsFinishedBlocks() {
    MarkdownReader reader;
    MarkdownView view;
    view.resize(400, 300);
    QString text;
    for (int i = 0; i < 200; ++i) text += QStringLiteral("Paragraph %1 with *some* words.\n\n").arg(i);
    reader.append(text);
    view.setMarkdown(reader.blocks());
    QTextCursor cursor = view.textCursor();
    cursor.setPosition(3);
    cursor.setPosition(12, QTextCursor::KeepAnchor);
    view.setTextCursor(cursor);
    for (int i = 0; i < 50; ++i) {
        reader.append(u"and more ");
        view.setMarkdown(reader.blocks());
        QVERIFY(view.rewrittenBlocks() <= 1);
    }
    QCOMPARE(view.textCursor().selectedText(), QStringLiteral("agraph 0 "));
    QVERIFY(view.toPlainText().endsWith(QStringLiteral("and more and more")));
}

void TestMarkdown::growsAListing() {
    MarkdownReader reader;
    MarkdownView view;
    reader.append(u"Look:\n\n```py\nprint(1)\n");
    view.setMarkdown(reader.blocks());
    const int before = view.document()->revision();
    QTextBlock code = view.document()->lastBlock();
    reader.append(u"print(2)\n``");
    view.setMarkdown(reader.blocks());
    QVERIFY(view.document()->revision() > before);
    QCOMPARE(view.document()->lastBlock(), code);  // the same paragraph, longer
    reader.append(u"`\nAfter");
    view.setMarkdown(reader.blocks());
    QCOMPARE(view.toPlainText(), QStringLiteral("Look:\nprint(1)\nprint(2)\nAfter"));
    const auto buttons = view.findChildren<QAbstractButton*>();
    QCOMPARE(buttons.size(), 1);
    QVERIFY(!buttons[0]->accessibleName().isEmpty());
    buttons[0]->click();
    QCOMPARE(QGuiApplication::clipboard()->text(), QStringLiteral("print(1)\nprint(2)"));
}

void TestMarkdown::showsWhatItRead() {
    MarkdownView view;
    view.resize(500, 400);
    view.setMarkdown(readMarkdown(kEverything));
    const QString text = view.toPlainText();
    for (const QString& part :
         {QStringLiteral("A picture\n"), QStringLiteral("two dogs"), QStringLiteral("•\tbrown"),
          QStringLiteral("4.\tfourth"), QStringLiteral("return a;"), QStringLiteral("Last link.")})
        QVERIFY2(text.contains(part), qPrintable(part));
    QVERIFY(!text.contains(u'#') && !text.contains(u'`'));
    QVERIFY(view.heightForWidth(60) > view.heightForWidth(800));
    QSignalSpy clicks(&view, &MarkdownView::linkClicked);
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view));
    view.setFocus();
    QTest::keyClick(&view, Qt::Key_Tab);  // to the only link
    QTest::keyClick(&view, Qt::Key_Return);
    QCOMPARE(clicks.size(), 1);
    QCOMPARE(clicks[0][0].toString(), QStringLiteral("https://example.org/a_b"));
}

void TestMarkdown::showsPlainTextAsItIs() {
    MarkdownView view;
    const QString text = QStringLiteral("# no *heading* <b>&amp;</b>\n<|im_end|>");
    view.setPlain(text);
    QCOMPARE(view.toPlainText(), text);
    view.setMarkdown(readMarkdown(u"*now*"));
    QCOMPARE(view.toPlainText(), QStringLiteral("now"));
}

void TestMarkdown::isAsTallAsItsText() {
    MarkdownView view;
    view.resize(400, 100);
    const int line = view.fontMetrics().lineSpacing();
    view.setPlain(QStringLiteral("a line\n").repeated(2'999));
    QVERIFY(view.heightForWidth(400) > 2'900 * line);
    view.setMarkdown(readMarkdown(QStringLiteral("a line\n\n").repeated(1'000)));
    QVERIFY(view.heightForWidth(400) > 1'000 * line);
    QVERIFY(view.heightForWidth(400) < 2'500 * line);
}

void TestMarkdown::loadsNothing() {
    MarkdownView view;
    view.setMarkdown(readMarkdown(u"![a](https://x.org/a.png) ![b](file:///etc/passwd)"));
    // The document would read a local file by itself when the widget gave it nothing.
    QFile file(QDir::temp().filePath(QStringLiteral("vitrine-test-resource.txt")));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("secret");
    file.close();
    const QVariant loaded =
        view.document()->resource(QTextDocument::ImageResource, QUrl::fromLocalFile(file.fileName()));
    QVERIFY(!loaded.toByteArray().contains("secret"));
    QVERIFY(file.remove());
    for (QTextBlock block = view.document()->begin(); block.isValid(); block = block.next()) {
        for (auto piece = block.begin(); !piece.atEnd(); ++piece)
            QVERIFY(!piece.fragment().charFormat().isImageFormat());
    }
}

VITRINE_TEST(TestMarkdown)
#include "test_markdown.moc"
