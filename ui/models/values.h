#pragma once

#include <QtCore/QList>
#include <QtCore/QString>
#include <QtCore/QStringList>
#include <QtCore/QtGlobal>

#include <cstdint>

// Plain values that pass between the models page and whoever does the work. Texts are ready for people.
namespace vitrine {

enum class ModelGroup : std::uint8_t { ready, vision, language, projectors, downloads, unusable };

// Whether a model fits into a device's memory.
enum class Fit : std::uint8_t { unknown, fits, tooLarge };

// One row of the list at the left. `id` is its key: the path, of a download the hub's name.
struct ModelEntry {
    QString id;
    ModelGroup group = ModelGroup::unusable;
    QString name;
    QString size;     // "1.3 GB"
    QString detail;   // "SigLIP, 224 px, width 768"
    QString fitText;  // "needs 1.3 GB, 18 GB free"
    Fit fit = Fit::unknown;
    QString state;        // "loaded", "loading", "paused", "untrained projector"; may be empty
    bool active = false;  // the one that is loaded or loading
    bool failed = false;
    double progress = -1.0;  // 0 to 1; negative: nothing to show
};

struct TensorRow {
    QString part;
    QString name;
    QString dtype;
    QString shape;
    quint64 bytes = 0;
    bool used = true;
    bool operator==(const TensorRow&) const = default;
};

struct MemoryRow {
    QString device;
    QString dtype;
    QString weights;
    QString cache;
    QString working;
    QString total;
    QString free;
    Fit fit = Fit::unknown;
    QString verdict;  // "fits", "does not fit, would fit in bf16"
    bool operator==(const MemoryRow&) const = default;
};

// What the right side tells about one entry. Tables come later than the rest: reading headers takes a moment.
struct ModelDetails {
    QString id;
    QString title;
    QString kind;  // "Vision-language model", "Vision checkpoint", ...
    QString path;
    QStringList facts;  // one line each, "Vision: SigLIP, 12 layers, 768 wide"
    QString about;      // what it can and cannot do; may be empty
    QString warning;    // an untrained projector, why it cannot be used
    bool loadable = false;
    bool removable = false;  // a folder that the person added

    bool complete = false;      // the tables are there
    QString fault;              // why they are not
    QList<QStringList> config;  // part, key, value, origin
    QList<TensorRow> tensors;
    QString tensorSummary;
    QList<MemoryRow> memory;
    QString memoryNote;  // what the estimate counts
};

// Something to choose: what is sent back, and what people read.
struct Choice {
    QString id;
    QString text;
    bool operator==(const Choice&) const = default;
};

struct LoadView {
    QString id;  // of the entry that is loaded or loading; empty: none
    bool loading = false;
    double progress = -1.0;  // 0 to 1; negative: not known
};

// The three lists of the pairing dialog, and what it says about a choice.
struct PairChoices {
    QList<Choice> visions;
    QList<Choice> languages;
    QList<Choice> projectors;  // without the new one, which is always there
};
struct PairVerdict {
    enum class State : std::uint8_t { checking, fits, misfits, fault };
    struct Line {
        bool ok = true;
        QString text;  // "hidden_size 768 (vision/config.json) = fc1.weight inputs 768 (projector.safetensors)"
    };
    State state = State::checking;
    QString summary;
    QList<Line> lines;
};

struct HubFileRow {
    QString name;
    QString size;
    QString purpose;  // "weights", "tokenizer", ...
    bool needed = false;
    quint64 bytes = 0;
};
struct HubListingView {
    QString hubId;
    QList<HubFileRow> files;
    quint64 freeBytes = 0;
    QString target;  // the folder the files will be in
};

struct DownloadProgress {
    struct File {
        QString name;
        QString size;
        double progress = 0.0;
        QString note;
    };
    QString hubId;
    QString state;  // "Downloading", "Paused", "Failed", "Complete"
    double progress = 0.0;
    QString amount;  // "120 MB of 1.2 GB"
    QString pace;    // "12 MB/s, 2 min left"
    QString reason;  // why it failed, or what holds it up
    bool failed = false;
    bool canPause = false;
    bool canResume = false;
    bool canCancel = false;
    QList<File> files;
};

}  // namespace vitrine
