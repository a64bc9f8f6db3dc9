#pragma once

#include "core/types.h"

#include <QByteArray>
#include <QCache>
#include <QImage>
#include <QSet>
#include <QString>

#include <mutex>
#include <utility>

namespace vitrine {

// The pictures of the chats: the bytes of each file, kept once under the name of their SHA-256, whatever becomes of the
// original. Decoded pictures are cached by that name, so that every turn hands the model the same pixels and a file
// that was replaced cannot slip in. Safe to use from any thread; throws Error when a picture cannot be read.
class ChatPictures {
public:
    explicit ChatPictures(QString folder);

    struct Kept {
        QString key;
        ImagePtr image;
    };
    Kept keep(const QString& file);    // reads, decodes and keeps it
    Kept keep(const QImage& picture);  // pasted: kept as PNG

    // The picture, from the cache or from what was kept. A kept file that was changed or lost is an error.
    ImagePtr decoded(const QString& key);
    // The same for a look: does not push what the conversation needs out of the cache.
    QImage thumbnail(const QString& key, int side);

    QString pathOf(const QString& key) const;
    // Deletes what nothing refers to. What was kept by this object stays: its message may not be written yet.
    void collect(const QSet<QString>& inUse);

private:
    Kept keepBytes(const std::string& bytes, const QString& name);
    ImagePtr cached(const QString& key);
    void remember(const QString& key, const ImagePtr& image);
    ImagePtr read(const QString& key) const;

    QString m_folder;
    std::mutex m_mutex;
    QSet<QString> m_kept;               // names of files written or found by keep(); guarded by m_mutex
    QCache<QString, ImagePtr> m_cache;  // decoded, by key; the cost is in bytes; guarded by m_mutex
};

}  // namespace vitrine
