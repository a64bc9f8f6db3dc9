#include "ui/text/markdown.h"

#include <QHash>

#include <algorithm>
#include <array>
#include <vector>

// Emphasis follows the delimiter stack of the CommonMark specification (appendix "A parsing strategy"), whose lower
// bounds for the search keep it linear.
namespace vitrine {
namespace {

constexpr qsizetype kMaxLinkText = 1000;
constexpr qsizetype kMaxLinkTarget = 2000;

// A piece of text or a run of *, _ or ~ that may become emphasis.
struct Node {
    MarkdownSpan span;
    QChar mark;  // null: text
    int length = 0;
    int left = 0;  // marks that have not become emphasis
    bool opens = false;
    bool closes = false;
    int bold = 0;  // styles that begin (+) or end (-) here
    int italic = 0;
    int struck = 0;
};

bool isPunctuation(QChar c) {
    return c.isPunct() || c.isSymbol();
}

bool isSafeLink(QStringView target) {
    for (const QStringView scheme : {QStringView(u"http://"), QStringView(u"https://"), QStringView(u"mailto:")}) {
        if (target.startsWith(scheme, Qt::CaseInsensitive) && target.size() > scheme.size())
            return std::none_of(target.begin(), target.end(), [](QChar c) { return c.isSpace() || !c.isPrint(); });
    }
    return false;
}

class SpanReader {
public:
    SpanReader(QStringView text, bool links) : m_text(text), m_links(links) { indexCodeRuns(); }

    QList<MarkdownSpan> read() {
        while (m_at < m_text.size()) step();
        flush();
        matchEmphasis();
        return join();
    }

private:
    void indexCodeRuns() {
        for (qsizetype i = m_text.size(); i > 0;) {  // backwards: the nearest run of each length comes last
            if (m_text[i - 1] != u'`') {
                --i;
                continue;
            }
            const qsizetype end = i;
            while (i > 0 && m_text[i - 1] == u'`') --i;
            m_codeRuns[end - i].push_back(i);
        }
    }

    void step() {
        const QChar c = m_text[m_at];
        switch (c.unicode()) {
            case u'\\':
                if (m_at + 1 < m_text.size() && m_text[m_at + 1].unicode() < 128 && isPunctuation(m_text[m_at + 1])) {
                    m_plain += m_text[m_at + 1];
                    m_at += 2;
                    return;
                }
                break;
            case u'`': return readCode();
            case u'*':
            case u'_':
            case u'~': return readDelimiter();
            case u'!':
                if (m_links && m_at + 1 < m_text.size() && m_text[m_at + 1] == u'[' && readLink(m_at + 1)) return;
                break;
            case u'[':
                if (m_links && readLink(m_at)) return;
                break;
            case u'<':
                if (m_links && readAngleLink()) return;
                break;
            case u'h':
            case u'H':
                if (m_links && readBareLink()) return;
                break;
            default: break;
        }
        m_plain += c;
        ++m_at;
    }

    void flush() {
        if (m_plain.isEmpty()) return;
        Node node;
        node.span.text = std::exchange(m_plain, {});
        m_nodes.push_back(std::move(node));
    }

    void readCode() {
        qsizetype run = 0;
        while (m_at + run < m_text.size() && m_text[m_at + run] == u'`') ++run;
        const qsizetype begin = m_at + run;
        std::vector<qsizetype>& ends = m_codeRuns[run];
        while (!ends.empty() && ends.back() < begin) ends.pop_back();
        if (ends.empty()) {
            m_plain += m_text.mid(m_at, run);
            m_at = begin;
            return;
        }
        flush();
        QStringView code = m_text.mid(begin, ends.back() - begin);
        if (code.size() > 2 && code.startsWith(u' ') && code.endsWith(u' ') && !code.trimmed().isEmpty())
            code = code.mid(1, code.size() - 2);
        Node node;
        node.span = {.text = code.toString().replace(u'\n', u' '), .code = true};
        m_nodes.push_back(std::move(node));
        m_at = ends.back() + run;
    }

