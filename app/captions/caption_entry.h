#pragma once

#include "app/pictures/picture_file.h"
#include "core/captions/record.h"
#include "ui/captions/roles.h"

#include <QList>
#include <QMetaType>
#include <QString>

#include <optional>

namespace vitrine {

// What the library knows of one picture.
struct CaptionEntry {
    QString path;  // absolute
    FileStamp stamp;
    QString caption;
    CaptionState state = CaptionState::none;
    QString reason;             // failed: why
    captions::Provenance from;  // of the caption
    bool outdated = false;      // the picture has changed since its caption was made
    QString note;               // "a.txt belongs to a.jpg"; of this session only

    // A caption by a person, whatever became of a later try by the model.
    bool isHandMade() const { return !caption.isEmpty() && from.edited; }
    bool operator==(const CaptionEntry&) const = default;
};

// A picture as a scan finds it.
struct FoundPicture {
    QString path;                    // absolute
    FileStamp stamp;                 // size -1: no such file
    std::optional<QString> sidecar;  // the text beside it
    QString fault;                   // why the sidecar could not be read
};

}  // namespace vitrine

Q_DECLARE_METATYPE(vitrine::CaptionEntry)
