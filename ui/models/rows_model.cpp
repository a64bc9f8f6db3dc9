#include "ui/models/rows_model.h"

#include "ui/theme.h"

#include <QGuiApplication>
#include <QPalette>

#include <utility>

namespace vitrine {

RowsModel::RowsModel(QStringList headers, QObject* parent)
    : QAbstractTableModel(parent), m_headers(std::move(headers)) {}

void RowsModel::setRows(QList<QList<Cell>> rows) {
    beginResetModel();
    m_rows = std::move(rows);
    endResetModel();
}

int RowsModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int RowsModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_headers.size());
}

QVariant RowsModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const Cell& cell = m_rows[index.row()][index.column()];
    switch (role) {
        case Qt::DisplayRole:
        case Qt::ToolTipRole:
        case Qt::AccessibleTextRole: return cell.text;
        case kSortRole: return cell.sort.isValid() ? cell.sort : QVariant(cell.text);
        case Qt::TextAlignmentRole:
            return QVariant::fromValue(cell.right ? Qt::AlignRight | Qt::AlignVCenter
                                                  : Qt::AlignLeft | Qt::AlignVCenter);
        case Qt::ForegroundRole:
            return cell.muted ? QVariant(theme::colors(QGuiApplication::palette()).muted) : QVariant();
        default: return {};
    }
}

QVariant RowsModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::DisplayRole) return m_headers[section];
    if (role == Qt::TextAlignmentRole) return QVariant::fromValue(Qt::AlignLeft | Qt::AlignVCenter);
    return {};
}

}  // namespace vitrine
