#pragma once

#include <QByteArray>
#include <QCoreApplication>
#include <QImage>
#include <QString>
#include <QStringList>

#include <functional>

class QMimeData;

namespace vitrine {

// What somebody drops or pastes, sorted into what can be used and what cannot.
struct DropData {
    Q_DECLARE_TR_FUNCTIONS(vitrine::DropData)

public:
    QStringList files;    // absolute; pictures by their name, or of a kind the name does not tell
    QStringList folders;  // absolute

    // A picture that is no file, as a browser or a screenshot tool offers it. The encoded bytes where the source has
    // them ("png", "jpg", ...), else the pixels.
    QByteArray imageBytes;
    QString imageSuffix;
    QImage image;

    // One line for each kind of thing that cannot be used, with the reason.
    QStringList refusals;

    bool hasImage() const { return !imageBytes.isEmpty() || !image.isNull(); }
    bool isUsable() const { return hasImage() || !files.isEmpty() || !folders.isEmpty(); }
    // Something that a person may mean for us, be it usable or not; false for text on its way from one editor to
    // another.
    bool isOurs() const { return isUsable() || !refusals.isEmpty(); }

    // Nothing is read but the kind of the first few hundred entries, through `isFolder`; the default asks the file
    // system.
    static DropData of(const QMimeData& mime, const std::function<bool(const QString& path)>& isFolder = {});

    QString summary() const;  // "3 pictures and 1 folder"; empty when nothing is usable
};

}  // namespace vitrine
