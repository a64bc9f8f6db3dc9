#include "ui/text/markdown_view.h"

#include "ui/icons.h"
#include "ui/theme.h"

#include <QAbstractTextDocumentLayout>
#include <QClipboard>
#include <QFontDatabase>
#include <QGuiApplication>
#include <QKeyEvent>
#include <QMimeData>
#include <QPainter>
#include <QScrollBar>
#include <QTextBlock>
#include <QTextDocumentFragment>
#include <QTextTable>
#include <QToolButton>
#include <QWheelEvent>

#include <cmath>

namespace vitrine {
namespace {

using Kind = MarkdownBlock::Kind;

// What a paragraph of the document is drawn as, beside its text.
constexpr int kRoleProperty = QTextFormat::UserProperty + 1;
constexpr int kQuotesProperty = QTextFormat::UserProperty + 2;
constexpr int kLanguageProperty = QTextFormat::UserProperty + 3;
enum DrawnAs { DrawnPlain, DrawnCode, DrawnRule };

constexpr QChar kLineSeparator = QChar::LineSeparator;

// A transparent background, set by a style sheet, makes the widget's own palette say nothing about light and dark.
const theme::Colors& lookOf(const QWidget& widget) {
    return theme::colors(widget.window()->palette());
}

void flatten(QTextCursor& cursor) {
    QTextBlockFormat flat;
    flat.setLineHeight(1, QTextBlockFormat::FixedHeight);
    cursor.setBlockFormat(flat);
}

int headingPercent(int level) {
    constexpr int percents[] = {145, 125, 112, 104, 100, 100};
    return percents[std::clamp(level, 1, 6) - 1];
}

}  // namespace

MarkdownView::MarkdownView(QWidget* parent) : QTextBrowser(parent) {
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setOpenLinks(false);
    setOpenExternalLinks(false);
    setUndoRedoEnabled(false);
    setTextInteractionFlags(Qt::TextBrowserInteraction | Qt::TextSelectableByKeyboard);
    setTabChangesFocus(true);
    setAcceptDrops(false);
    setWordWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    viewport()->setAutoFillBackground(false);
    document()->setDocumentMargin(0);
    m_dark = theme::isDark(window()->palette());
    m_font = font();
    connect(this, &QTextBrowser::anchorClicked, this,
            [this](const QUrl& url) { Q_EMIT linkClicked(url.toString(QUrl::FullyEncoded)); });
}

qreal MarkdownView::em() const {
    return fontMetrics().height();
}

void MarkdownView::setMarkdown(const QList<MarkdownBlock>& blocks) {
    if (m_plain) {
        clear();
        m_plain = false;
        m_blocks.clear();
        m_written.clear();
        m_free = true;
    }
    const auto differs = std::mismatch(m_blocks.begin(), m_blocks.end(), blocks.begin(), blocks.end());
    const auto kept = static_cast<std::size_t>(differs.first - m_blocks.begin());
    m_rewritten = static_cast<int>(static_cast<std::size_t>(blocks.size()) - kept);
    if (kept == static_cast<std::size_t>(m_blocks.size()) && m_rewritten == 0) return;

    // A long listing grows at its end; laying all of it out again with each piece would take ever longer.
    const bool grows = kept + 1 == static_cast<std::size_t>(m_blocks.size()) && m_rewritten > 0 &&
                       extendCode(*differs.first, *differs.second);
    const std::size_t from = grows ? kept + 1 : kept;
    if (from < m_written.size()) {
        m_free = m_written[from].reusesBlock;
        truncateTo(m_written[from].position);
        m_written.resize(from);
    }
    const QList<MarkdownBlock> before = std::exchange(m_blocks, blocks);
    for (auto i = static_cast<qsizetype>(from); i < blocks.size(); ++i) write(blocks[i]);
    placeCopyButtons();
    updateGeometry();
    viewport()->update();
}

void MarkdownView::setPlain(const QString& text) {
    m_blocks.clear();
    m_written.clear();
    m_plain = true;
    setPlainText(text);
    placeCopyButtons();
    updateGeometry();
}

void MarkdownView::setCaret(bool shown) {
    if (std::exchange(m_caret, shown) != shown) viewport()->update();
}

void MarkdownView::rewriteAll() {
    m_dark = theme::isDark(window()->palette());
    m_font = font();
    if (m_plain) return;
    const QList<MarkdownBlock> blocks = std::exchange(m_blocks, {});
    m_written.clear();
    clear();
    m_free = true;
    setMarkdown(blocks);
}

void MarkdownView::truncateTo(int position) {
    QTextCursor cursor(document());
    cursor.setPosition(position);
    cursor.movePosition(QTextCursor::End, QTextCursor::KeepAnchor);
    cursor.removeSelectedText();
}

// A paragraph at the end for this block: the empty one that is there, or a new one.
QTextCursor MarkdownView::beginBlock(const QTextBlockFormat& format, const QTextCharFormat& characters) {
    QTextCursor cursor(document());
    cursor.movePosition(QTextCursor::End);
    // The first paragraph, and the one after a table, get no top margin from the layout. Where one is needed, an empty
    // paragraph without height goes before.
    const bool needsMargin = cursor.position() > 0 || format.intProperty(kRoleProperty) == DrawnCode;
    if (std::exchange(m_free, false)) {
        if (!needsMargin) {
            cursor.setBlockFormat(format);
            cursor.setBlockCharFormat(characters);
            cursor.setCharFormat(characters);
            return cursor;
        }
        flatten(cursor);
    }
    cursor.insertBlock(format, characters);
    return cursor;
}

QTextBlockFormat MarkdownView::blockFormat(const MarkdownBlock& block) const {
    QTextBlockFormat format;
    const qreal step = em() * 1.4;
    const bool first = m_written.size() <= 1;
    const bool inList = block.kind == Kind::Item && block.depth > 0;
    format.setLeftMargin(block.quotes * em() + block.depth * step);
    if (inList) {
        format.setTextIndent(-step);
        format.setTabPositions({QTextOption::Tab(step, QTextOption::LeftTab)});
    }
    format.setTopMargin(first ? 0 : inList ? em() * 0.2 : block.kind == Kind::Heading ? em() * 0.9 : em() * 0.55);
    format.setLineHeight(118, QTextBlockFormat::ProportionalHeight);
    format.setProperty(kQuotesProperty, block.quotes);
    return format;
}

QTextCharFormat MarkdownView::codeCharacters() const {
    QTextCharFormat format;
    format.setFontFamilies(QFontDatabase::systemFont(QFontDatabase::FixedFont).families());
    format.setFontFixedPitch(true);
    format.setFontPointSize(std::max(6.0, font().pointSizeF() * 0.94));
    return format;
}

void MarkdownView::write(const MarkdownBlock& block) {
    QTextCursor end(document());
    end.movePosition(QTextCursor::End);
    m_written.push_back({end.position(), m_free});
    switch (block.kind) {
        case Kind::Code: return writeCode(block);
        case Kind::Table: return writeTable(block);
        default: break;
    }
    QTextBlockFormat format = blockFormat(block);
    QTextCharFormat characters;
    if (block.kind == Kind::Heading) {
        format.setHeadingLevel(block.level);
        characters.setFontWeight(QFont::DemiBold);
        characters.setFontPointSize(font().pointSizeF() * headingPercent(block.level) / 100.0);
    }
    if (block.kind == Kind::Rule) format.setProperty(kRoleProperty, DrawnRule);
    QTextCursor cursor = beginBlock(format, characters);
    if (block.kind == Kind::Item) cursor.insertText(block.marker + u'\t', characters);
    writeSpans(cursor, block.text, characters);
}

void MarkdownView::writeSpans(QTextCursor& cursor, const QString& source, const QTextCharFormat& base) const {
    const theme::Colors& colors = lookOf(*this);
    for (const MarkdownSpan& span : readSpans(source)) {
        QTextCharFormat format = base;
        if (span.code) {
            format.merge(codeCharacters());
            format.setBackground(colors.raised);
        }
        if (span.bold) format.setFontWeight(QFont::Bold);
        if (span.italic) format.setFontItalic(true);
        if (span.struck) format.setFontStrikeOut(true);
        if (!span.link.isEmpty()) {
            format.setAnchor(true);
            format.setAnchorHref(span.link);
            format.setToolTip(span.link);
            format.setForeground(colors.accent);
            format.setFontUnderline(true);
        }
        cursor.insertText(QString(span.text).replace(u'\n', kLineSeparator), format);
    }
}

void MarkdownView::writeCode(const MarkdownBlock& block) {
    QTextBlockFormat format = blockFormat(block);
    const qreal pad = em() * 0.6;
    format.setLeftMargin(format.leftMargin() + pad);
    format.setRightMargin(pad);
    format.setTopMargin(format.topMargin() + em() * 1.7);  // the language and the button stand there
    format.setBottomMargin(pad + em() * 0.55);
    format.setProperty(kRoleProperty, DrawnCode);
    format.setProperty(kLanguageProperty, block.language);
    const QTextCharFormat characters = codeCharacters();
    QTextCursor cursor = beginBlock(format, characters);
    cursor.insertText(QString(block.text).replace(u'\n', kLineSeparator), characters);
}

bool MarkdownView::extendCode(const MarkdownBlock& before, const MarkdownBlock& after) {
    if (before.kind != Kind::Code || after.kind != Kind::Code || !after.text.startsWith(before.text)) return false;
    MarkdownBlock same = after;
    same.text = before.text;
    if (same != before) return false;
    QTextCursor cursor(document());
    cursor.movePosition(QTextCursor::End);
    cursor.insertText(after.text.mid(before.text.size()).replace(u'\n', kLineSeparator), codeCharacters());
    return true;
}

void MarkdownView::writeTable(const MarkdownBlock& block) {
    const theme::Colors& colors = lookOf(*this);
    QTextCursor cursor(document());
    cursor.movePosition(QTextCursor::End);
    if (m_free) flatten(cursor);  // a table needs a paragraph before it

    QTextTableFormat format;
    format.setBorder(1);
    format.setBorderCollapse(true);
    format.setBorderBrush(colors.border);
    format.setBorderStyle(QTextFrameFormat::BorderStyle_Solid);
    format.setCellPadding(em() * 0.35);
    format.setTopMargin(em() * 0.6);
    format.setLeftMargin(block.quotes * em() + block.depth * em() * 1.4);
    format.setHeaderRowCount(1);
    const int columns = static_cast<int>(block.alignments.size());
    QTextTable* table = cursor.insertTable(static_cast<int>(block.rows.size()), columns, format);
    for (int row = 0; row < block.rows.size(); ++row) {
        for (int column = 0; column < columns; ++column) {
            QTextCursor cell = table->cellAt(row, column).firstCursorPosition();
            QTextBlockFormat alignment;
            alignment.setAlignment(block.alignments[column]);
            cell.setBlockFormat(alignment);
            QTextCharFormat characters;
            if (row == 0) {
                characters.setFontWeight(QFont::DemiBold);
                QTextTableCellFormat head;
                head.setBackground(colors.raised);
                table->cellAt(row, column).setFormat(head);
            }
            writeSpans(cell, block.rows[row].value(column), characters);
        }
    }
    m_free = true;
}

// The panel around a listing: the paragraph with its paddings and the line above.
QRectF MarkdownView::codeRect(int blockNumber) const {
    const QTextBlock block = document()->findBlockByNumber(blockNumber);
    const QRectF text = document()->documentLayout()->blockBoundingRect(block);
    const QTextBlockFormat format = block.blockFormat();
    const qreal pad = em() * 0.6;
    const qreal left = format.leftMargin() - pad;
    return {left, text.top() - em() * 1.7, viewport()->width() - left - 1, text.height() + em() * 1.7 + pad - 2};
}

void MarkdownView::placeCopyButtons() {
    std::size_t used = 0;
    for (QTextBlock block = document()->begin(); block.isValid() && !m_plain; block = block.next()) {
        if (block.blockFormat().intProperty(kRoleProperty) != DrawnCode) continue;
        if (used == m_copyButtons.size()) {
            auto* button = new QToolButton(viewport());
            button->setIcon(icon(QStringLiteral("copy")));
            button->setAutoRaise(true);
            button->setStyleSheet(QStringLiteral("QToolButton, QToolButton:focus { padding: 0; }"));
            button->setCursor(Qt::PointingHandCursor);
            button->setToolTip(tr("Copy this code"));
            theme::setButtonKind(*button, "quiet");
            connect(button, &QToolButton::clicked, this, [this, button] {
                const QTextBlock code = document()->findBlockByNumber(button->property("block").toInt());
                QGuiApplication::clipboard()->setText(code.text().replace(kLineSeparator, u'\n'));
                Q_EMIT codeCopied();
            });
            m_copyButtons.push_back(button);
        }
        QToolButton* button = m_copyButtons[used++];
        const QString language = block.blockFormat().stringProperty(kLanguageProperty);
        button->setAccessibleName(language.isEmpty() ? tr("Copy code") : tr("Copy %1 code").arg(language));
        button->setProperty("block", block.blockNumber());
        const int side = static_cast<int>(em() * 1.5);
        button->setIconSize(QSize(side, side) * 0.65);
        const QRectF panel = codeRect(block.blockNumber());
        button->setGeometry(static_cast<int>(panel.right()) - side - 2, static_cast<int>(panel.top()) + 2, side, side);
        button->show();
    }
    while (m_copyButtons.size() > used) {
        m_copyButtons.back()->deleteLater();
        m_copyButtons.pop_back();
    }
}

void MarkdownView::paintEvent(QPaintEvent* event) {
    const theme::Colors& colors = lookOf(*this);
    QPainter painter(viewport());
    painter.setRenderHint(QPainter::Antialiasing);
    for (QTextBlock block = document()->begin(); block.isValid() && !m_plain; block = block.next()) {
        const QTextBlockFormat format = block.blockFormat();
        const int role = format.intProperty(kRoleProperty);
        const int quotes = format.intProperty(kQuotesProperty);
        if (role == DrawnPlain && quotes == 0) continue;
        const QRectF text = document()->documentLayout()->blockBoundingRect(block);
        if (role == DrawnCode) {
            const QRectF panel = codeRect(block.blockNumber());
            if (!panel.intersects(event->rect())) continue;
            painter.setPen(colors.border);
            painter.setBrush(colors.raised);
            painter.drawRoundedRect(panel.adjusted(0.5, 0.5, -0.5, -0.5), theme::kRadius, theme::kRadius);
            painter.setPen(colors.muted);
            painter.setFont(theme::smallFont(font()));
            painter.drawText(panel.adjusted(em() * 0.6, 0, -em() * 2, 0)
                                 .toRect()
                                 .intersected(QRect(0, static_cast<int>(panel.top()), viewport()->width(),
                                                    static_cast<int>(em() * 1.7))),
                             Qt::AlignVCenter | Qt::AlignLeft, format.stringProperty(kLanguageProperty));
        } else if (role == DrawnRule) {
            painter.setPen(colors.border);
            painter.drawLine(QPointF(text.left(), text.center().y()), QPointF(viewport()->width(), text.center().y()));
        }
        for (int i = 0; i < quotes; ++i)
            painter.fillRect(QRectF(i * em(), text.top() - (i == 0 ? 0 : 1), 3, text.height() + 2), colors.border);
    }
    painter.end();
    QTextBrowser::paintEvent(event);
    if (!m_caret) return;
    QTextCursor end(document());
    end.movePosition(QTextCursor::End);
    const QRect caret = cursorRect(end);
    QPainter(viewport())
        .fillRect(caret.left() + 2, caret.top() + 1, std::max(3, caret.height() / 2), caret.height() - 2,
                  colors.accent);
}

int MarkdownView::heightForWidth(int width) const {
    // The document takes this width in resizeEvent() anyway: it is laid out once. Only the very first time it falls
    // back to the width its editor has, and is told again.
    for (int i = 0; i < 2 && qRound(document()->textWidth()) != width; ++i) document()->setTextWidth(width);
    return static_cast<int>(std::ceil(document()->size().height())) + 1;
}

QSize MarkdownView::sizeHint() const {
    const int width = 400;
    return {width, fontMetrics().height()};
}

void MarkdownView::resizeEvent(QResizeEvent* event) {
    QTextBrowser::resizeEvent(event);
    placeCopyButtons();
}

void MarkdownView::changeEvent(QEvent* event) {
    QTextBrowser::changeEvent(event);
    const auto type = event->type();
    const bool looks = type == QEvent::PaletteChange || type == QEvent::FontChange || type == QEvent::StyleChange;
    if (looks && (theme::isDark(window()->palette()) != m_dark || font() != m_font)) rewriteAll();
}

void MarkdownView::keyPressEvent(QKeyEvent* event) {
    // Keys that would scroll belong to the view around.
    switch (event->key()) {
        case Qt::Key_PageUp:
        case Qt::Key_PageDown: event->ignore(); return;
        case Qt::Key_Up:
        case Qt::Key_Down:
        case Qt::Key_Home:
        case Qt::Key_End:
            if (event->modifiers() == Qt::NoModifier || event->modifiers() == Qt::ControlModifier) {
                event->ignore();
                return;
            }
            break;
        default: break;
    }
    QTextBrowser::keyPressEvent(event);
}

void MarkdownView::wheelEvent(QWheelEvent* event) {
    event->ignore();
}

QVariant MarkdownView::loadResource(int /*type*/, const QUrl& /*name*/) {
    return QByteArrayLiteral(" ");  // given nothing, the document would open a local file itself
}

QMimeData* MarkdownView::createMimeDataFromSelection() const {
    auto* copied = new QMimeData;  // plain text only: what is pasted elsewhere takes that place's look
    copied->setText(textCursor().selection().toPlainText());
    return copied;
}

}  // namespace vitrine
