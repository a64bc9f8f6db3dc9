#include "ui/insight/causal_view.h"

#include "ui/insight/word_bars.h"
#include "ui/insight/words.h"
#include "ui/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QPushButton>

#include <algorithm>

namespace vitrine {
namespace {

QString logProbability(double value) {
    return QLocale().toString(value, 'f', 2).replace(u'-', u'−');
}

}  // namespace

CausalView::CausalView(QWidget* parent)
    : QWidget(parent),
      m_question(new QLabel(this)),
      m_cut(new QPushButton(tr("Hide these patches"), this)),
      m_mean(new QPushButton(tr("Replace by the mean"), this)),
      m_result(new QLabel(this)),
      m_insteadTitle(new QLabel(tr("It would say instead"), this)),
      m_instead(new WordBars(this)) {
    m_cut->setToolTip(tr("The model pays no attention to these patches, in any layer"));
    m_mean->setToolTip(tr("The model is given the mean of the picture in their place"));
    for (QLabel* label : {m_question, m_result}) {
        label->setTextFormat(Qt::PlainText);
        label->setWordWrap(true);
    }
    m_result->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_result->setAccessibleName(tr("Result of the check"));
    theme::setMuted(*m_insteadTitle);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(theme::kSpace);
    buttons->addWidget(m_cut);
    buttons->addWidget(m_mean);
    buttons->addStretch();
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, theme::kSpace, theme::kSpace, theme::kSpace);
    layout->setSpacing(theme::kSpace);
    layout->addWidget(m_question);
    layout->addLayout(buttons);
    layout->addWidget(m_result);
    layout->addWidget(m_insteadTitle);
    layout->addWidget(m_instead);
    layout->addStretch();
    connect(m_cut, &QPushButton::clicked, this, [this] { Q_EMIT wanted(m_patches, CausalCheck::Means::cut); });
    connect(m_mean, &QPushButton::clicked, this, [this] { Q_EMIT wanted(m_patches, CausalCheck::Means::mean); });
    setQuestion({}, -1, -1, {}, 1);
}

void CausalView::setQuestion(const QString& word, std::int32_t spoken, qint64 position, const std::vector<int>& patches,
                             int columns) {
    const bool same = position == m_position && patches == m_patches;
    m_word = word;
    m_spoken = spoken;
    m_position = position;
    m_patches = patches;
    const bool possible = !patches.empty() && position >= 0;
    for (QPushButton* button : {m_cut, m_mean}) button->setEnabled(possible);
    if (!possible) {
        m_question->setText(
            tr("Click a patch of the picture or drag over several, and see whether a word depends on them."));
    } else if (patches.size() == 1) {
        m_question->setText(tr("Does %1 depend on the patch in %2?")
                                .arg(insight::quoted(word), insight::patchName(patches.front(), columns)));
    } else {
        m_question->setText(
            tr("Does %1 depend on the %2 marked patches?").arg(insight::quoted(word)).arg(patches.size()));
    }
    if (same && possible) return;
    m_result->clear();
    m_insteadTitle->hide();
    m_instead->setWords({});
}

void CausalView::setResult(const CausalCheck& check) {
    if (check.position != m_position || check.patches != m_patches) return;  // of a question no longer asked
    const double drop = check.before - check.after;
    const double other = check.before - check.random;
    QString text = tr("Log-probability of %1: %2 → %3. Hiding as many other patches: %4.")
                       .arg(insight::quoted(m_word), logProbability(check.before), logProbability(check.after),
                            logProbability(check.random));
    const bool matters = drop > 0.1 && drop > 2.0 * std::max(0.0, other);
    text += u'\n' + (matters ? tr("The word depends on these patches more than on others.")
                             : tr("These patches matter to the word no more than others."));
    m_result->setText(text);
    m_insteadTitle->setVisible(!check.instead.empty());
    m_instead->setWords(check.instead, m_spoken);
}

QString CausalView::resultText() const {
    return m_result->text();
}

}  // namespace vitrine
