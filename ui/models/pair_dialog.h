#pragma once

#include "ui/models/values.h"

#include <QDialog>

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QVBoxLayout;

namespace vitrine {

class IconLabel;

// Vision, language and projector to one model: three choices, a name, and at once whether the parts fit. It asks by
// choiceChanged() and shows the verdict that comes back; the button is open only while the parts fit.
class PairDialog : public QDialog {
    Q_OBJECT

public:
    explicit PairDialog(QWidget* parent = nullptr);

    // Keeps what is chosen where it is still there. `preferred` is chosen where it is in one of the lists.
    void setChoices(const PairChoices& choices, const QString& preferred = {});
    void setVerdict(const PairVerdict& verdict);
    void setFault(const QString& text);  // why the model could not be made

    QString vision() const;
    QString language() const;
    QString projector() const;  // empty: a new one

Q_SIGNALS:
    void choiceChanged();
    void createWanted(const QString& name);

protected:
    void showEvent(QShowEvent* event) override;

private:
    void onChoice();
    void showVerdict();
    void grow();

    QComboBox* m_vision;
    QComboBox* m_language;
    QComboBox* m_projector;
    QLineEdit* m_name;
    IconLabel* m_summaryIcon;
    QLabel* m_summary;
    QVBoxLayout* m_lines;
    QPushButton* m_create;
    PairVerdict m_verdict;
    bool m_named = false;  // by the person
};

}  // namespace vitrine
