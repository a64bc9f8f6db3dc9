#include "ui/text/markdown.h"

#include <algorithm>

namespace vitrine {
namespace {

using Kind = MarkdownBlock::Kind;

constexpr int kMaxNesting = 8;  // of quotes and lists: deeper ones are shown at this depth

int runLength(QStringView text, QChar mark) {
    const auto end = std::find_if(text.begin(), text.end(), [mark](QChar c) { return c != mark; });
    return static_cast<int>(end - text.begin());
}

int indentOf(QStringView line) {
    int indent = 0;
    for (const QChar c : line) {
        if (c == u' ')
            ++indent;
        else if (c == u'\t')
            indent += 4 - indent % 4;
        else
            break;
    }
    return indent;
}

// Takes "> > " off the front and counts it.
int takeQuotes(QStringView& line, int limit) {
    int quotes = 0;
    while (quotes < limit) {
        const QStringView rest = line.trimmed();
        if (!rest.startsWith(u'>') || indentOf(line) > 3) break;
        const qsizetype at = line.indexOf(u'>') + 1;
        line = line.mid(at);
        if (line.startsWith(u' ')) line = line.mid(1);
        ++quotes;
    }
    return quotes;
}

bool isRule(QStringView line) {
    if (line.isEmpty() || !(line[0] == u'-' || line[0] == u'*' || line[0] == u'_')) return false;
    int marks = 0;
    for (const QChar c : line) {
        if (c == line[0])
            ++marks;
        else if (!c.isSpace())
            return false;
    }
    return marks >= 3;
}

// Cells of "| a | b |"; "\|" is no border.
QStringList cellsOf(QStringView line) {
    line = line.trimmed();
    if (line.startsWith(u'|')) line = line.mid(1);
    QStringList cells;
    QString cell;
    bool code = false;
    for (qsizetype i = 0; i < line.size(); ++i) {
        if (line[i] == u'\\' && i + 1 < line.size() && line[i + 1] == u'|') {
            cell += line[++i];
        } else if (line[i] == u'|' && !code) {
            cells += cell.trimmed();
            cell.clear();
        } else {
            if (line[i] == u'`') code = !code && line.mid(i + 1).contains(u'`');
            cell += line[i];
        }
    }
    if (!cell.trimmed().isEmpty() || !line.endsWith(u'|')) cells += cell.trimmed();
    return cells;
}

// Alignments when the line is the "|---|:-:|" below a table's head, else nothing.
QList<Qt::AlignmentFlag> alignmentsOf(QStringView line) {
    if (!line.contains(u'-') || !line.contains(u'|')) return {};
    if (std::any_of(line.begin(), line.end(), [](QChar c) { return !QStringView(u"|:- \t").contains(c); })) return {};
    QList<Qt::AlignmentFlag> alignments;
    for (const QString& cell : cellsOf(line)) {
        if (!cell.contains(u'-')) return {};
        const bool left = cell.startsWith(u':');
        const bool right = cell.endsWith(u':');
        alignments += left && right ? Qt::AlignHCenter : right ? Qt::AlignRight : Qt::AlignLeft;
    }
    return alignments;
}

}  // namespace

void MarkdownReader::append(QStringView piece) {
    m_lastLine += piece;
    qsizetype begin = 0;
    for (qsizetype end; (end = m_lastLine.indexOf(u'\n', begin)) >= 0; begin = end + 1) {
        QStringView line = QStringView(m_lastLine).mid(begin, end - begin);
        if (line.endsWith(u'\r')) line.chop(1);
        m_state.line(line);
    }
    m_lastLine.remove(0, begin);
}

QList<MarkdownBlock> MarkdownReader::blocks() const {
    State state = m_state;
    if (!m_lastLine.isEmpty()) state.line(m_lastLine);
    for (MarkdownBlock& block : state.blocks) {
        if (block.kind == Kind::Code && block.text.endsWith(u'\n')) block.text.chop(1);
    }
    return state.blocks;
}

QList<MarkdownBlock> readMarkdown(QStringView text) {
    MarkdownReader reader;
    reader.append(text);
    return reader.blocks();
}

MarkdownBlock& MarkdownReader::State::add(Kind kind, int quotes, bool goesOn) {
    blocks.emplaceBack();
    open = goesOn;
    MarkdownBlock& block = blocks.last();
    block.kind = kind;
    block.quotes = quotes;
    block.depth = static_cast<int>(std::min<qsizetype>(items.size(), kMaxNesting));
    return block;
}

// Two columns are enough to be inside of an item: people and models indent by two, three or four.
void MarkdownReader::State::leaveItems(int indent) {
    while (!items.isEmpty() && indent < items.last() + 2) items.removeLast();
}

void MarkdownReader::State::line(QStringView line) {
    if (fence.length > 0) return fenceLine(line);
    const int quotes = takeQuotes(line, kMaxNesting);
    const QStringView content = line.trimmed();
    if (content.isEmpty()) {
        open = false;
        afterBlank = true;
        return;
    }
    if (open && blocks.last().quotes != quotes && quotes > 0) open = false;
    const int indent = indentOf(line);
    const bool wasBlank = std::exchange(afterBlank, false);
    if (open && blocks.last().kind == Kind::Table && continueTable(content)) return;
    if (startBlock(content, indent, quotes)) return;
    if (open && blocks.last().kind != Kind::Table) {  // the paragraph or item goes on
        blocks.last().text += u'\n';
        blocks.last().text += content;
        return;
    }
    if (wasBlank || !open) leaveItems(indent);
    add(Kind::Paragraph, quotes, true).text = content.toString();
}

void MarkdownReader::State::fenceLine(QStringView line) {
    MarkdownBlock& block = blocks.last();
    takeQuotes(line, block.quotes);
    const QStringView content = line.trimmed();
    const int run = runLength(content, fence.mark);
    if (run >= fence.length && run == content.size()) {
        fence = {};
        return;
    }
    qsizetype skip = 0;
    while (skip < fence.indent && skip < line.size() && line[skip] == u' ') ++skip;
    block.text += line.mid(skip);
    block.text += u'\n';
}

// A line that is something else than the going on of a paragraph.
bool MarkdownReader::State::startBlock(QStringView line, int indent, int quotes) {
    for (const QChar mark : {QChar(u'`'), QChar(u'~')}) {
        const int run = runLength(line, mark);
        const QStringView info = line.mid(run).trimmed();
        if (run < 3 || (mark == u'`' && info.contains(u'`'))) continue;
        leaveItems(indent);
        const auto space = std::find_if(info.begin(), info.end(), [](QChar c) { return c.isSpace(); });
        add(Kind::Code, quotes, false).language = info.left(std::min<qsizetype>(space - info.begin(), 40)).toString();
        fence = {mark, run, indent};
        return true;
    }
    const int hashes = runLength(line, u'#');
    if (hashes >= 1 && hashes <= 6 && (line.size() == hashes || line[hashes].isSpace())) {
        leaveItems(indent);
        QStringView title = line.mid(hashes).trimmed();
        QStringView bare = title;
        while (bare.endsWith(u'#')) bare.chop(1);
        if (bare.isEmpty() || bare.back().isSpace()) title = bare.trimmed();  // "# Title #"
        MarkdownBlock& block = add(Kind::Heading, quotes, false);
        block.level = hashes;
        block.text = title.toString();
        return true;
    }
    const bool afterText = open && blocks.last().kind == Kind::Paragraph;
    if (afterText && line.size() >= 3 && (line[0] == u'=' || line[0] == u'-') &&
        runLength(line, line[0]) == line.size()) {
        blocks.last().kind = Kind::Heading;
        blocks.last().level = line[0] == u'=' ? 1 : 2;
        open = false;
        return true;
    }
    if (isRule(line)) {
        leaveItems(indent);
        add(Kind::Rule, quotes, false);
        return true;
    }
    const bool belowText = afterText || (open && blocks.last().kind == Kind::Item);
    if (const auto alignments = belowText ? alignmentsOf(line) : QList<Qt::AlignmentFlag>(); !alignments.isEmpty()) {
        MarkdownBlock& block = blocks.last();
        const qsizetype lastBreak = block.text.lastIndexOf(u'\n');
        const QString head = block.text.mid(lastBreak + 1);
        if (head.contains(u'|') && cellsOf(head).size() == alignments.size()) {
            const int depth = block.depth;
            if (lastBreak < 0 && block.kind == Kind::Paragraph)
                blocks.removeLast();
            else
                block.text.truncate(std::max<qsizetype>(lastBreak, 0));
            MarkdownBlock& table = add(Kind::Table, quotes, true);
            table.depth = depth;
            table.rows = {cellsOf(head)};
            table.alignments = alignments;
            return true;
        }
    }
    return startItem(line, indent, quotes);
}

bool MarkdownReader::State::startItem(QStringView line, int indent, int quotes) {
    QString marker;
    qsizetype width = 0;
    if (line[0] == u'-' || line[0] == u'*' || line[0] == u'+') {
        marker = QStringLiteral("•");
        width = 1;
    } else {
        qsizetype digits = 0;
        while (digits < line.size() && digits < 9 && line[digits] >= u'0' && line[digits] <= u'9') ++digits;
        if (digits == 0 || digits == line.size() || (line[digits] != u'.' && line[digits] != u')')) return false;
        width = digits + 1;
        marker = line.left(width).toString();
    }
    if (line.size() > width && !line[width].isSpace()) return false;
    const QStringView content = line.mid(width).trimmed();
    if (content.isEmpty() && open) return false;  // a lone "-" below a paragraph
    leaveItems(indent);
    items += indent;
    MarkdownBlock& item = add(Kind::Item, quotes, true);
    item.marker = marker;
    item.text = content.toString();
    return true;
}

bool MarkdownReader::State::continueTable(QStringView line) {
    if (!line.contains(u'|')) return false;
    MarkdownBlock& table = blocks.last();
    QStringList cells = cellsOf(line);
    cells.resize(table.alignments.size());
    table.rows += cells;
    return true;
}

}  // namespace vitrine
