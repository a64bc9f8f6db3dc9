#include "ui/models/rows_model.h"

#include "ui/theme.h"

#include <QGuiApplication>
#include <QHeaderView>
#include <QPalette>
#include <QTableView>

#include <algorithm>
#include <utility>

namespace vitrine {
namespace {

constexpr int kMostLetters = 56;  // of a column at first

}  // namespace

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
    if (role == Qt::TextAlignmentRole) {
        const bool right = !m_rows.isEmpty() && m_rows.first()[section].right;
        return QVariant::fromValue((right ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    }
    return {};
}

void setUpTable(QTableView& table, const QString& name) {
    table.setAccessibleName(name);
    table.setSelectionBehavior(QAbstractItemView::SelectRows);
    table.setEditTriggers(QAbstractItemView::NoEditTriggers);
    table.setShowGrid(false);
    table.setWordWrap(false);
    table.setTextElideMode(Qt::ElideMiddle);
    table.setTabKeyNavigation(false);
    table.setStyleSheet(
        QStringLiteral("QHeaderView { border: none; }"
                       "QTableView::item { border: none; padding: 0 5px; }"
                       "QTableView::item:selected { background: palette(highlight);"
                       " color: palette(highlighted-text); }"));
    table.verticalHeader()->hide();
    table.verticalHeader()->setDefaultSectionSize(table.fontMetrics().height() + theme::kSpace);
    table.horizontalHeader()->setHighlightSections(false);
    table.horizontalHeader()->setStretchLastSection(true);
}

void fitColumns(QTableView& table) {
    table.resizeColumnsToContents();
    const int most = table.fontMetrics().averageCharWidth() * kMostLetters;
    for (int column = 0; column < table.model()->columnCount(); ++column)
        table.setColumnWidth(column, std::min(table.columnWidth(column) + theme::kSpace, most));
}

}  // namespace vitrine
