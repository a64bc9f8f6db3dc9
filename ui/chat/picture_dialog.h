#pragma once

#include <QDialog>
#include <QImage>

namespace vitrine {

// One picture of a conversation, as large as the window allows; Esc or a click closes it.
class PictureDialog : public QDialog {
    Q_OBJECT

public:
    PictureDialog(const QString& name, const QImage& image, QWidget* parent);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;

private:
    QImage m_image;
};

}  // namespace vitrine
