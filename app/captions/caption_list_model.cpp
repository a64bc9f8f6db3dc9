#include "app/captions/caption_list_model.h"

#include <QDateTime>
#include <QLocale>
#include <QSet>

#include <algorithm>

namespace vitrine {
namespace {

constexpr qsizetype kSingly = 16;  // removing more rows than that is a reset

}  // namespace

QString CaptionListModel::provenanceText(const CaptionEntry& entry) {
    QStringList parts;
    if (!entry.caption.isEmpty()) {
        const captions::Provenance& from = entry.from;
        if (!from.model.empty()) {
            parts << QString::fromStdString(from.model);
            parts << tr("seed %1").arg(from.seed);
        }
        if (from.edited) parts << (from.model.empty() ? tr("written by hand") : tr("edited by hand"));
        const QDateTime time = QDateTime::fromString(QString::fromStdString(from.time), Qt::ISODate);
        if (time.isValid()) parts << QLocale().toString(time.toLocalTime(), QStringLiteral("d MMM yyyy HH:mm"));
        if (from.finish == "length") parts << tr("cut at the longest length");
        if (from.finish == "loop") parts << tr("ended because it repeated itself");
        if (entry.outdated) parts << tr("the picture has changed since");
    }
    if (!entry.note.isEmpty()) parts << entry.note;
    return parts.join(QStringLiteral(" · "));
}

CaptionListModel::CaptionListModel(std::function<QImage(const QString&)> thumbnail, QObject* parent)
    : QAbstractListModel(parent), m_thumbnail(std::move(thumbnail)) {}

int CaptionListModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

QVariant CaptionListModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const Row& row = m_rows[static_cast<std::size_t>(index.row())];
    const CaptionEntry& entry = row.entry;
    const qsizetype slash = entry.path.lastIndexOf(QLatin1Char('/'));
    switch (role) {
        case CaptionRoles::path: return entry.path;
        case Qt::DisplayRole:
        case CaptionRoles::fileName: return entry.path.mid(slash + 1);
        case CaptionRoles::folder: return entry.path.left(std::max<qsizetype>(slash, 1));
        case CaptionRoles::caption: return entry.caption;
        case CaptionRoles::state: return QVariant::fromValue(entry.state);
        case CaptionRoles::work: return QVariant::fromValue(row.work);
        case CaptionRoles::reason: return entry.reason;
        case CaptionRoles::provenance: return provenanceText(entry);
        case CaptionRoles::thumbnail: return m_thumbnail ? m_thumbnail(entry.path) : QImage();
        default: return {};
    }
}

QHash<int, QByteArray> CaptionListModel::roleNames() const {
    return {{CaptionRoles::path, "path"},          {CaptionRoles::fileName, "fileName"},
            {CaptionRoles::folder, "folder"},      {CaptionRoles::caption, "caption"},
            {CaptionRoles::state, "state"},        {CaptionRoles::work, "work"},
            {CaptionRoles::reason, "reason"},      {CaptionRoles::provenance, "provenance"},
            {CaptionRoles::thumbnail, "thumbnail"}};
}

const CaptionEntry* CaptionListModel::find(const QString& path) const {
    const auto row = m_index.constFind(path);
    return row == m_index.constEnd() ? nullptr : &m_rows[static_cast<std::size_t>(*row)].entry;
}

QStringList CaptionListModel::paths() const {
    QStringList all;
    all.reserve(static_cast<qsizetype>(m_rows.size()));
    for (const Row& row : m_rows) all << row.entry.path;
    return all;
}

void CaptionListModel::add(const QList<CaptionEntry>& entries) {
    std::vector<Row> fresh;
    QSet<QString> seen;
    for (const CaptionEntry& entry : entries) {
        if (m_index.contains(entry.path)) {
            update(entry);
        } else if (!seen.contains(entry.path)) {
            seen.insert(entry.path);
            fresh.push_back({entry});
        }
    }
    if (fresh.empty()) return;
    const std::size_t first = m_rows.size();
    beginInsertRows({}, static_cast<int>(first), static_cast<int>(first + fresh.size()) - 1);
    std::move(fresh.begin(), fresh.end(), std::back_inserter(m_rows));
    reindex(first);
    endInsertRows();
}

void CaptionListModel::update(const CaptionEntry& entry) {
    const auto row = m_index.constFind(entry.path);
    if (row == m_index.constEnd()) return;
    CaptionEntry& known = m_rows[static_cast<std::size_t>(*row)].entry;
    if (known == entry) return;
    known = entry;
    changed(*row, *row);
}

QList<CaptionEntry> CaptionListModel::remove(const QStringList& paths) {
    std::vector<int> rows;
    for (const QString& path : paths) {
        if (const auto row = m_index.constFind(path); row != m_index.constEnd()) rows.push_back(*row);
    }
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    QList<CaptionEntry> removed;
    for (const int row : rows) removed << m_rows[static_cast<std::size_t>(row)].entry;
    if (rows.empty()) return removed;

    const bool reset = std::ssize(rows) > kSingly;
    if (reset) beginResetModel();
    for (const int row : rows) m_index.remove(m_rows[static_cast<std::size_t>(row)].entry.path);
    if (reset) {
        std::erase_if(m_rows, [this](const Row& row) { return !m_index.contains(row.entry.path); });
        reindex(0);
        endResetModel();
        return removed;
    }
    for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
        beginRemoveRows({}, *row, *row);
        m_rows.erase(m_rows.begin() + *row);
        reindex(static_cast<std::size_t>(*row));
        endRemoveRows();
    }
    return removed;
}

void CaptionListModel::setWork(const QStringList& paths, CaptionWork work) {
    int first = rowCount();
    int last = -1;
    for (const QString& path : paths) {
        const auto found = m_index.constFind(path);
        if (found == m_index.constEnd()) continue;
        Row& row = m_rows[static_cast<std::size_t>(*found)];
        if (row.work == work) continue;
        row.work = work;
        first = std::min(first, *found);
        last = std::max(last, *found);
    }
    if (last >= 0) changed(first, last, {CaptionRoles::work});
}

void CaptionListModel::thumbnailChanged(const QString& path) {
    const auto row = m_index.constFind(path);
    if (row != m_index.constEnd()) changed(*row, *row, {CaptionRoles::thumbnail});
}

void CaptionListModel::changed(int first, int last, const QList<int>& roles) {
    Q_EMIT dataChanged(index(first), index(last), roles);
}

void CaptionListModel::reindex(std::size_t first) {
    for (std::size_t row = first; row < m_rows.size(); ++row)
        m_index.insert(m_rows[row].entry.path, static_cast<int>(row));
}

}  // namespace vitrine
