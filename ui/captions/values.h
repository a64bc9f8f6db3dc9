#pragma once

#include "core/types.h"

#include <QList>
#include <QString>

#include <cstdint>

// Plain values that pass between the captions page and whoever does the work.
namespace vitrine {

// Which of the asked pictures are really captioned.
enum class CaptionPolicy : std::uint8_t {
    onlyMissing,     // those without a caption, failed ones without one included
    replaceMachine,  // only those with a machine-made caption: make it anew
    allButEdited,    // both of the above
    everything,      // hand-edited ones too: only after the person has confirmed it for this picture
};

enum class SidecarKind : std::uint8_t { none, txt, caption };

enum class CaptionExport : std::uint8_t { jsonl, csv, kohya, llava };

// A prompt with a name. {name} stands for the file name without its ending, {folder} for the name of the folder,
// {length} for CaptionSettings::length.
struct CaptionPreset {
    QString name;
    QString prompt;
    bool operator==(const CaptionPreset&) const = default;
};

// Everything a person sets on the page; what the next captioning is asked for with.
struct CaptionSettings {
    QString preset;                // the name of the preset the prompt began as
    QString prompt;                // as edited, variables not yet replaced
    int length = 20;               // words, what {length} stands for
    GenerationOptions generation;  // of which the page shows the common ones and keeps the rest
    CaptionPolicy policy = CaptionPolicy::onlyMissing;
    SidecarKind sidecar = SidecarKind::none;  // none: captions stay in the library until exported
};

enum class CaptionRun : std::uint8_t {
    idle,
    running,
    stopping,  // asked to stop, the current token is being finished
    stopped,   // done < total: the rest waits to be resumed or dropped
};

struct CaptionProgress {
    CaptionRun run = CaptionRun::idle;
    int done = 0;  // failed ones included
    int failed = 0;
    int total = 0;
    QString remaining;  // for people, may be empty: "about 2 min left"
};

}  // namespace vitrine
