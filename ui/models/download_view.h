#pragma once

#include "ui/models/values.h"

#include <QWidget>

class QLabel;
class QProgressBar;
class QPushButton;
class QTableView;

namespace vitrine {

class IconLabel;
class RowsModel;

// One download: how far it is, file by file, what holds it up, and what can be done about it.
class DownloadView : public QWidget {
    Q_OBJECT

public:
    explicit DownloadView(QWidget* parent = nullptr);

    void setProgress(const DownloadProgress& progress);
    QString hubId() const { return m_hubId; }

Q_SIGNALS:
    void pauseWanted();
    void resumeWanted();  // also: try again
    void cancelWanted(bool keepFiles);

private:
    QString m_hubId;
    QLabel* m_title;
    QLabel* m_state;
    IconLabel* m_reasonIcon;
    QLabel* m_reason;
    QProgressBar* m_bar;
    QPushButton* m_pause;
    QPushButton* m_resume;
    QPushButton* m_cancel;
    RowsModel* m_rows;
    QTableView* m_files;
};

}  // namespace vitrine
