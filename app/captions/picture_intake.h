#pragma once

#include "app/captions/folder_scanner.h"
#include "ui/captions/drop_data.h"

#include <QObject>
#include <QStringList>
#include <QThreadPool>

#include <deque>
#include <memory>

namespace vitrine {

class Activity;
class ActivityList;

// The way in for pictures: files and folders are searched, pixels without a file (a screenshot, a picture from a
// browser) are given one. A long search stands in the status bar and can be stopped there. Lives on the UI thread; the
// work is done on others, in the order asked for.
class PictureIntake : public QObject {
    Q_OBJECT

public:
    PictureIntake(ActivityList& activities, QString pastedFolder, QObject* parent = nullptr);
    ~PictureIntake() override;

    void open(const QStringList& paths);
    void open(const DropData& data);
    void recheck(const QStringList& paths);  // those listed already; whatever is found, nothing is said

Q_SIGNALS:
    // `first`: the first pictures of what was just opened.
    void found(const QList<vitrine::FoundPicture>& batch, bool first);
    void told(const QString& text);    // "No pictures were found there."
    void warned(const QString& text);  // what could not be opened

private:
    struct Search {
        bool quiet = false;
        int pictures = 0;
        QStringList missing;
    };
    void begin(const QStringList& paths, bool quiet);
    void take(const QList<FoundPicture>& batch);
    void end(const ScanSummary& summary);
    void savePasted(const DropData& data);

    ActivityList& m_activities;
    const QString m_pastedFolder;
    FolderScanner m_scanner;
    std::deque<Search> m_searches;  // running and waiting, oldest first
    std::shared_ptr<Activity> m_activity;
    QThreadPool m_writer;
};

}  // namespace vitrine
