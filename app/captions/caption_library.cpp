#include "app/captions/caption_library.h"

#include "app/captions/caption_store.h"
#include "app/database.h"
#include "app/names.h"
#include "core/error.h"

namespace vitrine {
namespace {

captions::SidecarKind kindOf(SidecarKind kind) {
    return kind == SidecarKind::caption ? captions::SidecarKind::caption : captions::SidecarKind::txt;
}

}  // namespace

CaptionLibrary::CaptionLibrary(Database& database, QObject* parent)
    : QObject(parent), m_database(database), m_state(std::make_shared<CaptionStoreState>()) {
    m_files.setMaxThreadCount(1);
    m_files.setObjectName(QStringLiteral("sidecars"));
}

// A save is a row, then a file, then the row's note of the file: each step hands over the next one.
CaptionLibrary::~CaptionLibrary() {
    const auto settle = [this] { m_database.ask([](QSqlDatabase&) {}).waitForFinished(); };
    settle();
    m_files.waitForDone();
    settle();
}

template <typename Work>
auto CaptionLibrary::onStore(Work work) {
    return m_database.ask([state = m_state, work = std::move(work)](QSqlDatabase& database) mutable {
        CaptionStore store(database, *state);
        return work(store);
    });
}

QFuture<QList<CaptionEntry>> CaptionLibrary::add(const QList<FoundPicture>& found) {
    return onStore([found](CaptionStore& store) { return store.add(found); });
}

QFuture<QList<CaptionEntry>> CaptionLibrary::list() {
    return onStore([](CaptionStore& store) { return store.listed(); });
}

void CaptionLibrary::remove(const QStringList& paths) {
    m_database.run([state = m_state, paths](QSqlDatabase& database) { CaptionStore(database, *state).unlist(paths); });
}

void CaptionLibrary::putBack(const QStringList& paths) {
    m_database.run([state = m_state, paths](QSqlDatabase& database) { CaptionStore(database, *state).relist(paths); });
}

QFuture<void> CaptionLibrary::save(const CaptionEntry& entry, SidecarKind sidecar, bool replace) {
    QFuture<void> saved = onStore([entry](CaptionStore& store) { store.save(entry); });
    if (entry.state != CaptionState::failed) writeSidecar(entry, sidecar, replace);
    return saved;
}

void CaptionLibrary::writeSidecar(const CaptionEntry& entry, SidecarKind sidecar, bool replace) {
    if (sidecar == SidecarKind::none) return;
    m_database.run([this, state = m_state, entry, sidecar, replace](QSqlDatabase& database) {
        CaptionStore store(database, *state);
        try {
            store.claimSidecar(entry.path);
        } catch (const FileError& error) {
            Q_EMIT sidecarFailed(entry.path, wordsOf(error));
            return;
        }
        const QString known = store.sidecarText(entry.path);
        m_files.start([this, entry, sidecar, replace, known] { writeOnPool(entry, sidecar, replace, known); });
    });
}

// On the thread for files.
void CaptionLibrary::writeOnPool(const CaptionEntry& entry, SidecarKind sidecar, bool replace, const QString& known) {
    try {
        const std::filesystem::path picture = entry.path.toStdString();
        const auto file = captions::find_sidecar(picture).value_or(captions::sidecar_path(picture, kindOf(sidecar)));
        const auto there = captions::read_sidecar(file);
        if (!there && entry.caption.isEmpty()) return;
        const QString text = there ? QString::fromStdString(there->text) : QString();
        const bool foreign = there && !text.isEmpty() && (known.isNull() || text != known) && text != entry.caption;
        if (foreign && !replace) {
            m_database.run([this, state = m_state, path = entry.path, text](QSqlDatabase& database) {
                Q_EMIT sidecarFound(CaptionStore(database, *state).takeSidecar(path, text));
            });
            return;
        }
        captions::write_sidecar(file, entry.caption.toStdString());
        m_database.run([state = m_state, entry, foreign, text](QSqlDatabase& database) {
            CaptionStore store(database, *state);
            if (foreign) store.remember(entry.path, text);
            store.setSidecarText(entry.path, entry.caption);
        });
    } catch (const std::exception& error) {
        Q_EMIT sidecarFailed(entry.path, wordsOf(error));
    }
}

QFuture<QStringList> CaptionLibrary::history(const QString& path) {
    return onStore([path](CaptionStore& store) { return store.history(path); });
}

void CaptionLibrary::setQueue(const QStringList& paths) {
    m_database.run(
        [state = m_state, paths](QSqlDatabase& database) { CaptionStore(database, *state).setQueue(paths); });
}

QFuture<QStringList> CaptionLibrary::queue() {
    return onStore([](CaptionStore& store) { return store.queue(); });
}

}  // namespace vitrine
