#pragma once

#include <QDialog>
#include <QList>
#include <QString>

namespace vitrine {

struct KeyGroup {
    QString title;
    QList<std::pair<QString, QString>> keys;  // "Ctrl+Return", what it does
};

// Which keys do what, place by place. Does not block: show it with open().
class KeysDialog : public QDialog {
    Q_OBJECT

public:
    explicit KeysDialog(const QList<KeyGroup>& groups, QWidget* parent = nullptr);
};

}  // namespace vitrine
