#include "app/models/model_finder.h"

#include "app/models/download.h"
#include "app/names.h"
#include "core/engine.h"
#include "core/error.h"
#include "core/model/pairing.h"

#include <QDir>
#include <QFileInfo>
#include <QFuture>
#include <QSet>
#include <QtConcurrent>

#include <algorithm>
#include <exception>
#include <utility>

namespace vitrine {
namespace {

namespace fs = std::filesystem;
using Kind = FoundModel::Kind;
using Place = FoundModel::Place;

constexpr qsizetype kMostInside = 500;  // entries of an added folder that are looked into

fs::path pathOf(const QString& path) {
    return fs::path(QFile::encodeName(path).toStdString());
}

QString textOf(const fs::path& path) {
    return QFile::decodeName(QByteArray::fromStdString(path.string()));
}

// Also a link that leads nowhere.
bool isThere(const QString& path) {
    const QFileInfo info(path);
    return info.exists() || info.isSymLink();
}

FoundModel lookAtModel(FoundModel found) {
    const ModelFolder folder = ModelFolder::open(pathOf(found.path));
    found.name = QString::fromStdString(folder.name);
    found.visionPath = textOf(folder.vision);
    found.languagePath = textOf(folder.language);
    found.projectorPath = textOf(folder.projector);
    found.about = QString::fromStdString(folder.about);
    found.untrained = is_untrained(folder);
    const PairingVerdict verdict = check_pairing({folder.vision, folder.language, folder.projector});
    for (const PairingCheck& check : verdict.checks) {
        if (check.ok()) continue;
        throw ConfigError({.name = check.left.name,
                           .where = check.left.file.string(),
                           .expected = std::to_string(check.right.value) + " as " + check.right.name + " of " +
                                       check.right.file.string(),
                           .found = std::to_string(check.left.value)});
    }
    found.vision = verdict.vision;
    found.language = verdict.language;
    for (const fs::path& part : {folder.vision, folder.language, folder.projector})
        found.bytes += Checkpoint::open(part).bytes();
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16})
        found.needs.push_back(memory_need(*found.language, *found.vision, dtype, LoadOptions{}.context));
    found.kind = Kind::model;
    return found;
}

FoundModel lookAtCheckpoint(FoundModel found) {
    const Checkpoint checkpoint = Checkpoint::open(pathOf(found.path));
    found.bytes = checkpoint.bytes();
    switch (kind_of(checkpoint)) {
        case PartKind::vision:
            found.vision = SiglipConfig::from_folder(pathOf(found.path));
            describe_part(PartKind::vision,
                          pathOf(found.path));  // throws where the weights are not those of the config
            found.visionPath = found.path;
            found.kind = Kind::vision;
            break;
        case PartKind::language:
            found.language = Qwen3Config::from_folder(pathOf(found.path));
            describe_part(PartKind::language, pathOf(found.path));
            found.languagePath = found.path;
            found.kind = Kind::language;
            break;
        default: found.reason = ModelFinder::tr("Neither a SigLIP vision tower nor a Qwen3 language model.");
    }
    return found;
}

// nullopt: some other safetensors file.
std::optional<FoundModel> lookAtProjector(FoundModel found) {
    const Checkpoint checkpoint = Checkpoint::open(pathOf(found.path));
    if (kind_of(checkpoint) != PartKind::projector) return std::nullopt;
    const auto& first = checkpoint.find("fc1.weight")->tensor->shape;
    const auto& second = checkpoint.find("fc2.weight")->tensor->shape;
    if (first.size() == 2 && second.size() == 2) {
        found.kind = Kind::projector;
        found.projectorPath = found.path;
        found.projectorInputs = first[1];
        found.projectorOutputs = second[0];
        found.bytes = checkpoint.bytes();
    } else {
        found.reason = ModelFinder::tr("fc1.weight and fc2.weight of a projector are matrices; these are not.");
    }
    return found;
}

template <typename Look>
auto orReason(const FoundModel& found, Look look) -> decltype(look(found)) {
    try {
        return look(found);
    } catch (const std::exception& error) {
        FoundModel failed = found;
        failed.reason = wordsOf(error);
        return failed;
    }
}

QString nameOf(const QString& folder, Place place) {
    const QString name = QFileInfo(folder).fileName();
    return place == Place::own ? hubIdOf(name) : name;
}

// One repository of the cache: refs/main names the snapshot, whose files are links to blobs.
FoundModel lookAtRepository(const QString& repository) {
    const QString id = hubIdOf(QFileInfo(repository).fileName().mid(8));  // "models--"
    FoundModel found{.place = Place::hubCache, .path = repository, .name = id};
    std::optional<fs::path> snapshot;
    try {
        snapshot = find_in_hub_cache(id.toStdString());
    } catch (const std::exception& error) {
        found.reason = wordsOf(error);
        return found;
    }
    const bool unfinished =
        !QDir(repository + QStringLiteral("/blobs")).entryList({QStringLiteral("*.incomplete")}, QDir::Files).isEmpty();
    if (!snapshot) {
        found.reason = unfinished ? ModelFinder::tr("Its download is not complete: download it again.")
                                  : ModelFinder::tr("The cache holds no snapshot of its main version.");
        return found;
    }
    const QList<FoundModel> inside = lookAt(textOf(*snapshot), Place::hubCache);
    if (inside.isEmpty()) {
        found.reason = ModelFinder::tr("Its snapshot holds neither config.json nor a projector.");
    } else {
        found = inside.first();
        found.name = id;
    }
    if (found.kind == Kind::unusable && unfinished)
        found.reason = ModelFinder::tr("Its download is not complete. ") + found.reason;
    return found;
}

