#pragma once

#include <QStatusBar>
#include <QString>

#include <optional>

class QLabel;
class QProgressBar;
class QPushButton;

namespace vitrine {

// One running job as the status bar shows it.
struct JobView {
    QString title;           // "Captioning 12 of 340"
    QString detail;          // "3 min left"; may be empty
    double fraction = -1.0;  // of the work done; negative: not known
    bool stopping = false;
    int others = 0;  // how many more jobs are running
};

// The foot of the window: which model on which device, how much memory, and what is running with its Stop button.
class StatusBar : public QStatusBar {
    Q_OBJECT

public:
    explicit StatusBar(QWidget* parent = nullptr);

    void setModel(const QString& text, const QString& explanation);
    void setDevice(const QString& text, const QString& explanation);
    void setMemory(const QString& text, const QString& explanation);
    void setJob(const std::optional<JobView>& job);

Q_SIGNALS:
    void stopRequested();
    void modelClicked();

private:
    QPushButton* m_model;
    QLabel* m_device;
    QLabel* m_memory;
    QLabel* m_jobText;
    QProgressBar* m_progress;
    QPushButton* m_stop;
};

}  // namespace vitrine
