#pragma once

#include "app/captions/caption_entry.h"

#include <QAbstractListModel>
#include <QHash>
#include <QImage>
#include <QStringList>

#include <functional>
#include <vector>

namespace vitrine {

// The pictures of the list, in the order they were added, with the roles of ui/captions/roles.h. Everything is in
// memory: asking for a role never waits. Lives on the UI thread.
class CaptionListModel : public QAbstractListModel {
    Q_OBJECT

public:
    // `thumbnail` looks one up in memory and returns a null picture where there is none yet.
    explicit CaptionListModel(std::function<QImage(const QString& path)> thumbnail, QObject* parent = nullptr);

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QHash<int, QByteArray> roleNames() const override;

    const CaptionEntry* find(const QString& path) const;  // null when it is not listed; until the next change
    QStringList paths() const;

    void add(const QList<CaptionEntry>& entries);  // those listed already are updated
    void update(const CaptionEntry& entry);        // nothing when it is not listed
    QList<CaptionEntry> remove(const QStringList& paths);

    // One line for people: "demo · seed 0 · 30 Nov 2025 16:20".
    static QString provenanceText(const CaptionEntry& entry);

    void setWork(const QStringList& paths, CaptionWork work);
    void thumbnailChanged(const QString& path);

private:
    struct Row {
        CaptionEntry entry;
        CaptionWork work = CaptionWork::idle;
    };
    void changed(int first, int last, const QList<int>& roles = {});
    void reindex(std::size_t first);

    std::function<QImage(const QString&)> m_thumbnail;
    std::vector<Row> m_rows;
    QHash<QString, int> m_index;  // by path
};

}  // namespace vitrine
