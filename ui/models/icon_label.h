#pragma once

#include <QLabel>
#include <QString>

namespace vitrine {

// A small drawing of the icon set beside a line of text; drawn anew when light turns to dark.
class IconLabel : public QLabel {
    Q_OBJECT

public:
    explicit IconLabel(QWidget* parent = nullptr);
    void setIcon(const QString& name);  // empty: nothing is shown

protected:
    void changeEvent(QEvent* event) override;

private:
    void draw();

    QString m_name;
};

}  // namespace vitrine