void lookInside(const QString& folder, Place place, const std::stop_token& stop, QList<FoundModel>& all) {
    const QDir dir(folder);
    const QStringList names = dir.entryList(QDir::Dirs | QDir::NoDotAndDotDot, QDir::Name | QDir::IgnoreCase);
    for (const QString& name : names.mid(0, kMostInside)) {
        if (stop.stop_requested()) return;
        if (!name.endsWith(QLatin1String(".part"))) all += lookAt(dir.absoluteFilePath(name), place);
    }
}

void lookAtAdded(const QString& folder, const std::stop_token& stop, QList<FoundModel>& all) {
    QList<FoundModel> found = lookAt(folder, Place::added);
    if (found.isEmpty()) lookInside(folder, Place::added, stop, found);
    if (found.isEmpty()) {
        const bool there = QFileInfo(folder).isDir();
        found.append(
            {.place = Place::added,
             .path = folder,
             .name = QFileInfo(folder).fileName(),
             .reason = there ? ModelFinder::tr("Holds no model, no checkpoint and no projector file.")
                             : ModelFinder::tr("This folder is not there any more, or its drive is not connected.")});
    }
    all += found;
}

QList<FoundDevice> findDevices() {
    QList<FoundDevice> devices{{QStringLiteral("cpu"), memory_of(Device{})}};
    try {
        for (int index = 0;; ++index) {
            const Device device = choose_device("cuda:" + std::to_string(index));
            devices.append({QString::fromStdString(name_of(device)), memory_of(device)});
        }
    } catch (const Error&) {
        // No more of them, or none at all.
    }
    return devices;
}

}  // namespace

QList<FoundModel> lookAt(const QString& folder, Place place) {
    const QDir dir(folder);
    const FoundModel found{.place = place, .path = dir.absolutePath(), .name = nameOf(dir.absolutePath(), place)};
    if (isThere(dir.filePath(QStringLiteral("vitrine.json")))) return {orReason(found, lookAtModel)};
    if (isThere(dir.filePath(QStringLiteral("config.json")))) return {orReason(found, lookAtCheckpoint)};
    QList<FoundModel> projectors;
    for (const QString& name : dir.entryList({QStringLiteral("*.safetensors")}, QDir::Files, QDir::Name)) {
        FoundModel file = found;
        file.path = dir.absoluteFilePath(name);
        file.name += QLatin1Char('/') + name;
        const auto look = [](const FoundModel& candidate) -> std::optional<FoundModel> {
            return lookAtProjector(candidate);
        };
        if (auto projector = orReason(file, look)) projectors.append(*projector);
    }
    return projectors;
}

QList<FoundModel> findModels(const SearchPlaces& places, const std::stop_token& stop) {
    QList<FoundModel> all;
    if (!places.demo.isEmpty() && QFileInfo(places.demo).isDir()) all += lookAt(places.demo, Place::demo);
    if (!places.own.isEmpty()) lookInside(places.own, Place::own, stop, all);
    for (const QString& folder : places.added) lookAtAdded(folder, stop, all);
    if (places.hubCache) {
        const QDir cache(textOf(hub_cache_folder()));
        const QStringList names = cache.entryList({QStringLiteral("models--*")}, QDir::Dirs, QDir::Name);
        for (const QString& name : names) {
            if (stop.stop_requested()) return all;
            all.append(lookAtRepository(cache.absoluteFilePath(name)));
        }
    }
    // A folder that is reached in two ways is one.
    QSet<QString> seen;
    all.removeIf([&](const FoundModel& found) {
        const QString canonical = QFileInfo(found.path).canonicalFilePath();
        const QString key = canonical.isEmpty() ? found.path : canonical;
        if (seen.contains(key)) return true;
        seen.insert(key);
        return false;
    });
    return all;
}

ModelFinder::ModelFinder(QObject* parent) : QObject(parent) {
    m_pool.setMaxThreadCount(1);
}

ModelFinder::~ModelFinder() {
    m_stop.request_stop();
    m_pool.waitForDone();
}

void ModelFinder::search(const SearchPlaces& places) {
    m_stop.request_stop();
    m_stop = {};
    ++m_running;
    using Result = std::pair<QList<FoundModel>, QList<FoundDevice>>;
    QtConcurrent::run(&m_pool, [places, stop = m_stop.get_token()] {
        return Result{findModels(places, stop), findDevices()};
    }).then(this, [this, generation = ++m_generation](Result result) {
        --m_running;
        if (generation != m_generation) return;
        std::tie(m_models, m_devices) = std::move(result);
        Q_EMIT changed();
    });
}

void ModelFinder::measure() {
    QtConcurrent::run(&m_pool, findDevices).then(this, [this](const QList<FoundDevice>& devices) {
        m_devices = devices;
        Q_EMIT measured();
    });
}

const FoundModel* ModelFinder::find(const QString& path) const {
    const auto found =
        std::find_if(m_models.begin(), m_models.end(), [&](const FoundModel& model) { return model.path == path; });
    return found == m_models.end() ? nullptr : &*found;
}

}  // namespace vitrine
