#pragma once

#include "ui/models/values.h"

#include <QHash>
#include <QTreeView>

class QStandardItem;
class QStandardItemModel;

namespace vitrine {

// Models, checkpoints, projectors and downloads in groups. A row that only changes its words or its progress stays
// where it is, so selection and scrolling survive a download that ticks. Groups without rows are not shown; those that
// cannot be used are folded at first.
class ModelList : public QTreeView {
    Q_OBJECT

public:
    explicit ModelList(QWidget* parent = nullptr);

    void setEntries(const QList<ModelEntry>& entries);
    void select(const QString& id);
    QString current() const;

Q_SIGNALS:
    void entrySelected(const QString& id);   // empty: the one that was selected is gone
    void entryActivated(const QString& id);  // Return or double click

private:
    void rebuild(const QList<ModelEntry>& entries);
    void update(QStandardItem& item, const ModelEntry& entry);
    QStandardItem* find(const QString& id) const;

    QStandardItemModel* m_model;
    QStringList m_order;  // groups and ids as they stand
    QHash<int, bool> m_folded;
    bool m_rebuilding = false;
};

}  // namespace vitrine
