#include "ui/insight/compare_view.h"

#include "ui/icons.h"
#include "ui/insight/colour_bar.h"
#include "ui/insight/map_view.h"
#include "ui/pictures/picture_view.h"
#include "ui/theme.h"

#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QStackedWidget>
#include <QToolButton>

namespace vitrine {
namespace {

QLabel* wrapped(QWidget* parent) {
    auto* label = new QLabel(parent);
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    label->setFont(theme::smallFont(parent->font()));
    return label;
}

PatchGrid times(PatchGrid grid, double factor) {
    for (float& value : grid.values) value = static_cast<float>(value * factor);
    return grid;
}

}  // namespace

CompareView::CompareView(QWidget* parent)
    : QWidget(parent),
      m_pages(new QStackedWidget(this)),
      m_pin(new QPushButton(icon(QStringLiteral("pin")), tr("Pin this map"), this)),
      m_unpin(new QPushButton(icon(QStringLiteral("close")), tr("Unpin"), this)),
      m_differ(new QToolButton(this)),
      m_maps(new QStackedWidget(this)),
      m_left(new MapView(tr("Pinned map"), this)),
      m_right(new MapView(tr("Map of the moment"), this)),
      m_difference(new MapView(tr("Difference of the two maps"), this)),
      m_leftLabel(wrapped(this)),
      m_rightLabel(wrapped(this)),
      m_bar(new ColourBar(this)),
      m_note(wrapped(this)) {
    for (MapView* map : {m_left, m_right, m_difference}) {
        map->setSelectable(false);
        map->pictureView()->setMinimumSize(64, 64);
        connect(map, &MapView::patchHovered, this, [this](int patch) {
            for (MapView* other : {m_left, m_right, m_difference}) other->point(patch);
        });
    }
    theme::setMuted(*m_note);
    m_differ->setText(tr("Difference"));
    m_differ->setAccessibleName(tr("Difference"));
    m_differ->setCheckable(true);
    m_differ->setToolTip(tr("Map of the moment minus the pinned one, centred at 0"));

    auto* empty = new QWidget(m_pages);
    auto* hint = new QLabel(tr("Pin a map to keep it beside others: of another word, head, layer, method, prompt or "
                               "answer, both on one scale."),
                            empty);
    hint->setWordWrap(true);
    theme::setMuted(*hint);
    auto* emptyLayout = new QVBoxLayout(empty);
    emptyLayout->setContentsMargins(0, theme::kSpace, 0, 0);
    emptyLayout->addWidget(hint);
    emptyLayout->addWidget(m_pin, 0, Qt::AlignLeft);
    emptyLayout->addStretch();
    m_pages->addWidget(empty);

    auto* pair = new QWidget(m_maps);
    auto* pairLayout = new QGridLayout(pair);
    pairLayout->setContentsMargins(0, 0, 0, 0);
    pairLayout->setSpacing(theme::kTight);
    pairLayout->setHorizontalSpacing(theme::kSpace);
    pairLayout->addWidget(m_leftLabel, 0, 0, Qt::AlignTop);
    pairLayout->addWidget(m_rightLabel, 0, 1, Qt::AlignTop);
    pairLayout->addWidget(m_left, 1, 0);
    pairLayout->addWidget(m_right, 1, 1);
    pairLayout->setRowStretch(1, 1);
    pairLayout->setColumnStretch(0, 1);
    pairLayout->setColumnStretch(1, 1);
    m_maps->addWidget(pair);
    m_maps->addWidget(m_difference);

    auto* full = new QWidget(m_pages);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(theme::kSpace);
    buttons->addWidget(m_differ);
    buttons->addStretch();
    buttons->addWidget(m_unpin);
    auto* layout = new QVBoxLayout(full);
    layout->setContentsMargins(0, theme::kSpace, 0, 0);
    layout->setSpacing(theme::kSpace);
    layout->addLayout(buttons);
    layout->addWidget(m_maps, 1);
    layout->addWidget(m_bar);
    layout->addWidget(m_note);
    m_pages->addWidget(full);
    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->addWidget(m_pages);

    connect(m_pin, &QPushButton::clicked, this, &CompareView::pin);
    connect(m_unpin, &QPushButton::clicked, this, &CompareView::unpin);
    connect(m_differ, &QToolButton::toggled, this, &CompareView::refresh);
    refresh();
}

void CompareView::setLook(const MapLook& look) {
    if (look == m_look) return;
    m_look = look;
    if (isVisible()) refresh();
}

void CompareView::setCurrent(const std::optional<MapShot>& shot) {
    const bool other = !m_current || !shot || m_current->picture.image.cacheKey() != shot->picture.image.cacheKey();
    m_current = shot;
    m_pin->setEnabled(shot.has_value());
    if (other) m_right->setPicture(shot ? shot->picture : Picture(), shot ? shot->seen : QImage());
    if (isVisible()) refresh();
}

void CompareView::pin() {
    if (!m_current) return;
    m_pinned = m_current;
    m_left->setPicture(m_pinned->picture, m_pinned->seen);
    refresh();
    Q_EMIT pinnedChanged(true);
}

void CompareView::unpin() {
    m_pinned.reset();
    m_left->clearMap();
    m_left->setPicture({}, {});
    m_differ->setChecked(false);
    refresh();
    Q_EMIT pinnedChanged(false);
}

void CompareView::showDifference(bool difference) {
    m_differ->setChecked(difference);
}

void CompareView::showEvent(QShowEvent* event) {
    refresh();
    QWidget::showEvent(event);
}

void CompareView::refresh() {
    m_pages->setCurrentIndex(m_pinned ? 1 : 0);
    m_pin->setEnabled(m_current.has_value());
    for (MapView* map : {m_left, m_right, m_difference}) {
        map->setSmooth(m_look.smooth);
        map->setShowSeen(m_look.showSeen);
    }
    if (!m_pinned) return;
    // Rows of different lengths share no scale of shares, but one of multiples of an even spread.
    const bool multiples = m_look.timesUniform && m_pinned->uniform > 0.0 && (!m_current || m_current->uniform > 0.0);
    const auto told = [&](const MapShot& shot) { return multiples ? times(shot.grid, 1.0 / shot.uniform) : shot.grid; };
    const PatchGrid left = told(*m_pinned);
    const PatchGrid right = m_current ? told(*m_current) : PatchGrid{};
    std::vector<float> both = left.values;
    both.insert(both.end(), right.values.begin(), right.values.end());
    const ValueScale scale =
        multiples ? uniform_scale(1.0, m_look.transform) : scale_of(ScaleKind::global, m_look.transform, both);
    const auto uniform = [&](const MapShot& shot) { return multiples ? 0.0 : shot.uniform; };
    m_left->setMap(left, scale, m_look.oneSided, uniform(*m_pinned));
    if (m_current) {
        m_right->setMap(right, scale, m_look.oneSided, uniform(*m_current));
    } else {
        m_right->clearMap();
    }
    m_leftLabel->setText(tr("Pinned: %1").arg(m_pinned->label));
    m_rightLabel->setText(m_current ? tr("Now: %1").arg(m_current->label) : tr("Now: no map"));

    const bool comparable = left.rows == right.rows && left.columns == right.columns;
    m_differ->setEnabled(comparable);
    const bool differ = comparable && m_differ->isChecked();
    QString note = multiples ? tr("One scale for both, in multiples of an even spread.") : tr("One scale for both.");
    if (m_current && m_current->method != m_pinned->method)
        note += u' ' + tr("Two methods: their numbers have no unit in common.");
    if (differ) {
        PatchGrid difference = right;
        for (std::size_t i = 0; i < difference.values.size(); ++i) difference.values[i] -= left.values[i];
        const ValueScale signedScale = scale_of(ScaleKind::per_map, ScaleTransform::linear, difference.values, true);
        if (m_difference->picture().image.cacheKey() != m_current->picture.image.cacheKey())
            m_difference->setPicture(m_current->picture, m_current->seen);
        m_difference->setMap(difference, signedScale, m_look.twoSided, 0.0);
        m_bar->setScale(signedScale, m_look.twoSided, {});
        note = tr("Now (%1) minus pinned (%2), centred at 0.").arg(m_current->label, m_pinned->label);
    } else {
        m_bar->setScale(scale, m_look.oneSided, cutOf(scale, both));
    }
    m_maps->setCurrentIndex(differ ? 1 : 0);
    m_note->setText(note);
}

}  // namespace vitrine
