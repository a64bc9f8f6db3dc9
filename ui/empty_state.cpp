#include "ui/empty_state.h"

#include "ui/icons.h"
#include "ui/theme.h"

#include <QEvent>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace vitrine {
namespace {

constexpr int kIconSize = 56;
constexpr int kTextWidth = 420;

QLabel* centred(const QString& text, QWidget* parent) {
    auto* label = new QLabel(text, parent);
    label->setAlignment(Qt::AlignHCenter);
    label->setWordWrap(true);
    return label;
}

}  // namespace

EmptyState::EmptyState(const QString& iconName, const QString& title, const QString& text, QWidget* parent)
    : QWidget(parent),
      m_iconName(iconName),
      m_icon(centred({}, this)),
      m_title(centred(title, this)),
      m_text(centred(text, this)),
      m_actions(new QVBoxLayout) {
    m_title->setFont(theme::titleFont(font()));
    theme::setMuted(*m_text);
    m_text->setTextInteractionFlags(Qt::TextSelectableByMouse);
    for (QLabel* label : {m_title, m_text}) {
        label->setFixedWidth(qRound(kTextWidth * logicalDpiX() / 96.0));
    }
    m_actions->setSpacing(theme::kSpace);

    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(theme::kPage, theme::kPage, theme::kPage, theme::kPage);
    layout->setSpacing(theme::kSpace);
    layout->addStretch(2);
    for (QLabel* label : {m_icon, m_title, m_text}) layout->addWidget(label, 0, Qt::AlignHCenter);
    layout->addSpacing(theme::kSpace);
    layout->addLayout(m_actions);
    layout->setAlignment(m_actions, Qt::AlignHCenter);
    layout->addStretch(3);
    drawIcon();
    fitText();
}

void EmptyState::setText(const QString& title, const QString& text) {
    m_title->setText(title);
    m_text->setText(text);
    fitText();
}

void EmptyState::addAction(const QString& text, const QString& iconName, const QString& wish) {
    const bool first = m_actions->count() == 0;
    auto* button = new QPushButton(first ? iconOnAccent(iconName) : icon(iconName), text, this);
    theme::setButtonKind(*button, first ? "primary" : "");
    button->setAccessibleName(text);
    connect(button, &QPushButton::clicked, this, [this, wish] { Q_EMIT triggered(wish); });
    m_actions->addWidget(button, 0, Qt::AlignHCenter);
}

void EmptyState::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange) drawIcon();
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) fitText();
    QWidget::changeEvent(event);
}

// A centred label keeps the height of its first text in a box layout; so it is told.
void EmptyState::fitText() {
    for (QLabel* label : {m_title, m_text}) {
        label->setFixedHeight(label->text().isEmpty() ? 0 : label->heightForWidth(label->width()));
    }
}

void EmptyState::drawIcon() {
    m_icon->setPixmap(icon(m_iconName).pixmap(QSize(kIconSize, kIconSize), devicePixelRatioF(), QIcon::Disabled));
}

}  // namespace vitrine
