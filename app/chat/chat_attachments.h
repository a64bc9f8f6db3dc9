#pragma once

#include "app/chat/chat_tree.h"

#include <QImage>
#include <QList>
#include <QObject>
#include <QUrl>

#include <memory>

class QThreadPool;

namespace vitrine {

class ChatPictures;

// The pictures of the message that is being written. Each is read, decoded and kept the moment it is offered, on the
// pool, so that what is sent is what was seen; one that cannot be used stays with its reason. Lives on the UI thread.
class ChatAttachments : public QObject {
    Q_OBJECT

public:
    ChatAttachments(std::shared_ptr<ChatPictures> pictures, QThreadPool& pool, QObject* parent = nullptr);

    void add(const QList<QUrl>& urls);
    void add(const QImage& picture);
    void remove(const QString& key);
    QList<ChatPicture> take();  // the usable ones; none are left
    const QList<TurnPicture>& all() const { return m_pictures; }

Q_SIGNALS:
    void changed();

private:
    // A row that waits for work() to keep the picture.
    template <typename Work>
    void begin(const QString& name, Work work);
    void refuse(const QString& name, const QString& problem);
    void end(const QString& placeholder, const QString& key, const QString& problem);

    std::shared_ptr<ChatPictures> m_kept;
    QThreadPool& m_pool;
    QList<TurnPicture> m_pictures;
    int m_count = 0;
};

}  // namespace vitrine
