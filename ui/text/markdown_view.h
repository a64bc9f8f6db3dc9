#pragma once

#include "ui/text/markdown.h"

#include <QList>
#include <QTextBrowser>
#include <QTextCharFormat>

#include <vector>

class QToolButton;

namespace vitrine {

// One message as a person reads it: Markdown, or plain text exactly as it was written. As tall as its content is at its
// width, so that the view around it scrolls. Blocks that did not change since the last call stay untouched, a selection
// in them too. Nothing is ever loaded, and a link is only reported. Lives on the UI thread.
class MarkdownView : public QTextBrowser {
    Q_OBJECT

public:
    explicit MarkdownView(QWidget* parent = nullptr);

    void setMarkdown(const QList<MarkdownBlock>& blocks);
    void setPlain(const QString& text);
    void setCaret(bool shown);  // at the end, while more is to come

    // How many blocks the last call of setMarkdown() laid out anew.
    int rewrittenBlocks() const { return m_rewritten; }

    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return {0, 0}; }

Q_SIGNALS:
    void linkClicked(const QString& target);
    void codeCopied();

protected:
    QVariant loadResource(int type, const QUrl& name) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    QMimeData* createMimeDataFromSelection() const override;

private:
    // What one block became.
    struct Written {
        int position = 0;          // of the document's end before it was written
        bool reusesBlock = false;  // it went into the empty paragraph that was there
    };

    void rewriteAll();
    void truncateTo(int position);
    void write(const MarkdownBlock& block);
    void writeCode(const MarkdownBlock& block);
    void writeTable(const MarkdownBlock& block);
    void writeSpans(QTextCursor& cursor, const QString& source, const QTextCharFormat& base) const;
    bool extendCode(const MarkdownBlock& before, const MarkdownBlock& after);
    QTextCursor beginBlock(const QTextBlockFormat& format, const QTextCharFormat& characters);
    QTextBlockFormat blockFormat(const MarkdownBlock& block) const;
    QTextCharFormat codeCharacters() const;
    void placeCopyButtons();
    QRectF codeRect(int blockNumber) const;
    qreal em() const;

    QList<MarkdownBlock> m_blocks;
    std::vector<Written> m_written;
    bool m_free = true;  // the document ends in an empty paragraph that the next block takes
    bool m_plain = false;
    bool m_caret = false;
    bool m_dark = false;  // the colours it was written in
    QFont m_font;
    int m_rewritten = 0;
    std::vector<QToolButton*> m_copyButtons;
};

}  // namespace vitrine
