#pragma once

#include <QFrame>
#include <QTimer>

#include <functional>

class QLabel;
class QPushButton;
class QToolButton;

namespace vitrine {

// A line at the foot of a place: what has just happened, and one thing to do about it ("Undo", "Retry"). Hidden while
// there is nothing to say. Screen readers are told when it appears.
class MessageBar : public QFrame {
    Q_OBJECT

public:
    enum class Kind { information, warning, error };

    explicit MessageBar(QWidget* parent = nullptr);

    // Replaces what stood there. Information goes by itself after `seconds`; warnings and errors stay until closed.
    void show(Kind kind, const QString& text, const QString& actionText = {}, std::function<void()> action = {},
              int seconds = 8);
    void dismiss();
    QString text() const;

Q_SIGNALS:
    void dismissed();

protected:
    void changeEvent(QEvent* event) override;

private:
    void drawIcon();

    Kind m_kind = Kind::information;
    QLabel* m_icon;
    QLabel* m_text;
    QPushButton* m_action;
    QToolButton* m_close;
    QTimer m_timer;
    std::function<void()> m_wish;
};

}  // namespace vitrine
