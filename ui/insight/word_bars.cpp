#include "ui/insight/word_bars.h"

#include "ui/insight/words.h"
#include "ui/theme.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

namespace vitrine {

WordBars::WordBars(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setAccessibleName(tr("Words and their probabilities"));
}

int WordBars::rowHeight() const {
    return fontMetrics().height() + theme::kTight;
}

QSize WordBars::sizeHint() const {
    return {200, static_cast<int>(m_words.size()) * rowHeight()};
}

void WordBars::setWords(const std::vector<TokenAlternative>& words, std::int32_t marked) {
    const bool resized = words.size() != m_words.size();
    m_words = words;
    m_marked = marked;
    QStringList said;
    for (const TokenAlternative& word : words)
        said.append(insight::tokenLabel(QString::fromStdString(word.text)) + u' ' +
                    insight::percent(std::exp(word.log_prob)));
    setAccessibleDescription(said.join(QStringLiteral(", ")));
    if (resized) updateGeometry();
    update();
}

void WordBars::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const theme::Colors& colors = theme::colors(*this);
    QFont bold = font();
    bold.setWeight(QFont::DemiBold);
    const QFontMetrics metrics(bold);
    const int tickWidth = metrics.horizontalAdvance(QStringLiteral("✓ "));
    const int numberWidth = metrics.horizontalAdvance(QStringLiteral("00.00 %"));
    int wordWidth = metrics.averageCharWidth() * 8;
    for (const TokenAlternative& word : m_words)
        wordWidth =
            std::max(wordWidth, metrics.horizontalAdvance(insight::tokenLabel(QString::fromStdString(word.text))));
    wordWidth = std::min(wordWidth + theme::kTight, width() * 2 / 5);
    const int barLeft = tickWidth + wordWidth + theme::kSpace;
    const int barRoom = width() - barLeft - numberWidth - theme::kSpace;
    for (std::size_t i = 0; i < m_words.size(); ++i) {
        const TokenAlternative& word = m_words[i];
        const bool marked = word.id == m_marked;
        const double probability = std::exp(word.log_prob);
        const QRect row(0, static_cast<int>(i) * rowHeight(), width(), rowHeight());
        painter.setFont(marked ? bold : font());
        painter.setPen(colors.text);
        if (marked) painter.drawText(row, Qt::AlignLeft | Qt::AlignVCenter, QStringLiteral("✓"));
        const QString label = insight::tokenLabel(QString::fromStdString(word.text));
        painter.drawText(QRect(tickWidth, row.top(), wordWidth, row.height()), Qt::AlignLeft | Qt::AlignVCenter,
                         painter.fontMetrics().elidedText(label, Qt::ElideRight, wordWidth));
        const QRectF track(barLeft, row.top() + row.height() / 2.0 - 3, barRoom, 6);
        painter.fillRect(track, colors.raised);
        painter.fillRect(QRectF(track.topLeft(), QSizeF(std::max(1.0, track.width() * probability), track.height())),
                         marked ? colors.accent : colors.muted);
        painter.drawText(row, Qt::AlignRight | Qt::AlignVCenter, insight::percent(probability));
    }
}

}  // namespace vitrine
