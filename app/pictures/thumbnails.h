#pragma once

#include "app/pictures/picture_file.h"

#include <QCache>
#include <QImage>
#include <QObject>
#include <QSet>
#include <QStringList>
#include <QThreadPool>

namespace vitrine {

// Small copies of pictures for lists. They are made on a few threads of its own and only for what is in view: each
// want() replaces what was wanted before. Looking one up costs nothing. Kept in memory up to a bound, and on disk as
// JPEG files named by path, size and time of the picture, so that a changed picture gets a new one; the folder may be
// deleted at any time. Lives on the UI thread. A picture that cannot be read is told once and not tried again until its
// turn comes in another view.
class Thumbnails : public QObject {
    Q_OBJECT

public:
    explicit Thumbnails(QString cacheFolder, qint64 memoryBytes = 128LL << 20, QObject* parent = nullptr);
    ~Thumbnails() override;

    // From memory, or null. The longer side has at most the edge asked for (rounded up, see want()), in device pixels;
    // a smaller picture is not enlarged.
    QImage find(const QString& path) const;

    // Those in view, in the order they are to be made. `edge` is rounded up to 128, 256 or 512, so that two screens
    // share one cache.
    void want(const QStringList& paths, int edge);

    // Deletes the files used least lately until the folder holds at most `bytes`; runs behind what is wanted.
    void prune(qint64 bytes = 512LL << 20);

    qint64 cachedBytes() const { return m_cache.totalCost(); }

Q_SIGNALS:
    void ready(const QString& path);
    void failed(const QString& path, const QString& reason);

private:
    struct Made {
        QString path;
        int edge = 0;
        QImage image;
        QString reason;
    };

    static Made make(const QString& folder, const QString& path, int edge);
    void startNext();
    void take(const Made& made);

    QString m_folder;
    QStringList m_waiting;
    int m_edge = 256;
    QSet<QString> m_running;
    QSet<QString> m_failed;         // of those wanted now
    QCache<QString, Made> m_cache;  // by path; the cost is in bytes
    QThreadPool m_pool;
};

}  // namespace vitrine
