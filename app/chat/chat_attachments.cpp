#include "app/chat/chat_attachments.h"

#include "app/chat/chat_pictures.h"
#include "app/names.h"

#include <QFileInfo>
#include <QFuture>
#include <QThreadPool>
#include <QtConcurrentRun>

#include <algorithm>
#include <exception>
#include <utility>

namespace vitrine {

ChatAttachments::ChatAttachments(std::shared_ptr<ChatPictures> pictures, QThreadPool& pool, QObject* parent)
    : QObject(parent), m_kept(std::move(pictures)), m_pool(pool) {}

template <typename Work>
void ChatAttachments::begin(const QString& name, Work work) {
    const QString placeholder = QStringLiteral("reading-%1").arg(++m_count);
    m_pictures += TurnPicture{.key = placeholder, .name = name, .loading = true};
    Q_EMIT changed();
    struct End {
        QString key;
        QString problem;
    };
    QtConcurrent::run(&m_pool, [kept = m_kept, work = std::move(work)]() -> End {
        try {
            return {work(*kept).key, {}};
        } catch (const std::exception& error) {
            return {{}, wordsOf(error)};
        }
    }).then(this, [this, placeholder](const End& result) { end(placeholder, result.key, result.problem); });
}

void ChatAttachments::refuse(const QString& name, const QString& problem) {
    m_pictures += TurnPicture{.key = QStringLiteral("refused-%1").arg(++m_count), .name = name, .problem = problem};
    Q_EMIT changed();
}

void ChatAttachments::end(const QString& placeholder, const QString& key, const QString& problem) {
    const auto row = std::find_if(m_pictures.begin(), m_pictures.end(),
                                  [&](const TurnPicture& picture) { return picture.key == placeholder; });
    if (row == m_pictures.end()) return;  // removed meanwhile
    const bool twice = !key.isEmpty() && std::any_of(m_pictures.begin(), m_pictures.end(),
                                                     [&](const TurnPicture& picture) { return picture.key == key; });
    if (twice) {
        m_pictures.erase(row);
    } else {
        row->loading = false;
        row->problem = problem;
        if (problem.isEmpty()) row->key = key;
    }
    Q_EMIT changed();
}

void ChatAttachments::add(const QList<QUrl>& urls) {
    for (const QUrl& url : urls) {
        if (!url.isLocalFile()) {
            refuse(url.toDisplayString(), tr("A web address: save the picture and add the file."));
            continue;
        }
        const QString file = url.toLocalFile();
        begin(QFileInfo(file).fileName(), [file](ChatPictures& kept) { return kept.keep(file); });
    }
}

void ChatAttachments::add(const QImage& picture) {
    begin(tr("Pasted picture"), [picture](ChatPictures& kept) { return kept.keep(picture); });
}

void ChatAttachments::remove(const QString& key) {
    if (m_pictures.removeIf([&key](const TurnPicture& picture) { return picture.key == key; }) > 0) Q_EMIT changed();
}

QList<ChatPicture> ChatAttachments::take() {
    QList<ChatPicture> taken;
    for (const TurnPicture& picture : std::exchange(m_pictures, {})) {
        if (picture.problem.isEmpty() && !picture.loading) taken += {picture.key, picture.name};
    }
    Q_EMIT changed();
    return taken;
}

}  // namespace vitrine
