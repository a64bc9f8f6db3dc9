#include "ui/models/icon_label.h"

#include "ui/icons.h"

#include <QEvent>

namespace vitrine {

IconLabel::IconLabel(QWidget* parent) : QLabel(parent) {
    hide();
}

void IconLabel::setIcon(const QString& name) {
    m_name = name;
    setVisible(!name.isEmpty());
    draw();
}

void IconLabel::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange) draw();
    QLabel::changeEvent(event);
}

void IconLabel::draw() {
    const int side = fontMetrics().height() + 2;
    if (!m_name.isEmpty()) setPixmap(icon(m_name).pixmap(QSize(side, side), devicePixelRatioF()));
}

}  // namespace vitrine
