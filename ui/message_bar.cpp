#include "ui/message_bar.h"

#include "ui/icons.h"
#include "ui/theme.h"

#include <QAccessible>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QToolButton>

namespace vitrine {
namespace {

constexpr int kIconSize = 18;

QString iconOf(MessageBar::Kind kind) {
    switch (kind) {
        case MessageBar::Kind::warning: return QStringLiteral("warning");
        case MessageBar::Kind::error: return QStringLiteral("error");
        case MessageBar::Kind::information: break;
    }
    return QStringLiteral("info");
}

}  // namespace

MessageBar::MessageBar(QWidget* parent)
    : QFrame(parent),
      m_icon(new QLabel(this)),
      m_text(new QLabel(this)),
      m_action(new QPushButton(this)),
      m_close(new QToolButton(this)) {
    setObjectName(QStringLiteral("messageBar"));
    m_text->setWordWrap(true);
    m_text->setTextFormat(Qt::PlainText);
    m_text->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_close->setIcon(icon(QStringLiteral("close")));
    m_close->setAccessibleName(tr("Close this message"));
    m_close->setToolTip(tr("Close (Esc)"));
    m_close->setShortcut(Qt::Key_Escape);
    theme::setButtonKind(*m_close, "quiet");

    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(theme::kGroup, theme::kTight, theme::kSpace, theme::kTight);
    layout->setSpacing(theme::kSpace);
    layout->addWidget(m_icon);
    layout->addWidget(m_text, 1);
    layout->addWidget(m_action);
    layout->addWidget(m_close);

    m_timer.setSingleShot(true);
    connect(&m_timer, &QTimer::timeout, this, &MessageBar::dismiss);
    connect(m_close, &QToolButton::clicked, this, &MessageBar::dismiss);
    connect(m_action, &QPushButton::clicked, this, [this] {
        const std::function<void()> wish = std::exchange(m_wish, {});
        dismiss();
        if (wish) wish();
    });
    hide();
}

void MessageBar::show(Kind kind, const QString& text, const QString& actionText, std::function<void()> action,
                      int seconds) {
    m_kind = kind;
    drawIcon();
    m_text->setText(text);
    m_action->setText(actionText);
    m_action->setAccessibleName(actionText);
    m_action->setVisible(!actionText.isEmpty());
    m_wish = std::move(action);
    setAccessibleName(text);
    setVisible(true);
    QAccessibleEvent event(this, QAccessible::Alert);
    QAccessible::updateAccessibility(&event);
    m_timer.stop();
    if (kind == Kind::information) m_timer.start(seconds * 1000);
}

void MessageBar::dismiss() {
    m_timer.stop();
    if (!isVisibleTo(parentWidget())) return;
    setVisible(false);
    m_wish = {};
    Q_EMIT dismissed();
}

void MessageBar::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange) drawIcon();
    QFrame::changeEvent(event);
}

void MessageBar::drawIcon() {
    m_icon->setPixmap(icon(iconOf(m_kind)).pixmap(QSize(kIconSize, kIconSize), devicePixelRatioF()));
}

QString MessageBar::text() const {
    return isVisibleTo(parentWidget()) ? m_text->text() : QString();
}

}  // namespace vitrine
