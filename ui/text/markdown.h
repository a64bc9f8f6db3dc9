#pragma once

#include <QList>
#include <QString>
#include <QStringList>
#include <QStringView>

// Markdown as language models write it, read into plain values. HTML is text like any other, nothing is ever loaded,
// and every function takes time in proportion to its input, whatever that is.
namespace vitrine {

// A run of text in one style.
struct MarkdownSpan {
    QString text;
    bool bold = false;
    bool italic = false;
    bool struck = false;
    bool code = false;
    QString link;  // http, https or mailto; empty: no link

    bool operator==(const MarkdownSpan&) const = default;
};

struct MarkdownBlock {
    enum class Kind { Paragraph, Heading, Item, Code, Table, Rule };

    Kind kind = Kind::Paragraph;
    int level = 0;   // of a Heading, 1 to 6
    int depth = 0;   // of the lists around it; an Item of the outermost list has 1
    int quotes = 0;  // "> " before it
    QString marker;  // of an Item: a bullet or its number as written, "3."
    QString text;    // source of the spans, lines joined by \n; Code: the code itself, without a last \n
    QString language;
    QList<QStringList> rows;              // of a Table, sources of spans; the first row is the head
    QList<Qt::AlignmentFlag> alignments;  // of a Table, one for each column

    bool operator==(const MarkdownBlock&) const = default;
};

// Reads a text that arrives piece by piece. A line that has ended is read once; only the last, open line is read again
// with each piece.
class MarkdownReader {
public:
    void append(QStringView piece);
    QList<MarkdownBlock> blocks() const;  // of everything so far, as if the text ended here

private:
    struct Fence {
        QChar mark;
        int length = 0;  // 0: not inside of a fence
        int indent = 0;
    };
    struct State {
        QList<MarkdownBlock> blocks;
        bool open = false;        // the last block goes on with the next line
        bool afterBlank = false;  // the line before was empty
        Fence fence;
        QList<int> items;  // indents of the list items that are open, outermost first

        void line(QStringView line);
        void fenceLine(QStringView line);
        bool startBlock(QStringView line, int indent, int quotes);
        bool startItem(QStringView line, int indent, int quotes);
        bool continueTable(QStringView line);
        void leaveItems(int indent);
        MarkdownBlock& add(MarkdownBlock::Kind kind, int quotes, bool open);
    };

    State m_state;
    QString m_lastLine;  // not ended yet
};

QList<MarkdownBlock> readMarkdown(QStringView text);

// The styles inside of a block's text.
QList<MarkdownSpan> readSpans(QStringView text);

// What is left when all marks are taken away.
QString plainText(const QList<MarkdownSpan>& spans);

}  // namespace vitrine
