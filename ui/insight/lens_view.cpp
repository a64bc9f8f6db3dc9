#include "ui/insight/lens_view.h"

#include "ui/insight/rank_chart.h"
#include "ui/insight/word_bars.h"
#include "ui/insight/words.h"
#include "ui/theme.h"

#include <QLabel>
#include <QVBoxLayout>

namespace vitrine {

LensView::LensView(QWidget* parent)
    : QWidget(parent),
      m_patchTitle(new QLabel(this)),
      m_bars(new WordBars(this)),
      m_rankTitle(new QLabel(this)),
      m_chart(new RankChart(this)),
      m_status(new QLabel(this)) {
    for (QLabel* title : {m_patchTitle, m_rankTitle}) {
        title->setTextFormat(Qt::PlainText);
        title->setWordWrap(true);
    }
    m_status->setFont(theme::smallFont(font()));
    m_status->setWordWrap(true);
    theme::setMuted(*m_status);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, theme::kSpace, theme::kSpace, theme::kSpace);
    layout->setSpacing(theme::kTight);
    layout->addWidget(m_rankTitle);
    layout->addWidget(m_chart, 1);
    layout->addWidget(m_status);
    layout->addSpacing(theme::kSpace);
    layout->addWidget(m_patchTitle);
    layout->addWidget(m_bars);
    connect(m_chart, &RankChart::layerPointed, this, [this](int layer) {
        m_status->setText(layer >= 0
                              ? m_chart->describe(layer)
                              : tr("Words along the foot: the likeliest after each layer. The larger the dot, the "
                                   "more probable the spoken word; filled from 50 % on."));
    });
    clear();
}

void LensView::clear() {
    m_words = {};
    m_patch = -1;
    m_chart->clear();
    m_rankTitle->setText(tr("How the word rose through the layers comes here."));
    showPatch();
}

void LensView::setPatchWords(const PatchWords& words) {
    m_words = words;
    showPatch();
}

void LensView::setPatch(int patch, int columns) {
    m_patch = patch;
    m_columns = columns;
    showPatch();
}

void LensView::setRanks(const WordRanks& ranks, const QString& word, std::int32_t spoken) {
    m_rankTitle->setText(tr("How %1 rose through the layers").arg(insight::quoted(word)));
    m_chart->setRanks(ranks, spoken);
}

void LensView::showPatch() {
    const auto at = static_cast<std::size_t>(m_patch);
    if (m_patch < 0) {
        m_patchTitle->setText(tr("Point at a patch of the picture, or click one, to see the words it stands for."));
        m_bars->setWords({});
    } else if (at >= m_words.words.size()) {
        m_patchTitle->setText(tr("The words of the patches are being read."));
        m_bars->setWords({});
    } else {
        m_patchTitle->setText(
            tr("Patch in %1, after layer %2").arg(insight::patchName(m_patch, m_columns)).arg(m_words.layer));
        m_bars->setWords(m_words.words[at]);
    }
}

}  // namespace vitrine
