#include "ui/captions/caption_filter.h"

#include "ui/captions/state_text.h"

#include <QCollator>
#include <QElapsedTimer>

#include <algorithm>
#include <utility>

namespace vitrine {
namespace {

constexpr qint64 kSliceMs = 6;
constexpr int kRowsBetweenLooks = 64;      // at the clock
constexpr std::size_t kRun = 512;          // rows sorted in one go; runs are merged afterwards
constexpr std::size_t kRunsToRemove = 16;  // more of them are told as a reset
constexpr int kSettleMs = 150;

}  // namespace

CaptionSearch::CaptionSearch(const QString& text) {
    qsizetype at = 0;
    while (at < text.size()) {
        if (text[at].isSpace()) {
            ++at;
            continue;
        }
        const bool excluded = text[at] == QLatin1Char('-') && at + 1 < text.size() && !text[at + 1].isSpace();
        if (excluded) ++at;
        const bool quoted = text[at] == QLatin1Char('"');
        const qsizetype begin = quoted ? at + 1 : at;
        qsizetype end = begin;
        while (end < text.size() && (quoted ? text[end] != QLatin1Char('"') : !text[end].isSpace())) ++end;
        if (end > begin) m_terms.append({QStringMatcher(text.mid(begin, end - begin), Qt::CaseInsensitive), excluded});
        at = end + (quoted ? 1 : 0);
    }
}

bool CaptionSearch::matches(const QString& name, const QString& caption) const {
    return std::all_of(m_terms.begin(), m_terms.end(), [&](const Term& term) {
        const bool found = term.matcher.indexIn(name) >= 0 || term.matcher.indexIn(caption) >= 0;
        return found != term.excluded;
    });
}

// One going through all rows: first each row is looked at, then those that match are sorted (short runs, then merges),
// all of it in steps that can be interrupted.
struct CaptionFilter::Pass {
    explicit Pass(CaptionOrder by) : order(by), collator(collation()) { collator.setNumericMode(true); }

    // The plain "C" locale has no order of words and numbers.
    static QLocale collation() { return QLocale().language() == QLocale::C ? QLocale(QLocale::English) : QLocale(); }

    bool before(int a, int b) const {
        if (order == CaptionOrder::state || order == CaptionOrder::length) {
            if (numbers[a] != numbers[b]) return numbers[a] < numbers[b];
        } else if (order != CaptionOrder::added) {
            const int compared = texts[a].compare(texts[b]);
            if (compared != 0) return compared < 0;
        }
        return rows[a] < rows[b];
    }

    // Does one step; false when everything is in order.
    bool sortStep() {
        const std::size_t count = ordered.size();
        const auto begin = ordered.begin();
        const auto less = [this](int a, int b) { return before(a, b); };
        if (width == 0) {  // runs
            const std::size_t end = std::min(at + kRun, count);
            std::sort(begin + std::ptrdiff_t(at), begin + std::ptrdiff_t(end), less);
            at = end;
            if (at < count) return true;
            width = kRun;
            at = 0;
            merged.resize(count);
            return width < count;
        }
        const std::size_t middle = std::min(at + width, count);
        const std::size_t end = std::min(at + 2 * width, count);
        std::merge(begin + std::ptrdiff_t(at), begin + std::ptrdiff_t(middle), begin + std::ptrdiff_t(middle),
                   begin + std::ptrdiff_t(end), merged.begin() + std::ptrdiff_t(at), less);
        at = end;
        if (at < count) return true;
        ordered.swap(merged);
        width *= 2;
        at = 0;
        return width < count;
    }

