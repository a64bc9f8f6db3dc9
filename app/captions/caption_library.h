#pragma once

#include "app/captions/caption_entry.h"
#include "ui/captions/values.h"

#include <QFuture>
#include <QObject>
#include <QStringList>
#include <QThreadPool>

#include <memory>

namespace vitrine {

class Database;
struct CaptionStoreState;

// Captions as they are kept: in the profile's database at once, and in sidecars beside the pictures where these are
// wanted. Lives on the UI thread and never waits there; rows are written on the store thread, sidecars on a thread of
// its own, each in the order asked for. A sidecar that somebody else changed is never overwritten by the model.
// Destroying it finishes what is waiting.
class CaptionLibrary : public QObject {
    Q_OBJECT

public:
    explicit CaptionLibrary(Database& database, QObject* parent = nullptr);  // the database outlives it
    ~CaptionLibrary() override;

    // The answers carry StoreError when the database refuses.
    QFuture<QList<CaptionEntry>> add(const QList<FoundPicture>& found);  // to the list; entries as they then stand
    QFuture<QList<CaptionEntry>> list();                                 // as it was left
    void remove(const QStringList& paths);                               // from the list; captions stay known
    void putBack(const QStringList& paths);                              // at its end

    // Done when the database has it; the sidecar follows. `replace`: whatever the sidecar says by then.
    QFuture<void> save(const CaptionEntry& entry, SidecarKind sidecar, bool replace);
    void writeSidecar(const CaptionEntry& entry, SidecarKind sidecar, bool replace);

    QFuture<QStringList> history(const QString& path);  // texts by people that were replaced, latest first

    void setQueue(const QStringList& paths);  // what waits to be captioned; save() takes its picture off
    QFuture<QStringList> queue();

Q_SIGNALS:
    void sidecarFailed(const QString& path, const QString& reason);  // the caption is in the database all the same
    void sidecarFound(const vitrine::CaptionEntry& entry);           // changed elsewhere: its text is the caption now

private:
    template <typename Work>
    auto onStore(Work work);
    void writeOnPool(const CaptionEntry& entry, SidecarKind sidecar, bool replace, const QString& known);

    Database& m_database;
    std::shared_ptr<CaptionStoreState> m_state;  // used on the store thread
    QThreadPool m_files;
};

}  // namespace vitrine
