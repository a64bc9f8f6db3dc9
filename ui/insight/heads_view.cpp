#include "ui/insight/heads_view.h"

#include "ui/insight/words.h"
#include "ui/theme.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QStandardItemModel>

namespace vitrine {

HeadsView::HeadsView(QWidget* parent)
    : QWidget(parent),
      m_grid(new HeadGrid(this)),
      m_sort(new QComboBox(this)),
      m_oneScale(new QCheckBox(tr("One scale for all"), this)),
      m_status(new QLabel(this)) {
    m_sort->addItem(tr("By layer"), static_cast<int>(HeadSort::layer));
    m_sort->addItem(tr("By share on the picture"), static_cast<int>(HeadSort::mass));
    m_sort->addItem(tr("Sharpest first"), static_cast<int>(HeadSort::entropy));
    m_sort->addItem(tr("By score"), static_cast<int>(HeadSort::score));
    m_sort->setAccessibleName(tr("Order of the heads"));
    m_sort->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_sort->setMinimumContentsLength(10);
    m_oneScale->setChecked(true);
    m_oneScale->setToolTip(tr("Off: each map on a scale of its own, which makes faint ones look strong"));
    m_status->setFont(theme::smallFont(font()));
    m_status->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    m_status->setAccessibleName(tr("About the head"));
    theme::setMuted(*m_status);

    auto* top = new QHBoxLayout;
    top->setSpacing(theme::kSpace);
    top->addWidget(m_sort, 1);
    top->addWidget(m_oneScale);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, theme::kSpace, 0, 0);
    layout->setSpacing(theme::kSpace);
    layout->addLayout(top);
    layout->addWidget(m_grid, 1);
    layout->addWidget(m_status);

    connect(m_sort, &QComboBox::currentIndexChanged, this,
            [this] { m_grid->setSort(static_cast<HeadSort>(m_sort->currentData().toInt())); });
    connect(m_oneScale, &QCheckBox::toggled, this, &HeadsView::applyLook);
    connect(m_grid, &HeadGrid::pointed, this, &HeadsView::tell);
    connect(m_grid, &HeadGrid::opened, this, [this](int layer, int head) {
        tell(layer, head);
        Q_EMIT opened(layer, head);
    });
    offer(HeadSort::score, false);
    clear();
}

// An order that nothing is known for stays in the list, but cannot be chosen.
void HeadsView::offer(HeadSort sort, bool offered) {
    const int index = m_sort->findData(static_cast<int>(sort));
    qobject_cast<QStandardItemModel*>(m_sort->model())->item(index)->setEnabled(offered);
    if (!offered && m_sort->currentIndex() == index) m_sort->setCurrentIndex(0);
}

void HeadsView::setMaps(const HeadMaps& maps) {
    offer(HeadSort::mass, !maps.masses.empty());
    offer(HeadSort::entropy, !maps.entropy.empty());
    m_grid->setMaps(maps);
    tell(kAll, kAll);
}

void HeadsView::clear() {
    m_grid->clear();
    tell(kAll, kAll);
}

void HeadsView::setScores(const QString& what, const std::vector<float>& scores) {
    const int index = m_sort->findData(static_cast<int>(HeadSort::score));
    m_sort->setItemText(index, what.isEmpty() ? tr("By score") : tr("By %1").arg(what));
    offer(HeadSort::score, !scores.empty());
    m_grid->setScores(scores);
}

void HeadsView::setLook(const ColourTable& colours, ScaleTransform transform) {
    if (colours == m_colours && transform == m_transform) return;
    m_colours = colours;
    m_transform = transform;
    applyLook();
}

void HeadsView::applyLook() {
    m_grid->setLook(m_colours, m_transform, m_oneScale->isChecked());
    tell(kAll, kAll);
}

void HeadsView::setCurrent(int layer, int head) {
    m_grid->setCurrent(layer, head);
}

void HeadsView::tell(int layer, int head) {
    QString text;
    if (maps().values.empty()) {
        text = QString();
    } else if (layer != kAll) {
        text = m_grid->describe(layer, head);
    } else if (m_oneScale->isChecked()) {
        const ValueScale& scale = m_grid->scale();
        text = tr("One scale: %1 to %2").arg(insight::number(scale.low), insight::number(scale.high));
    } else {
        text = tr("Each map on a scale of its own: strengths do not compare");
    }
    m_status->setText(text);
}

}  // namespace vitrine
