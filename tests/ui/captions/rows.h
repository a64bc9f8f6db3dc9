#pragma once

#include "ui/captions/roles.h"

#include <QAbstractListModel>
#include <QImage>
#include <QSet>
#include <QString>

#include <vector>

namespace vitrine::test {

struct Row {
    QString path;
    QString caption = {};
    CaptionState state = CaptionState::none;
    CaptionWork work = CaptionWork::idle;
    QString reason = {};
    QString provenance = {};
    QImage thumbnail = {};
};

// A list of pictures that are not there. Remembers which thumbnails were looked up.
class Rows : public QAbstractListModel {
public:
    std::vector<Row> rows;
    mutable QSet<int> drawn;

    static Row row(const QString& name, const QString& caption = {}, CaptionState state = CaptionState::none) {
        Row made;
        made.path = QStringLiteral("/pictures/") + name;
        made.caption = caption;
        made.state = state;
        return made;
    }

    static std::vector<Row> many(int count) {
        std::vector<Row> made;
        made.reserve(std::size_t(count));
        for (int i = 0; i < count; ++i) {
            made.push_back(row(QStringLiteral("picture %1.jpg").arg((i * 7919) % count),
                               i % 3 ? QStringLiteral("a %1 circle above a square, number %2")
                                           .arg(i % 2 ? QStringLiteral("red") : QStringLiteral("blue"))
                                           .arg(i)
                                     : QString(),
                               i % 3 ? CaptionState::machine : CaptionState::none));
        }
        return made;
    }

    int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : int(rows.size()); }

    QVariant data(const QModelIndex& index, int role) const override {
        const Row& row = rows[std::size_t(index.row())];
        switch (role) {
            case CaptionRoles::path: return row.path;
            case CaptionRoles::fileName: return row.path.section(QLatin1Char('/'), -1);
            case CaptionRoles::folder: return row.path.section(QLatin1Char('/'), 0, -2);
            case CaptionRoles::caption: return row.caption;
            case CaptionRoles::state: return QVariant::fromValue(row.state);
            case CaptionRoles::work: return QVariant::fromValue(row.work);
            case CaptionRoles::reason: return row.reason;
            case CaptionRoles::provenance: return row.provenance;
            case CaptionRoles::thumbnail: drawn.insert(index.row()); return row.thumbnail;
            default: return {};
        }
    }

    void reset(std::vector<Row> fresh) {
        beginResetModel();
        rows = std::move(fresh);
        endResetModel();
    }

    void insert(int at, std::vector<Row> fresh) {
        beginInsertRows({}, at, at + int(fresh.size()) - 1);
        rows.insert(rows.begin() + at, fresh.begin(), fresh.end());
        endInsertRows();
    }

    void remove(int first, int count) {
        beginRemoveRows({}, first, first + count - 1);
        rows.erase(rows.begin() + first, rows.begin() + first + count);
        endRemoveRows();
    }

    int find(const QString& path) const {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (rows[i].path == path) return int(i);
        }
        return -1;
    }

    template <typename Change>
    void change(int row, Change change) {
        change(rows[std::size_t(row)]);
        Q_EMIT dataChanged(index(row), index(row));
    }

    // What the store does with captionEdited().
    void edit(const QString& path, const QString& text) {
        change(find(path), [&](Row& row) {
            row.caption = text;
            row.state = text.isEmpty() ? CaptionState::none : CaptionState::edited;
        });
    }
};

}  // namespace vitrine::test
