#pragma once

#include <QDialog>

namespace vitrine {

struct Picture;

// One picture of a conversation, as large as the window allows and to be zoomed; Esc closes it.
class PictureDialog : public QDialog {
    Q_OBJECT

public:
    PictureDialog(const QString& name, const Picture& picture, QWidget* parent);
};

}  // namespace vitrine
