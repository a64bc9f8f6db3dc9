#pragma once

#include <Qt>

#include <cstdint>

// What a row of the captions list says about its picture. app hands the page a flat list model (one column, one row a
// picture, in the order the pictures were added) that answers these roles; everything shown of a picture comes from
// them.
namespace vitrine {

// Where the caption comes from.
enum class CaptionState : std::uint8_t {
    none,     // no caption yet
    machine,  // as the model wrote it
    edited,   // a person wrote or changed it: never overwritten unless told
    failed,   // the last try failed; CaptionRoles::reason says why. An older caption may still be there.
};

// Where the picture stands in the queue.
enum class CaptionWork : std::uint8_t { idle, queued, working };

namespace CaptionRoles {
enum : int {
    path = Qt::UserRole + 1,  // QString: absolute, the key of a row; no two rows share one
    fileName,                 // QString
    folder,                   // QString: absolute path of the folder
    caption,                  // QString: the whole caption, may have several lines
    state,                    // CaptionState, by QVariant::fromValue
    work,                     // CaptionWork, by QVariant::fromValue
    reason,                   // QString: why it failed, else empty
    provenance,               // QString: one line for people: "vitrine-demo, preset Caption, seed 0, 30 Nov 16:20"
    thumbnail,                // QImage: from memory, or null while it is made; asking for it must cost nothing
};
}  // namespace CaptionRoles

}  // namespace vitrine
