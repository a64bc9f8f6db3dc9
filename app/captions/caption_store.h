#pragma once

#include "app/captions/caption_entry.h"
#include "core/captions/sidecar.h"

#include <QSqlDatabase>
#include <QStringList>

namespace vitrine {

// What outlives one piece of work on the store thread.
struct CaptionStoreState {
    bool ready = false;
    captions::SidecarClaims claims;
};

// The captions in the profile's database: one row a picture ever captioned or listed, the order of the list, what waits
// to be captioned, and texts by people that something else has replaced. Made for one piece of work on the store
// thread; every function throws StoreError.
class CaptionStore {
public:
    CaptionStore(QSqlDatabase& database, CaptionStoreState& state);

    // Puts pictures on the list and joins what is known of them with what was found. A sidecar that says something the
    // library did not write is a person's caption. Missing files that nobody knows are left out.
    QList<CaptionEntry> add(const QList<FoundPicture>& found);
    QList<CaptionEntry> listed();
    void unlist(const QStringList& paths);
    void relist(const QStringList& paths);  // at the end

    // What replaces a person's text goes to the history first. The picture no longer waits to be captioned.
    void save(const CaptionEntry& entry);
    // The entry with the text that its sidecar was found to hold.
    CaptionEntry takeSidecar(const QString& path, const QString& text);
    // The text that the sidecar held when the library last saw it; null where it never did.
    QString sidecarText(const QString& path);
    void setSidecarText(const QString& path, const QString& text);
    void claimSidecar(const QString& path);  // throws FileError when another picture owns it

    void remember(const QString& path, const QString& text);  // in the history
    QStringList history(const QString& path);                 // texts by people that were replaced, latest first

    void setQueue(const QStringList& paths);
    QStringList queue();

private:
    QSqlDatabase& m_database;
    captions::SidecarClaims& m_claims;
};

}  // namespace vitrine
