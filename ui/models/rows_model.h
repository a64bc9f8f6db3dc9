#pragma once

#include <QAbstractTableModel>
#include <QList>
#include <QStringList>
#include <QVariant>

class QTableView;

namespace vitrine {

// A table of texts, some of which sort by a number instead. Values are given whole and never change.
class RowsModel : public QAbstractTableModel {
    Q_OBJECT

public:
    static constexpr int kSortRole = Qt::UserRole + 1;

    struct Cell {
        QString text;
        QVariant sort = {};  // invalid: by the text
        bool muted = false;  // second-rank
        bool right = false;  // aligned to the right
    };

    RowsModel(QStringList headers, QObject* parent);
    void setRows(QList<QList<Cell>> rows);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    QStringList m_headers;
    QList<QList<Cell>> m_rows;
};

// How every table of this place looks and behaves.
void setUpTable(QTableView& table, const QString& name);
void fitColumns(QTableView& table);  // to their contents, within reason

}  // namespace vitrine
