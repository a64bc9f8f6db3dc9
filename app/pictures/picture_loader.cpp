#include "app/pictures/picture_loader.h"

#include "core/image/decode.h"

#include <utility>

namespace vitrine {

PictureLoader::PictureLoader(qint64 cacheBytes, QObject* parent) : QObject(parent), m_cache(cacheBytes) {
    m_pool.setMaxThreadCount(2);
    m_pool.setObjectName(QStringLiteral("pictures"));
}

PictureLoader::~PictureLoader() {
    m_pool.waitForDone();
}

void PictureLoader::want(const QString& path, const QStringList& next) {
    m_wanted = path;
    m_waiting.clear();
    if (path.isEmpty()) return;
    m_waiting.append(path);
    for (const QString& later : next) {
        if (!m_cache.contains(later) && !m_waiting.contains(later)) m_waiting.append(later);
    }
    if (const Loaded* const known = m_cache.object(path)) {
        const Picture picture = known->picture;  // a slot may ask for another one
        Q_EMIT ready(path, picture);
    }
    startNext();
}

void PictureLoader::startNext() {
    while (!m_waiting.isEmpty() && m_running.size() < m_pool.maxThreadCount()) {
        const QString path = m_waiting.takeFirst();
        if (m_running.contains(path)) continue;
        const Loaded* const cached = m_cache.object(path);
        const FileStamp known = cached == nullptr ? FileStamp{} : cached->stamp;
        m_running.insert(path);
        // Always answered from the event loop, also when it is done before this line ends.
        m_pool.start([this, path, known] {
            QMetaObject::invokeMethod(
                this, [this, loaded = load(path, known)] { take(loaded); }, Qt::QueuedConnection);
        });
    }
}

PictureLoader::Loaded PictureLoader::load(const QString& path, const FileStamp& known) {
    Loaded loaded{path, stampOf(path), {}, {}, false};
    if (known.size >= 0 && loaded.stamp == known) {
        loaded.unchanged = true;
        return loaded;
    }
    try {
        Image image = decode_image_file(path.toStdString());
        QStringList notes;
        for (const std::string& note : image.notes) notes.append(QString::fromStdString(note));
        loaded.picture = Picture::of(toQImage(std::move(image)), std::move(notes));
        if (loaded.picture.isNull()) loaded.reason = tr("Not enough memory to show it.");
    } catch (const std::exception& error) {
        loaded.reason = reasonOf(error);
    }
    return loaded;
}

void PictureLoader::take(Loaded loaded) {
    m_running.remove(loaded.path);
    if (!loaded.unchanged) {
        const QString path = loaded.path;
        const QString reason = loaded.reason;
        const Picture picture = loaded.picture;
        m_cache.remove(path);
        if (!picture.isNull()) m_cache.insert(path, new Loaded(std::move(loaded)), picture.bytes());
        if (path == m_wanted) {
            if (picture.isNull()) {
                Q_EMIT failed(path, reason);
            } else {
                Q_EMIT ready(path, picture);
            }
        }
    }
    startNext();
}

}  // namespace vitrine
