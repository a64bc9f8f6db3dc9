#pragma once

#include "app/pictures/picture_file.h"
#include "ui/pictures/picture.h"

#include <QCache>
#include <QObject>
#include <QSet>
#include <QStringList>
#include <QThreadPool>

namespace vitrine {

// Makes pictures ready to be shown, as the model sees them (upright, alpha on white, CMYK converted), on two threads of
// its own: one may still be busy with a large picture that is no longer wanted while the next one begins. Lives on the
// UI thread and touches no file there. What was decoded stays in a cache bounded in bytes; a cached picture is shown at
// once and replaced when its file has changed meanwhile.
class PictureLoader : public QObject {
    Q_OBJECT

public:
    explicit PictureLoader(qint64 cacheBytes = 384LL << 20, QObject* parent = nullptr);
    ~PictureLoader() override;

    // The picture to show, and those that will probably be next, nearest first. What was wanted before and has not
    // begun is forgotten. An empty path: none. The answer may come before this returns.
    void want(const QString& path, const QStringList& next = {});

    qint64 cachedBytes() const { return m_cache.totalCost(); }

Q_SIGNALS:
    // Only ever of the path wanted last; ready() comes again when the file was found changed.
    void ready(const QString& path, const vitrine::Picture& picture);
    void failed(const QString& path, const QString& reason);

private:
    struct Loaded {
        QString path;
        FileStamp stamp;
        Picture picture;  // null when it was not read again, or failed
        QString reason;   // why it failed
        bool unchanged = false;
    };

    static Loaded load(const QString& path, const FileStamp& known);
    void startNext();
    void take(Loaded loaded);

    QString m_wanted;
    QStringList m_waiting;  // to be read, first one first
    QSet<QString> m_running;
    QCache<QString, Loaded> m_cache;  // by path; the cost is in bytes
    QThreadPool m_pool;
};

}  // namespace vitrine
