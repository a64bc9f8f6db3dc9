#include "app/captions/caption_store.h"

#include "app/database.h"
#include "app/names.h"
#include "core/error.h"

#include <QCoreApplication>
#include <QSqlError>
#include <QSqlQuery>
#include <QVariant>

#include <array>
#include <filesystem>

namespace vitrine {
namespace {

const std::array<QString, 4> kStates{QStringLiteral("none"), QStringLiteral("machine"), QStringLiteral("edited"),
                                     QStringLiteral("failed")};  // by CaptionState

const QString kColumns =
    QStringLiteral("path, size, modified, caption, state, reason, model, prompt, seed, time, finish, edited, sidecar");

std::vector<QStringList> schema() {
    return {{QStringLiteral("CREATE TABLE captions (path TEXT PRIMARY KEY, "
                            "size INTEGER NOT NULL, modified INTEGER NOT NULL, "  // of the picture the caption is of
                            "caption TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL, model TEXT NOT NULL, "
                            "prompt TEXT NOT NULL, seed INTEGER NOT NULL, time TEXT NOT NULL, finish TEXT NOT NULL, "
                            "edited INTEGER NOT NULL, sidecar TEXT, "  // as last seen
                            "position INTEGER)"),                      // in the list; null: not on it
             QStringLiteral("CREATE INDEX captions_listed ON captions (position) WHERE position IS NOT NULL"),
             QStringLiteral("CREATE TABLE caption_history (id INTEGER PRIMARY KEY, path TEXT NOT NULL, "
                            "time TEXT NOT NULL, caption TEXT NOT NULL)"),
             QStringLiteral("CREATE INDEX caption_history_path ON caption_history (path)"),
             QStringLiteral("CREATE TABLE caption_queue (position INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE)")}};
}

// A statement for many rows.
class Statement {
public:
    Statement(QSqlDatabase& database, const QString& text) : m_query(database) {
        m_query.setForwardOnly(true);
        if (!m_query.prepare(text)) fail();
    }
    QSqlQuery& run(const QVariantList& values) {
        for (qsizetype i = 0; i < values.size(); ++i) m_query.bindValue(static_cast<int>(i), values[i]);
        if (!m_query.exec()) fail();
        return m_query;
    }

private:
    [[noreturn]] void fail() const { throw StoreError(m_query.lastError().text().toStdString()); }
    QSqlQuery m_query;
};

// A row as stored: the entry, and the sidecar's text.
struct Row {
    CaptionEntry entry;
    QString sidecar;
};

QString textOf(const std::string& text) {
    return QString::fromStdString(text);
}

Row readRow(const QSqlQuery& query) {
    const auto text = [&](int column) { return query.value(column).toString().toStdString(); };
    Row row;
    CaptionEntry& entry = row.entry;
    entry.path = query.value(0).toString();
    entry.stamp = {query.value(1).toLongLong(), query.value(2).toLongLong()};
    entry.caption = query.value(3).toString();
    for (std::size_t i = 0; i < kStates.size(); ++i) {
        if (kStates[i] == query.value(4).toString()) entry.state = static_cast<CaptionState>(i);
    }
    entry.reason = query.value(5).toString();
    entry.from = {.model = text(6),
                  .prompt = text(7),
                  .seed = static_cast<std::uint64_t>(query.value(8).toLongLong()),
                  .time = text(9),
                  .finish = text(10),
                  .edited = query.value(11).toBool()};
    row.sidecar = query.value(12).isNull() ? QString() : query.value(12).toString();
    return row;
}

// In the order of kColumns. An empty text is bound as one, not as null.
QVariantList valuesOf(const CaptionEntry& entry, const QString& sidecar) {
    const auto text = [](const QString& value) { return QVariant(value.isNull() ? QLatin1String("") : value); };
    const captions::Provenance& from = entry.from;
    return {entry.path,
            entry.stamp.size,
            entry.stamp.modified,
            text(entry.caption),
            kStates[static_cast<std::size_t>(entry.state)],
            text(entry.reason),
            text(textOf(from.model)),
            text(textOf(from.prompt)),
            static_cast<qint64>(from.seed),
            text(textOf(from.time)),
            text(textOf(from.finish)),
            from.edited,
            sidecar.isNull() ? QVariant() : QVariant(sidecar)};
}

QString tidy(const QString& text) {
    return textOf(captions::tidy_caption(text.toStdString()));
}

// Both kinds of sidecars of a picture go to one owner.
std::filesystem::path claimed(const QString& picture) {
    return captions::sidecar_path(picture.toStdString(), captions::SidecarKind::txt);
}

void takeText(CaptionEntry& entry, const QString& text) {
    entry.caption = text;
    entry.state = text.isEmpty() ? CaptionState::none : CaptionState::edited;
    entry.reason.clear();
    entry.from = {.time = captions::utc_time(), .edited = !text.isEmpty()};
    entry.outdated = false;
}

const QString kUpsert = QStringLiteral(
                            "INSERT INTO captions (%1) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT "
                            "(path) DO UPDATE SET size = excluded.size, modified = excluded.modified, caption = "
                            "excluded.caption, state = excluded.state, reason = excluded.reason, model = "
                            "excluded.model, prompt = excluded.prompt, seed = excluded.seed, time = excluded.time, "
                            "finish = excluded.finish, edited = excluded.edited, sidecar = excluded.sidecar")
                            .arg(kColumns);
const QString kFind = QStringLiteral("SELECT %1 FROM captions WHERE path = ?").arg(kColumns);
const QString kList = QStringLiteral(
    "UPDATE captions SET position = (SELECT coalesce(max(position), 0) + 1 FROM captions WHERE position IS NOT NULL) "
    "WHERE path = ? AND position IS NULL");

}  // namespace

CaptionStore::CaptionStore(QSqlDatabase& database, CaptionStoreState& state)
    : m_database(database), m_claims(state.claims) {
    if (state.ready) return;
    sql::migrate(m_database, QStringLiteral("captions"), schema());
    QSqlQuery owners = sql::exec(m_database, QStringLiteral("SELECT path FROM captions WHERE sidecar IS NOT NULL"));
    while (owners.next()) {
        try {
            claimSidecar(owners.value(0).toString());
        } catch (const FileError&) {  // the first one keeps it
        }
    }
    state.ready = true;
}

QList<CaptionEntry> CaptionStore::add(const QList<FoundPicture>& found) {
    sql::Transaction transaction(m_database);
    Statement find(m_database, kFind);
    Statement upsert(m_database, kUpsert);
    Statement list(m_database, kList);
    QList<CaptionEntry> entries;
    entries.reserve(found.size());
    for (const FoundPicture& picture : found) {
        QSqlQuery& known = find.run({picture.path});
        const bool isKnown = known.next();
        const bool isThere = picture.stamp.size >= 0;
        Row row = isKnown ? readRow(known) : Row{};
        known.finish();
        if (!isKnown && !isThere) continue;

        CaptionEntry& entry = row.entry;
        entry.path = picture.path;
        if (entry.caption.isEmpty() && isThere) entry.stamp = picture.stamp;
        entry.note =
            isThere ? picture.fault : QCoreApplication::translate("CaptionStore", "The file is not there any more.");
        entry.outdated = isThere && entry.stamp != picture.stamp && !entry.from.edited;
        if (picture.sidecar) {
            try {
                claimSidecar(picture.path);
                const QString text = tidy(*picture.sidecar);
                const bool news = row.sidecar.isNull() || row.sidecar != *picture.sidecar;
                if (news && !text.isEmpty() && text != tidy(entry.caption)) {
                    if (isKnown && entry.isHandMade()) remember(entry.path, entry.caption);
                    takeText(entry, *picture.sidecar);
                }
                row.sidecar = picture.sidecar->isNull() ? QLatin1String("") : *picture.sidecar;
            } catch (const FileError& error) {
                entry.note = wordsOf(error);
            }
        }
        upsert.run(valuesOf(entry, row.sidecar));
        list.run({entry.path});
        if (isThere) entry.stamp = picture.stamp;
        entries << entry;
    }
    transaction.commit();
    return entries;
}

QList<CaptionEntry> CaptionStore::listed() {
    QSqlQuery query =
        sql::exec(m_database,
                  QStringLiteral("SELECT %1 FROM captions WHERE position IS NOT NULL ORDER BY position").arg(kColumns));
    QList<CaptionEntry> entries;
    while (query.next()) entries << readRow(query).entry;
    return entries;
}

void CaptionStore::unlist(const QStringList& paths) {
    sql::Transaction transaction(m_database);
    Statement remove(m_database, QStringLiteral("UPDATE captions SET position = NULL WHERE path = ?"));
    Statement dequeue(m_database, QStringLiteral("DELETE FROM caption_queue WHERE path = ?"));
    for (const QString& path : paths) {
        remove.run({path});
        dequeue.run({path});
    }
    transaction.commit();
}

void CaptionStore::relist(const QStringList& paths) {
    sql::Transaction transaction(m_database);
    Statement list(m_database, kList);
    for (const QString& path : paths) list.run({path});
    transaction.commit();
}

void CaptionStore::save(const CaptionEntry& entry) {
    sql::Transaction transaction(m_database);
    QSqlQuery known = sql::exec(m_database, kFind, {entry.path});
    const Row before = known.next() ? readRow(known) : Row{};
    known.finish();
    if (before.entry.isHandMade() && !entry.from.edited) remember(entry.path, before.entry.caption);
    sql::exec(m_database, kUpsert, valuesOf(entry, before.sidecar));
    sql::exec(m_database, QStringLiteral("DELETE FROM caption_queue WHERE path = ?"), {entry.path});
    transaction.commit();
}

CaptionEntry CaptionStore::takeSidecar(const QString& path, const QString& text) {
    sql::Transaction transaction(m_database);
    QSqlQuery known = sql::exec(m_database, kFind, {path});
    Row row = known.next() ? readRow(known) : Row{};
    known.finish();
    row.entry.path = path;
    if (row.entry.isHandMade()) remember(path, row.entry.caption);
    takeText(row.entry, text);
    sql::exec(m_database, kUpsert, valuesOf(row.entry, text));
    transaction.commit();
    return row.entry;
}

QString CaptionStore::sidecarText(const QString& path) {
    QSqlQuery query = sql::exec(m_database, QStringLiteral("SELECT sidecar FROM captions WHERE path = ?"), {path});
    return query.next() && !query.value(0).isNull() ? query.value(0).toString() : QString();
}

void CaptionStore::setSidecarText(const QString& path, const QString& text) {
    sql::exec(m_database, QStringLiteral("UPDATE captions SET sidecar = ? WHERE path = ?"), {text, path});
}

void CaptionStore::claimSidecar(const QString& path) {
    m_claims.claim(path.toStdString(), claimed(path));
}

QStringList CaptionStore::history(const QString& path) {
    QSqlQuery query = sql::exec(
        m_database, QStringLiteral("SELECT caption FROM caption_history WHERE path = ? ORDER BY id DESC"), {path});
    QStringList texts;
    while (query.next()) texts << query.value(0).toString();
    return texts;
}

void CaptionStore::remember(const QString& path, const QString& text) {
    sql::exec(m_database, QStringLiteral("INSERT INTO caption_history (path, time, caption) VALUES (?, ?, ?)"),
              {path, textOf(captions::utc_time()), text});
}

void CaptionStore::setQueue(const QStringList& paths) {
    sql::Transaction transaction(m_database);
    sql::exec(m_database, QStringLiteral("DELETE FROM caption_queue"));
    Statement insert(m_database, QStringLiteral("INSERT OR IGNORE INTO caption_queue (path) VALUES (?)"));
    for (const QString& path : paths) insert.run({path});
    transaction.commit();
}

QStringList CaptionStore::queue() {
    QSqlQuery query = sql::exec(m_database, QStringLiteral("SELECT path FROM caption_queue ORDER BY position"));
    QStringList paths;
    while (query.next()) paths << query.value(0).toString();
    return paths;
}

}  // namespace vitrine