    void readDelimiter() {
        const QChar mark = m_text[m_at];
        qsizetype run = 0;
        while (m_at + run < m_text.size() && m_text[m_at + run] == mark) ++run;
        if (mark == u'~' && run != 2) {
            m_plain += m_text.mid(m_at, run);
            m_at += run;
            return;
        }
        const QChar before = m_at > 0 ? m_text[m_at - 1] : QChar(u' ');
        const QChar after = m_at + run < m_text.size() ? m_text[m_at + run] : QChar(u' ');
        const bool leftFlanking =
            !after.isSpace() && (!isPunctuation(after) || before.isSpace() || isPunctuation(before));
        const bool rightFlanking =
            !before.isSpace() && (!isPunctuation(before) || after.isSpace() || isPunctuation(after));
        flush();
        Node node;
        node.mark = mark;
        node.length = node.left = static_cast<int>(run);
        node.opens = leftFlanking && (mark != u'_' || !rightFlanking || isPunctuation(before));
        node.closes = rightFlanking && (mark != u'_' || !leftFlanking || isPunctuation(after));
        m_nodes.push_back(std::move(node));
        m_at += run;
    }

    void addLink(const QList<MarkdownSpan>& spans, const QString& target, qsizetype end) {
        flush();
        for (MarkdownSpan span : spans) {
            span.link = target;
            Node node;
            node.span = std::move(span);
            m_nodes.push_back(std::move(node));
        }
        m_at = end;
    }

    // "[text](target "title")" with the bracket at `bracket`; of a picture, "![alt](target)", the link is all there is.
    bool readLink(qsizetype bracket) {
        const qsizetype textLimit = std::min(m_text.size(), bracket + kMaxLinkText);
        qsizetype i = bracket + 1;
        for (int depth = 1; i < textLimit; ++i) {
            if (m_text[i] == u'\\')
                ++i;
            else if (m_text[i] == u'[')
                ++depth;
            else if (m_text[i] == u']' && --depth == 0)
                break;
        }
        if (i + 1 >= textLimit || m_text[i + 1] != u'(') return false;
        const QStringView label = m_text.mid(bracket + 1, i - bracket - 1);
        const qsizetype begin = i + 2;
        const qsizetype limit = std::min(m_text.size(), begin + kMaxLinkTarget);
        qsizetype end = begin;
        for (int depth = 1; end < limit; ++end) {
            if (m_text[end] == u'(')
                ++depth;
            else if (m_text[end] == u')' && --depth == 0)
                break;
        }
        if (end >= limit) return false;
        QStringView target = m_text.mid(begin, end - begin).trimmed();
        const auto space = std::find_if(target.begin(), target.end(), [](QChar c) { return c.isSpace(); });
        target = target.left(space - target.begin());  // what follows is a title
        if (target.startsWith(u'<') && target.endsWith(u'>')) target = target.mid(1, target.size() - 2);
        if (!isSafeLink(target)) return false;
        QList<MarkdownSpan> spans = SpanReader(label, false).read();
        if (spans.isEmpty()) spans = {{.text = target.toString()}};
        addLink(spans, target.toString(), end + 1);
        return true;
    }

    bool readAngleLink() {
        const QStringView rest = m_text.mid(m_at + 1, kMaxLinkTarget);
        const qsizetype end = rest.indexOf(u'>');
        if (end < 0 || !isSafeLink(rest.left(end))) return false;
        addLink({{.text = rest.left(end).toString()}}, rest.left(end).toString(), m_at + end + 2);
        return true;
    }

