#pragma once

#include "ui/captions/roles.h"

#include <QAbstractProxyModel>
#include <QList>
#include <QStringMatcher>
#include <QTimer>

#include <array>
#include <memory>
#include <optional>
#include <vector>

namespace vitrine {

enum class CaptionShow : std::uint8_t { all, missing, machine, edited, failed, waiting };
enum class CaptionOrder : std::uint8_t { added, name, folder, state, length };

// How many pictures there are of each state, whether shown or not.
struct CaptionCounts {
    int total = 0;
    std::array<int, 4> byState{};  // by CaptionState
    int of(CaptionState state) const { return byState[std::size_t(state)]; }
    bool operator==(const CaptionCounts&) const = default;
};

// What somebody typed into the search box: every word must occur in the name or the caption, none of those behind a
// minus; "words in quotes" stay together.
class CaptionSearch {
public:
    explicit CaptionSearch(const QString& text = {});
    bool isEmpty() const { return m_terms.isEmpty(); }
    bool matches(const QString& name, const QString& caption) const;

private:
    struct Term {
        QStringMatcher matcher;
        bool excluded;
    };
    QList<Term> m_terms;
};

// Searches, filters and sorts a flat list of pictures without ever holding up the UI thread: the rows are gone through
// in slices of a few milliseconds, while the old arrangement stays in place, and the new one comes as a model reset. A
// row that is shown stays shown when its caption changes, so that what somebody just edited does not vanish from under
// the cursor; rows that begin to match come in at once.
class CaptionFilter : public QAbstractProxyModel {
    Q_OBJECT

public:
    explicit CaptionFilter(QObject* parent = nullptr);
    ~CaptionFilter() override;

    void setSearch(const QString& text);
    void setShow(CaptionShow show);
    void setOrder(CaptionOrder order);
    CaptionShow show() const { return m_show; }
    CaptionOrder order() const { return m_order; }

    bool isArranging() const { return m_pass != nullptr; }
    bool hidesSome() const { return m_show != CaptionShow::all || !m_search.isEmpty(); }
    const CaptionCounts& counts() const { return m_counts; }

    void setSourceModel(QAbstractItemModel* model) override;
    // Adds what screen readers, tooltips and typing a name in the list need.
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QModelIndex mapToSource(const QModelIndex& index) const override;
    QModelIndex mapFromSource(const QModelIndex& index) const override;
    QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    QModelIndex parent(const QModelIndex& child) const override;
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;

Q_SIGNALS:
    void countsChanged();
    void arranged();  // a pass has ended

private:
    struct Pass;

    void connectSource();
    void reset();
    void startPass();
    void runSlice();
    void finishPass();
    bool matches(int sourceRow) const;
    QVariant value(int sourceRow, int role) const;
    void admit(int first, int last);
    void sourceInserted(int first, int last);
    void sourceRemoving(int first, int last);
    void sourceRemoved(int first, int last);
    void sourceChanged(int first, int last, const QList<int>& roles);
    void countRow(int sourceRow);
    void indexFrom(int shownRow);

    CaptionSearch m_search;
    CaptionShow m_show = CaptionShow::all;
    CaptionOrder m_order = CaptionOrder::added;
    std::vector<int> m_shown;                           // source row of each row shown
    std::vector<int> m_place;                           // by source row: where it is shown, or -1
    std::vector<std::optional<CaptionState>> m_states;  // by source row; absent until counted
    CaptionCounts m_counts;
    std::unique_ptr<Pass> m_pass;
    QTimer m_slices;
    QTimer m_again;  // sorts rows in that were put at the end
    QList<QMetaObject::Connection> m_connections;
};

}  // namespace vitrine
