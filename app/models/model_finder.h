#pragma once

#include "core/device.h"
#include "core/model/description.h"
#include "core/weights/config.h"

#include <QList>
#include <QObject>
#include <QString>
#include <QStringList>
#include <QThreadPool>

#include <cstdint>
#include <optional>
#include <stop_token>

namespace vitrine {

// A folder or file that was looked at, and what it is good for.
struct FoundModel {
    enum class Kind : std::uint8_t { model, vision, language, projector, unusable };
    enum class Place : std::uint8_t { demo, own, added, hubCache };

    Kind kind = Kind::unusable;
    Place place = Place::added;
    QString path;       // the folder; of a projector the file
    QString name;       // a hub id where it came from a hub
    QString reason;     // why it is not usable
    quint64 bytes = 0;  // of the weights on the disk

    // Of a model the three parts, of a checkpoint itself.
    QString visionPath;
    QString languagePath;
    QString projectorPath;
    std::optional<SiglipConfig> vision;
    std::optional<Qwen3Config> language;
    std::int64_t projectorInputs = 0;  // of a projector
    std::int64_t projectorOutputs = 0;
    QString about;
    bool untrained = false;         // its projector has learned nothing yet
    std::vector<MemoryNeed> needs;  // of a model, for each dtype
};

struct FoundDevice {
    QString id;  // "cpu", "cuda:0"
    DeviceMemory memory;
};

struct SearchPlaces {
    QString demo;       // a model folder
    QString own;        // holds models and checkpoints; *.part are downloads on their way
    QStringList added;  // models or checkpoints, or folders that hold some
    bool hubCache = true;
};

// Looks into folders: configurations and headers of files, no weights. Both block.
QList<FoundModel> lookAt(const QString& folder, FoundModel::Place place);
QList<FoundModel> findModels(const SearchPlaces& places, const std::stop_token& stop = {});

// Searches on a thread of its own; of several searches the newest counts. Lives on the UI thread and never blocks it.
// What cannot be read is found too, with the reason.
class ModelFinder : public QObject {
    Q_OBJECT

public:
    explicit ModelFinder(QObject* parent = nullptr);
    ~ModelFinder() override;

    void search(const SearchPlaces& places);
    void measure();  // the memory of the devices alone
    bool searching() const { return m_running > 0; }
    const QList<FoundModel>& models() const { return m_models; }
    const QList<FoundDevice>& devices() const { return m_devices; }
    const FoundModel* find(const QString& path) const;

Q_SIGNALS:
    void changed();
    void measured();  // only the devices have changed

private:
    QThreadPool m_pool;
    std::stop_source m_stop;
    int m_running = 0;
    quint64 m_generation = 0;
    QList<FoundModel> m_models;
    QList<FoundDevice> m_devices;
};

}  // namespace vitrine