    bool readBareLink() {
        if (m_at > 0 && m_text[m_at - 1].isLetterOrNumber()) return false;
        QStringView target = m_text.mid(m_at, kMaxLinkTarget);
        if (!target.startsWith(u"http://", Qt::CaseInsensitive) && !target.startsWith(u"https://", Qt::CaseInsensitive))
            return false;
        const auto end = std::find_if(target.begin(), target.end(), [](QChar c) {
            return c.isSpace() || QStringView(u"<>\"`|").contains(c) || !c.isPrint();
        });
        target = target.left(end - target.begin());
        while (!target.isEmpty() && QStringView(u".,;:!?'*_~]").contains(target.back())) target.chop(1);
        if (target.endsWith(u')') && !target.contains(u'(')) target.chop(1);
        if (!isSafeLink(target)) return false;
        addLink({{.text = target.toString()}}, target.toString(), m_at + target.size());
        return true;
    }

    void matchEmphasis() {
        std::vector<std::size_t> openers;
        std::array<std::size_t, 18> bottoms{};  // below these no opener fits: 3 marks x may open x length % 3
        for (std::size_t at = 0; at < m_nodes.size(); ++at) {
            Node& closer = m_nodes[at];
            if (closer.mark.isNull()) continue;
            const int mark = closer.mark == u'*' ? 0 : closer.mark == u'_' ? 1 : 2;
            std::size_t& bottom =
                bottoms[static_cast<std::size_t>(mark * 6 + (closer.opens ? 3 : 0) + closer.length % 3)];
            while (closer.closes && closer.left > 0) {
                std::size_t top = openers.size();
                while (top > bottom && !fits(m_nodes[openers[top - 1]], closer)) --top;
                if (top <= bottom) {
                    bottom = openers.size();
                    break;
                }
                Node& opener = m_nodes[openers[top - 1]];
                const int used = closer.mark == u'~' || (opener.left >= 2 && closer.left >= 2) ? 2 : 1;
                int Node::*style = closer.mark == u'~' ? &Node::struck : used == 2 ? &Node::bold : &Node::italic;
                opener.*style += 1;
                closer.*style -= 1;
                opener.left -= used;
                closer.left -= used;
                openers.resize(opener.left > 0 ? top : top - 1);
                for (std::size_t& other : bottoms) other = std::min(other, openers.size());
            }
            if (closer.opens && closer.left > 0) openers.push_back(at);
        }
    }

    static bool fits(const Node& opener, const Node& closer) {
        if (opener.mark != closer.mark) return false;
        const bool either = opener.closes || closer.opens;
        return !either || (opener.length + closer.length) % 3 != 0 ||
               (opener.length % 3 == 0 && closer.length % 3 == 0);
    }

    QList<MarkdownSpan> join() {
        QList<MarkdownSpan> spans;
        int bold = 0;
        int italic = 0;
        int struck = 0;
        for (Node& node : m_nodes) {
            // Marks that are left of a closer stand inside of what it ends, those of an opener outside of what it
            // begins.
            const auto change = [&] {
                bold += node.bold;
                italic += node.italic;
                struck += node.struck;
            };
            if (!node.mark.isNull()) {
                node.span.text = QString(node.left, node.mark);
                change();
            }
            if (node.span.text.isEmpty()) continue;
            node.span.bold = node.span.bold || bold > 0;
            node.span.italic = node.span.italic || italic > 0;
            node.span.struck = node.span.struck || struck > 0;
            if (!spans.isEmpty()) {
                MarkdownSpan same = spans.last();
                same.text = node.span.text;
                if (same == node.span) {
                    spans.last().text += node.span.text;
                    continue;
                }
            }
            spans += std::move(node.span);
        }
        return spans;
    }

    QStringView m_text;
    bool m_links;  // links do not nest
    qsizetype m_at = 0;
    QString m_plain;
    std::vector<Node> m_nodes;
    QHash<qsizetype, std::vector<qsizetype>> m_codeRuns;  // where runs of backticks begin, by length, last one first
};

}  // namespace

QList<MarkdownSpan> readSpans(QStringView text) {
    return SpanReader(text, true).read();
}

QString plainText(const QList<MarkdownSpan>& spans) {
    QString text;
    for (const MarkdownSpan& span : spans) text += span.text;
    return text;
}

}  // namespace vitrine
