#include "app/captions/picture_intake.h"

#include "app/activity.h"

#include <QDateTime>
#include <QDir>
#include <QSaveFile>
#include <QtConcurrent/QtConcurrentRun>

namespace vitrine {
namespace {

struct Pasted {
    QString path;
    QString fault;
};

Pasted writePasted(const QString& folder, const DropData& data) {
    const QString suffix = data.imageBytes.isEmpty() ? QStringLiteral("png") : data.imageSuffix;
    const QString stem = QDateTime::currentDateTime().toString(QStringLiteral("yyyy-MM-dd HH.mm.ss.zzz"));
    const QString path = QStringLiteral("%1/Pasted %2.%3").arg(folder, stem, suffix);
    QDir().mkpath(folder);
    QSaveFile file(path);
    const bool written = file.open(QIODevice::WriteOnly) &&
                         (data.imageBytes.isEmpty() ? data.image.save(&file, "PNG")
                                                    : file.write(data.imageBytes) == data.imageBytes.size()) &&
                         file.commit();
    return {path, written ? QString() : PictureIntake::tr("%1 could not be written: %2").arg(path, file.errorString())};
}

}  // namespace

PictureIntake::PictureIntake(ActivityList& activities, QString pastedFolder, QObject* parent)
    : QObject(parent), m_activities(activities), m_pastedFolder(std::move(pastedFolder)) {
    connect(&m_scanner, &FolderScanner::found, this, &PictureIntake::take);
    connect(&m_scanner, &FolderScanner::finished, this, &PictureIntake::end);
}

PictureIntake::~PictureIntake() {
    m_writer.waitForDone();
}

void PictureIntake::open(const QStringList& paths) {
    if (!paths.isEmpty()) begin(paths, false);
}

void PictureIntake::open(const DropData& data) {
    open(data.files + data.folders);
    if (data.hasImage()) savePasted(data);
    if (!data.refusals.isEmpty()) Q_EMIT warned(data.refusals.join(QStringLiteral(". ")));
}

void PictureIntake::recheck(const QStringList& paths) {
    begin(paths, true);
}

void PictureIntake::begin(const QStringList& paths, bool quiet) {
    m_searches.push_back({.quiet = quiet});
    m_scanner.start(paths);
}

void PictureIntake::take(const QList<FoundPicture>& batch) {
    Search& search = m_searches.front();  // each has its end after its last batch
    const bool first = !search.quiet && search.pictures == 0;
    search.pictures += static_cast<int>(batch.size());
    if (!search.quiet) {
        for (const FoundPicture& picture : batch) {
            if (picture.stamp.size < 0) search.missing << picture.path;
        }
        if (!m_activity && batch.size() > 1) {
            m_activity = m_activities.begin(tr("Looking for pictures"));
            connect(m_activity.get(), &Activity::stopRequested, &m_scanner, &FolderScanner::stop);
        }
        if (m_activity) m_activity->setDetail(tr("%1 found").arg(search.pictures));
    }
    Q_EMIT found(batch, first);
}

void PictureIntake::end(const ScanSummary& summary) {
    m_activity.reset();
    const Search search = std::move(m_searches.front());
    m_searches.pop_front();
    if (search.quiet) return;
    QStringList problems = summary.problems;
    for (const QString& path : search.missing) problems << tr("%1 is not there").arg(path);
    if (problems.size() == 1) {
        Q_EMIT warned(problems.first());
    } else if (!problems.isEmpty()) {
        Q_EMIT warned(tr("%1 things could not be opened, the first: %2").arg(problems.size()).arg(problems.first()));
    } else if (summary.pictures == 0) {
        Q_EMIT told(tr("No pictures were found there."));
    }
}

void PictureIntake::savePasted(const DropData& data) {
    QtConcurrent::run(&m_writer, writePasted, m_pastedFolder, data).then(this, [this](const Pasted& pasted) {
        if (pasted.fault.isEmpty()) {
            open({pasted.path});
        } else {
            Q_EMIT warned(pasted.fault);
        }
    });
}

}  // namespace vitrine
