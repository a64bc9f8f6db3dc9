#pragma once

#include "ui/insight/values.h"

#include <QAbstractScrollArea>

#include <vector>

namespace vitrine {

// The tokens of a conversation as words in running lines, painted by one widget however many there are. Each has its
// weight as a tint and as a bar at its foot. A run of patches of a picture is one chip; tokens of the prompt are only
// shown when asked for. Tokens are told apart by position, never by text. Lives on the UI thread.
//
// Keys: Left and Right one word, Home and End, Space (told as playToggled).
class TokenFlow : public QAbstractScrollArea {
    Q_OBJECT

public:
    explicit TokenFlow(QWidget* parent = nullptr);

    void setTokens(const std::vector<InsightToken>& tokens);
    void appendTokens(const std::vector<InsightToken>& tokens);
    const std::vector<InsightToken>& tokens() const { return m_tokens; }
    const InsightToken* token(qint64 position) const;  // null where there is none

    // One for each token of the answer; the strongest one has the fullest tint and bar. `meaning` has a %1 for it.
    void setWeights(const std::vector<float>& weights, const QString& meaning);
    void setPromptShown(bool shown);
    bool isPromptShown() const { return m_promptShown; }

    qint64 current() const { return m_current; }                           // position, -1: none
    void setCurrent(qint64 position);                                      // emits nothing; scrolls there
    const std::vector<qint64>& positions() const { return m_selectable; }  // what can be chosen, in order

    QRect chipRect(qint64 position) const;  // in viewport coordinates, empty while it is not shown
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

Q_SIGNALS:
    void hovered(qint64 position);    // -1: the pointer has left
    void activated(qint64 position);  // by click or key
    void playToggled();

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool viewportEvent(QEvent* event) override;
    void changeEvent(QEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    struct Chip {
        int token = -1;  // index into m_tokens; of the first one of a run
        QString label;
        bool selectable = true;
        bool muted = false;   // special tokens, patches
        bool joined = false;  // continues the word before it
        bool endsLine = false;
        qreal textWidth = 0;
        QRectF place;  // in content coordinates
    };

    void addChips(std::size_t firstToken);
    void rebuild();
    void layoutFrom(std::size_t chip);
    const Chip* chipAt(const QPoint& viewportPoint) const;
    const Chip* chipOf(qint64 position) const;
    void setHovered(qint64 position);
    void step(int by);
    void activate(qint64 position);
    void ensureVisible(const QRectF& place);
    double weightOf(const Chip& chip) const;  // NaN: none
    QString describe(const Chip& chip) const;
    void paintChip(QPainter& painter, const Chip& chip) const;
    qreal lineHeight() const;

    std::vector<InsightToken> m_tokens;
    std::size_t m_answerBegin = 0;  // index of the first token of the answer
    std::vector<Chip> m_chips;
    std::vector<qint64> m_selectable;
    std::vector<float> m_weights;
    QString m_meaning;
    float m_strongest = 0.0F;
    bool m_promptShown = false;
    qint64 m_current = -1;
    qint64 m_hovered = -1;
};

}  // namespace vitrine
