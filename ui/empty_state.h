#pragma once

#include <QWidget>

class QLabel;
class QVBoxLayout;

namespace vitrine {

// What a place shows while it has nothing to show: an icon, what belongs here, how to get it there, and buttons that do
// it.
class EmptyState : public QWidget {
    Q_OBJECT

public:
    EmptyState(const QString& iconName, const QString& title, const QString& text, QWidget* parent = nullptr);

    void setText(const QString& title, const QString& text);
    // The first one is the primary action. `wish` comes back in triggered().
    void addAction(const QString& text, const QString& iconName, const QString& wish);

Q_SIGNALS:
    void triggered(const QString& wish);

protected:
    void changeEvent(QEvent* event) override;

private:
    void drawIcon();
    void fitText();

    QString m_iconName;
    QLabel* m_icon;
    QLabel* m_title;
    QLabel* m_text;
    QVBoxLayout* m_actions;
};

}  // namespace vitrine
