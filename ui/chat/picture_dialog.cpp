#include "ui/chat/picture_dialog.h"

#include "ui/pictures/picture_view.h"

#include <QVBoxLayout>

namespace vitrine {

PictureDialog::PictureDialog(const QString& name, const Picture& picture, QWidget* parent) : QDialog(parent) {
    const QSize size = picture.image.size();
    setWindowTitle(tr("%1, %2 × %3").arg(name).arg(size.width()).arg(size.height()));
    auto* view = new PictureView(this);
    view->setAccessibleName(windowTitle());
    view->setPicture(picture);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(view);
    const QSize room = parent != nullptr ? parent->size() * 0.9 : QSize(1000, 700);
    resize(size.scaled(room, Qt::KeepAspectRatio).boundedTo(size * 4).expandedTo({320, 240}));
    view->setFocus();
}

}  // namespace vitrine