    CaptionOrder order;
    QCollator collator;
    int next = 0;                         // source row to look at
    std::vector<int> rows;                // source rows that match
    std::vector<QCollatorSortKey> texts;  // of each of them, where it is sorted by text
    std::vector<qsizetype> numbers;       // or by number
    std::vector<int> ordered;             // positions in rows
    std::vector<int> merged;
    std::vector<int> late;  // source rows that changed behind our back
    std::size_t width = 0;  // of the sorted runs; 0 while they are made
    std::size_t at = 0;
    bool sorting = false;
};

CaptionFilter::CaptionFilter(QObject* parent) : QAbstractProxyModel(parent) {
    m_slices.setInterval(0);
    connect(&m_slices, &QTimer::timeout, this, &CaptionFilter::runSlice);
    m_again.setSingleShot(true);
    m_again.setInterval(kSettleMs);
    connect(&m_again, &QTimer::timeout, this, &CaptionFilter::startPass);
}

CaptionFilter::~CaptionFilter() = default;

void CaptionFilter::setSearch(const QString& text) {
    m_search = CaptionSearch(text);
    startPass();
}

void CaptionFilter::setShow(CaptionShow show) {
    m_show = show;
    startPass();
}

void CaptionFilter::setOrder(CaptionOrder order) {
    if (std::exchange(m_order, order) != order) startPass();
}

void CaptionFilter::setSourceModel(QAbstractItemModel* model) {
    for (const QMetaObject::Connection& connection : std::as_const(m_connections)) disconnect(connection);
    m_connections.clear();
    beginResetModel();
    QAbstractProxyModel::setSourceModel(model);
    reset();
    endResetModel();
    if (model != nullptr) connectSource();
}

void CaptionFilter::connectSource() {
    const auto* source = sourceModel();
    const auto again = [this] {
        reset();
        endResetModel();
    };
    m_connections = {
        connect(source, &QAbstractItemModel::rowsInserted, this,
                [this](const QModelIndex&, int first, int last) { sourceInserted(first, last); }),
        connect(source, &QAbstractItemModel::rowsAboutToBeRemoved, this,
                [this](const QModelIndex&, int first, int last) { sourceRemoving(first, last); }),
        connect(source, &QAbstractItemModel::rowsRemoved, this,
                [this](const QModelIndex&, int first, int last) { sourceRemoved(first, last); }),
        connect(source, &QAbstractItemModel::dataChanged, this,
                [this](const QModelIndex& first, const QModelIndex& last, const QList<int>& roles) {
                    sourceChanged(first.row(), last.row(), roles);
                }),
        connect(source, &QAbstractItemModel::modelAboutToBeReset, this, [this] { beginResetModel(); }),
        connect(source, &QAbstractItemModel::modelReset, this, again),
        connect(source, &QAbstractItemModel::layoutAboutToBeChanged, this, [this] { beginResetModel(); }),
        connect(source, &QAbstractItemModel::layoutChanged, this, again),
        connect(source, &QAbstractItemModel::rowsAboutToBeMoved, this, [this] { beginResetModel(); }),
        connect(source, &QAbstractItemModel::rowsMoved, this, again),
        connect(source, &QObject::destroyed, this,
                [this, again] {
                    beginResetModel();
                    again();
                }),
    };
}

// Nothing is known about the source's rows, and going through them begins; between beginResetModel() and
// endResetModel(), so that isArranging() already tells whoever hears of the reset that the rows are still to come.
void CaptionFilter::reset() {
    const std::size_t count = sourceModel() != nullptr ? std::size_t(sourceModel()->rowCount()) : 0;
    m_shown.clear();
    m_place.assign(count, -1);
    m_states.assign(count, std::nullopt);
    m_counts = {};
    m_counts.total = int(count);
    startPass();
}

QVariant CaptionFilter::value(int sourceRow, int role) const {
    return sourceModel()->index(sourceRow, 0).data(role);
}

bool CaptionFilter::matches(int sourceRow) const {
    const CaptionState state = m_states[std::size_t(sourceRow)].value_or(CaptionState::none);
    switch (m_show) {
        case CaptionShow::all: break;
        case CaptionShow::missing:
            if (state != CaptionState::none && state != CaptionState::failed) return false;
            if (state == CaptionState::failed && !value(sourceRow, CaptionRoles::caption).toString().isEmpty())
                return false;
            break;
        case CaptionShow::machine:
            if (state != CaptionState::machine) return false;
            break;
        case CaptionShow::edited:
            if (state != CaptionState::edited) return false;
            break;
        case CaptionShow::failed:
            if (state != CaptionState::failed) return false;
            break;
        case CaptionShow::waiting:
            if (value(sourceRow, CaptionRoles::work).value<CaptionWork>() == CaptionWork::idle) return false;
            break;
    }
    return m_search.isEmpty() || m_search.matches(value(sourceRow, CaptionRoles::fileName).toString(),
                                                  value(sourceRow, CaptionRoles::caption).toString());
}

void CaptionFilter::countRow(int sourceRow) {
    auto& known = m_states[std::size_t(sourceRow)];
    if (known) --m_counts.byState[std::size_t(*known)];
    known = value(sourceRow, CaptionRoles::state).value<CaptionState>();
    ++m_counts.byState[std::size_t(*known)];
}

void CaptionFilter::startPass() {
    m_again.stop();
    m_pass = std::make_unique<Pass>(m_order);
    m_slices.start();
}

void CaptionFilter::runSlice() {
    QElapsedTimer clock;
    clock.start();
    Pass& pass = *m_pass;
    const int count = int(m_place.size());
    while (pass.next < count) {
        const int row = pass.next++;
        countRow(row);
        if (matches(row)) {
            pass.rows.push_back(row);
            switch (pass.order) {
                case CaptionOrder::added: break;
                case CaptionOrder::name:
                    pass.texts.push_back(pass.collator.sortKey(value(row, CaptionRoles::fileName).toString()));
                    break;
                case CaptionOrder::folder:
                    pass.texts.push_back(pass.collator.sortKey(value(row, CaptionRoles::path).toString()));
                    break;
                case CaptionOrder::state: pass.numbers.push_back(qsizetype(*m_states[std::size_t(row)])); break;
                case CaptionOrder::length:
                    pass.numbers.push_back(value(row, CaptionRoles::caption).toString().size());
                    break;
            }
        }
        if (row % kRowsBetweenLooks == 0 && clock.elapsed() >= kSliceMs) return;
    }
    if (!std::exchange(pass.sorting, true)) {
        pass.ordered.resize(pass.rows.size());
        for (std::size_t i = 0; i < pass.ordered.size(); ++i) pass.ordered[i] = int(i);
    }
    if (pass.order != CaptionOrder::added) {
        while (pass.sortStep()) {
            if (clock.elapsed() >= kSliceMs) return;
        }
    }
    finishPass();
}

void CaptionFilter::finishPass() {
    const std::unique_ptr<Pass> pass = std::move(m_pass);
    m_slices.stop();
    std::vector<int> shown;
    shown.reserve(pass->ordered.size());
    for (const int position : pass->ordered) shown.push_back(pass->rows[std::size_t(position)]);
    if (shown != m_shown) {
        beginResetModel();
        m_shown = std::move(shown);
        std::fill(m_place.begin(), m_place.end(), -1);
        indexFrom(0);
        endResetModel();
    }
    for (const int row : pass->late) admit(row, row);
    Q_EMIT countsChanged();
    Q_EMIT arranged();
}

void CaptionFilter::indexFrom(int shownRow) {
    for (std::size_t row = std::size_t(shownRow); row < m_shown.size(); ++row)
        m_place[std::size_t(m_shown[row])] = int(row);
}

// Puts those of the source's rows that match and are not shown yet into the arrangement: in their place where that is
// the order of adding, else at the end until the next pass.
void CaptionFilter::admit(int first, int last) {
    std::vector<int> rows;
    for (int row = first; row <= last; ++row) {
        if (m_place[std::size_t(row)] < 0 && matches(row)) rows.push_back(row);
    }
    if (rows.empty()) return;
    const bool inPlace = m_order == CaptionOrder::added;
    const auto at = inPlace ? std::lower_bound(m_shown.begin(), m_shown.end(), rows.front()) : m_shown.end();
    const int begin = int(at - m_shown.begin());
    beginInsertRows({}, begin, begin + int(rows.size()) - 1);
    m_shown.insert(at, rows.begin(), rows.end());
    indexFrom(begin);
    endInsertRows();
    if (!inPlace) m_again.start();
}

void CaptionFilter::sourceInserted(int first, int last) {
    const int count = last - first + 1;
    if (first < int(m_place.size())) {  // not at the end: what stands behind has new numbers
        for (int& row : m_shown) {
            if (row >= first) row += count;
        }
    }
    m_place.insert(m_place.begin() + first, std::size_t(count), -1);
    m_states.insert(m_states.begin() + first, std::size_t(count), std::nullopt);
    m_counts.total += count;
    for (int row = first; row <= last; ++row) countRow(row);
    admit(first, last);
    if (m_pass != nullptr) startPass();
    Q_EMIT countsChanged();
}

// While the source still has the rows, so that views can go on reading those that stay.
void CaptionFilter::sourceRemoving(int first, int last) {
    const auto gone = [&](int row) { return row >= first && row <= last; };
    std::vector<std::pair<int, int>> runs;  // of rows shown side by side: begin and end, the last run first
    for (int end = int(m_shown.size()); end > 0; --end) {
        if (!gone(m_shown[std::size_t(end - 1)])) continue;
        if (!runs.empty() && runs.back().first == end) {
            --runs.back().first;
        } else {
            runs.emplace_back(end - 1, end);
        }
    }
    std::fill(m_place.begin() + first, m_place.begin() + last + 1, -1);
    if (runs.size() > kRunsToRemove) {
        beginResetModel();
        std::erase_if(m_shown, gone);
        indexFrom(0);
        endResetModel();
        return;
    }
    for (const auto& [begin, end] : runs) {
        beginRemoveRows({}, begin, end - 1);
        m_shown.erase(m_shown.begin() + begin, m_shown.begin() + end);
        indexFrom(begin);
        endRemoveRows();
    }
}

void CaptionFilter::sourceRemoved(int first, int last) {
    const int count = last - first + 1;
    for (int row = first; row <= last; ++row) {
        const auto& state = m_states[std::size_t(row)];
        if (state) --m_counts.byState[std::size_t(*state)];
    }
    m_counts.total -= count;
    m_place.erase(m_place.begin() + first, m_place.begin() + last + 1);
    m_states.erase(m_states.begin() + first, m_states.begin() + last + 1);
    for (int& row : m_shown) {
        if (row > last) row -= count;
    }
    if (m_pass != nullptr) startPass();
    Q_EMIT countsChanged();
}

void CaptionFilter::sourceChanged(int first, int last, const QList<int>& roles) {
    const bool onlyPictures = roles.size() == 1 && roles.first() == CaptionRoles::thumbnail;
    for (int row = first; row <= last; ++row) {
        const int place = m_place[std::size_t(row)];
        if (!onlyPictures) {
            countRow(row);
            if (m_pass != nullptr) m_pass->late.push_back(row);
            if (place < 0 && m_pass == nullptr) admit(row, row);
        }
        if (place >= 0) {
            const QModelIndex shown = index(place, 0);
            Q_EMIT dataChanged(shown, shown, roles);
        }
    }
    if (!onlyPictures) Q_EMIT countsChanged();
}

QVariant CaptionFilter::data(const QModelIndex& index, int role) const {
    const auto text = [&](int of) { return QAbstractProxyModel::data(index, of).toString(); };
    switch (role) {
        case Qt::DisplayRole: return text(CaptionRoles::fileName);
        case Qt::ToolTipRole: {
            const QString reason = text(CaptionRoles::reason);
            return reason.isEmpty() ? text(CaptionRoles::path) : text(CaptionRoles::path) + QLatin1Char('\n') + reason;
        }
        case Qt::AccessibleTextRole:
            return tr("%1, %2: %3")
                .arg(text(CaptionRoles::fileName), stateText(index).word, text(CaptionRoles::caption));
        default: return QAbstractProxyModel::data(index, role);
    }
}

QModelIndex CaptionFilter::mapToSource(const QModelIndex& index) const {
    if (!index.isValid() || sourceModel() == nullptr) return {};
    return sourceModel()->index(m_shown[std::size_t(index.row())], 0);
}

QModelIndex CaptionFilter::mapFromSource(const QModelIndex& index) const {
    if (!index.isValid()) return {};
    const int place = m_place[std::size_t(index.row())];
    return place < 0 ? QModelIndex() : this->index(place, 0);
}

QModelIndex CaptionFilter::index(int row, int column, const QModelIndex& parent) const {
    if (parent.isValid() || column != 0 || row < 0 || row >= int(m_shown.size())) return {};
    return createIndex(row, 0);
}

QModelIndex CaptionFilter::parent(const QModelIndex&) const {
    return {};
}
int CaptionFilter::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : int(m_shown.size());
}
int CaptionFilter::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : 1;
}

}  // namespace vitrine
