#include "app/models/model_views.h"

#include "app/activity.h"

#include <QCoreApplication>
#include <QFile>
#include <QLocale>
#include <QSet>

#include <algorithm>

namespace vitrine::view {
namespace {

using Kind = FoundModel::Kind;
using Place = FoundModel::Place;

struct Words {
    Q_DECLARE_TR_FUNCTIONS(vitrine::ModelViews)
};

QString dtypeText(DType dtype) {
    return QString::fromLatin1(name_of(dtype).data());
}

QString textOf(const std::filesystem::path& path) {
    return QFile::decodeName(QByteArray::fromStdString(path.string()));
}

// The file with the folder it lies in: "siglip/config.json".
QString shortPath(const std::filesystem::path& path) {
    return textOf(path.parent_path().filename() / path.filename());
}

QString countText(std::int64_t count) {
    const double millions = static_cast<double>(count) / 1e6;
    if (millions < 1.0) return QLocale().toString(static_cast<qlonglong>(count));
    return millions < 1000.0 ? Words::tr("%1 million").arg(millions, 0, 'f', 1)
                             : Words::tr("%1 billion").arg(millions / 1000, 0, 'f', 2);
}

QString kindText(const FoundModel& found) {
    switch (found.kind) {
        case Kind::model: return Words::tr("Vision-language model");
        case Kind::vision: return Words::tr("Vision checkpoint");
        case Kind::language: return Words::tr("Language checkpoint");
        case Kind::projector: return Words::tr("Projector");
        case Kind::unusable: break;
    }
    return Words::tr("Not usable here");
}

QString placeText(Place place) {
    switch (place) {
        case Place::demo: return Words::tr("built in");
        case Place::own: return Words::tr("in Vitrine's own folder");
        case Place::added: return Words::tr("in a folder you added");
        case Place::hubCache: break;
    }
    return Words::tr("in the Hugging Face cache");
}

QString visionFact(const SiglipConfig& vision) {
    return Words::tr("Vision: SigLIP, %1 layers, width %2. A picture is seen at %3 × %3 pixels as %4 patches.")
        .arg(vision.num_hidden_layers)
        .arg(vision.hidden_size)
        .arg(vision.image_size)
        .arg(vision.num_patches());
}

QString languageFact(const Qwen3Config& language) {
    return Words::tr("Language: Qwen3, %1 layers, width %2, %3 tokens in its vocabulary, up to %4 positions.")
        .arg(language.num_hidden_layers)
        .arg(language.hidden_size)
        .arg(language.vocab_size)
        .arg(language.max_position_embeddings);
}

QString stateText(DownloadState state) {
    switch (state) {
        case DownloadState::waiting: return Words::tr("waiting");
        case DownloadState::running: return Words::tr("downloading");
        case DownloadState::paused: return Words::tr("paused");
        case DownloadState::failed: return Words::tr("failed");
        case DownloadState::finished: break;
    }
    return Words::tr("complete");
}

double share(qint64 done, qint64 total) {
    return total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1.0;
}

}  // namespace

QString bytes(quint64 count) {
    return QString::fromStdString(size_text(count));
}

Estimate estimate(const FoundModel& model, std::optional<DType> dtype, const FoundDevice& device, quint64 freed) {
    if (model.needs.empty()) return {};
    const DType wanted = dtype.value_or(default_dtype(*model.language));
    const quint64 free = device.memory.available + freed;
    const auto needOf = [&](DType other) {
        return std::find_if(model.needs.begin(), model.needs.end(),
                            [&](const MemoryNeed& need) { return need.dtype == other; })
            ->total();
    };
    const quint64 need = needOf(wanted);
    Estimate told;
    told.fit = need <= free ? Fit::fits : Fit::tooLarge;
    told.brief = Words::tr("needs %1, %2 free").arg(bytes(need), bytes(free));
    if (told.fit == Fit::fits) {
        told.verdict = Words::tr("fits");
        told.full = Words::tr("Needs %1 of %2 free: fits").arg(bytes(need), bytes(free));
        return told;
    }
    const quint64 half = needOf(DType::bfloat16);
    const bool halfFits = wanted == DType::float32 && half <= free;
    told.verdict = halfFits ? Words::tr("does not fit, would fit in bf16") : Words::tr("does not fit");
    told.full = halfFits ? Words::tr("Needs %1, only %2 free: does not fit. In bf16 it would (%3).")
                               .arg(bytes(need), bytes(free), bytes(half))
                         : Words::tr("Needs %1, only %2 free: does not fit").arg(bytes(need), bytes(free));
    return told;
}

QString detail(const FoundModel& found) {
    switch (found.kind) {
        case Kind::model:
            return Words::tr("%1 px, %2 layers, width %3")
                .arg(found.vision->image_size)
                .arg(found.language->num_hidden_layers)
                .arg(found.language->hidden_size);
        case Kind::vision:
            return Words::tr("SigLIP, %1 px, width %2").arg(found.vision->image_size).arg(found.vision->hidden_size);
        case Kind::language:
            return Words::tr("Qwen3, %1 layers, width %2")
                .arg(found.language->num_hidden_layers)
                .arg(found.language->hidden_size);
        case Kind::projector: return Words::tr("%1 → %2").arg(found.projectorInputs).arg(found.projectorOutputs);
        case Kind::unusable: break;
    }
    return found.reason;
}

ModelEntry entry(const FoundModel& found) {
    ModelEntry shown{.id = found.path, .name = found.name, .detail = detail(found)};
    switch (found.kind) {
        case Kind::model: shown.group = ModelGroup::ready; break;
        case Kind::vision: shown.group = ModelGroup::vision; break;
        case Kind::language: shown.group = ModelGroup::language; break;
        case Kind::projector: shown.group = ModelGroup::projectors; break;
        case Kind::unusable: shown.group = ModelGroup::unusable; break;
    }
    if (found.kind != Kind::unusable) shown.size = bytes(found.bytes);
    if (found.untrained) shown.state = Words::tr("untrained projector");
    return shown;
}

ModelEntry entry(const DownloadStatus& status) {
    ModelEntry shown{.id = status.hubId,
                     .group = ModelGroup::downloads,
                     .name = status.hubId,
                     .size = bytes(static_cast<quint64>(status.total)),
                     .state = stateText(status.state),
                     .failed = status.state == DownloadState::failed,
                     .progress = share(status.done, status.total)};
    if (status.state == DownloadState::running)
        shown.detail = Words::tr("%1 %").arg(static_cast<int>(100 * shown.progress));
    else
        shown.detail = status.reason;
    return shown;
}

DownloadProgress progress(const DownloadStatus& status) {
    const bool running = status.state == DownloadState::running;
    DownloadProgress shown{
        .hubId = status.hubId,
        .progress = share(status.done, status.total),
        .amount = Words::tr("%1 of %2")
                      .arg(bytes(static_cast<quint64>(status.done)), bytes(static_cast<quint64>(status.total))),
        .reason = status.reason,
        .failed = status.state == DownloadState::failed,
        .canPause = running,
        .canResume = status.state == DownloadState::paused || status.state == DownloadState::failed,
        .canCancel = status.state != DownloadState::finished};
    shown.state = stateText(status.state);
    shown.state[0] = shown.state[0].toUpper();
    if (running && status.bytesPerSecond > 1.0) {
        const double left = static_cast<double>(status.total - status.done) / status.bytesPerSecond;
        shown.pace =
            Words::tr("%1/s, %2 left").arg(bytes(static_cast<quint64>(status.bytesPerSecond)), durationText(left));
    }
    for (const DownloadStatus::File& file : status.files)
        shown.files.append(
            {file.name, bytes(static_cast<quint64>(file.total)), share(file.done, file.total), file.note});
    return shown;
}

ModelDetails details(const FoundModel& found) {
    ModelDetails shown{.id = found.path,
                       .title = found.name,
                       .kind = Words::tr("%1, %2").arg(kindText(found), placeText(found.place)),
                       .path = found.path,
                       .about = found.about,
                       .loadable = found.kind == Kind::model,
                       .removable = found.place == Place::added};
    switch (found.kind) {
        case Kind::model:
            shown.facts = QStringList{visionFact(*found.vision),
                                      Words::tr("Projector: Linear, GELU, Linear from %1 to %2.")
                                          .arg(found.vision->hidden_size)
                                          .arg(found.language->hidden_size),
                                      languageFact(*found.language),
                                      QString(),
                                      Words::tr("Vision from %1").arg(found.visionPath),
                                      Words::tr("Language from %1").arg(found.languagePath),
                                      Words::tr("Projector from %1").arg(found.projectorPath)};
            if (found.untrained)
                shown.warning = Words::tr(
                    "The projector of this model is untrained: what it says about pictures is noise until "
                    "the projector has been trained.");
            if (shown.about.isEmpty())
                shown.about = Words::tr(
                    "It captions pictures and answers questions about them. How well, its folder does not "
                    "say: that depends on what its projector was trained on.");
            break;
        case Kind::vision:
            shown.about = Words::tr(
                "It turns a picture into patches that a language model can read. By itself it says nothing: "
                "pair it with a language model and a projector.");
            shown.facts = QStringList{visionFact(*found.vision)};
            break;
        case Kind::language:
            shown.about = Words::tr(
                "It reads and writes text. By itself it sees nothing: pair it with a vision tower and a "
                "projector.");
            shown.facts = QStringList{languageFact(*found.language)};
            break;
        case Kind::projector:
            shown.about = Words::tr("It carries what a vision tower of width %1 sees to a language model of width %2.")
                              .arg(found.projectorInputs)
                              .arg(found.projectorOutputs);
            break;
        case Kind::unusable: shown.warning = found.reason; break;
    }
    return shown;
}

QList<MemoryRow> memory(const FoundModel& model, const QList<FoundDevice>& devices, quint64 freed) {
    QList<MemoryRow> rows;
    for (const FoundDevice& device : devices) {
        for (const MemoryNeed& need : model.needs) {
            const Estimate told = estimate(model, need.dtype, device, freed);
            rows.append({device.id, dtypeText(need.dtype), bytes(need.weights), bytes(need.kv_cache),
                         bytes(need.working), bytes(need.total()), bytes(device.memory.available + freed), told.fit,
                         told.verdict});
        }
    }
    return rows;
}

void complete(ModelDetails& details, const std::vector<PartDescription>& parts) {
    qsizetype used = 0;
    std::int64_t parameters = 0;
    QStringList strays;
    for (const PartDescription& part : parts) {
        const QString name = QString::fromLatin1(name_of(part.kind).data());
        for (const ConfigEntry& entry : part.config)
            details.config.append({name, QString::fromStdString(entry.key), QString::fromStdString(entry.value),
                                   QString::fromStdString(entry.origin)});
        for (const TensorInfo& tensor : part.tensors) {
            const bool ignored = std::binary_search(part.ignored.begin(), part.ignored.end(), tensor.name);
            details.tensors.append({name, QString::fromStdString(tensor.name), QString::fromStdString(tensor.dtype),
                                    QString::fromStdString(shape_text(tensor.shape)), tensor.end - tensor.begin,
                                    !ignored});
            used += ignored ? 0 : 1;
        }
        for (const auto& stray : part.strays) strays.append(textOf(stray.filename()));
        parameters += part.parameters;
    }
    details.tensorSummary =
        Words::tr("%1 tensors, of which %2 are used: %3 parameters (%4 as fp32, %5 as bf16 or fp16).")
            .arg(details.tensors.size())
            .arg(used)
            .arg(countText(parameters), bytes(static_cast<quint64>(parameters) * 4),
                 bytes(static_cast<quint64>(parameters) * 2));
    if (!strays.isEmpty())
        details.tensorSummary +=
            QLatin1Char(' ') + Words::tr("Beside them and not read: %1.").arg(strays.join(QStringLiteral(", ")));
    details.facts.prepend(Words::tr("%1 parameters.").arg(countText(parameters)));
    details.complete = true;
}

PairChoices pairChoices(const QList<FoundModel>& models) {
    PairChoices choices;
    QSet<QString> seen;
    const auto add = [&](QList<Choice>& list, const QString& path, const QString& name, const QString& told) {
        if (seen.contains(path)) return;
        seen.insert(path);
        list.append({path, name + QStringLiteral(" · ") + told});
    };
    const auto visionTold = [](const FoundModel& found) {
        return Words::tr("SigLIP, %1 px, width %2").arg(found.vision->image_size).arg(found.vision->hidden_size);
    };
    const auto languageTold = [](const FoundModel& found) {
        return Words::tr("Qwen3, %1 layers, width %2")
            .arg(found.language->num_hidden_layers)
            .arg(found.language->hidden_size);
    };
    for (const FoundModel& found : models) {
        if (found.kind == Kind::vision) add(choices.visions, found.path, found.name, visionTold(found));
        if (found.kind == Kind::language) add(choices.languages, found.path, found.name, languageTold(found));
        if (found.kind == Kind::projector) add(choices.projectors, found.path, found.name, detail(found));
    }
    // The parts of whole models serve as well.
    for (const FoundModel& found : models) {
        if (found.kind != Kind::model) continue;
        add(choices.visions, found.visionPath, Words::tr("Vision of %1").arg(found.name), visionTold(found));
        add(choices.languages, found.languagePath, Words::tr("Language of %1").arg(found.name), languageTold(found));
        add(choices.projectors, found.projectorPath, Words::tr("Projector of %1").arg(found.name),
            Words::tr("%1 → %2").arg(found.vision->hidden_size).arg(found.language->hidden_size));
    }
    return choices;
}

PairVerdict pairVerdict(const PairingVerdict& verdict) {
    PairVerdict told;
    const auto number = [](const PairingNumber& value) {
        return Words::tr("%1 %2 (%3)")
            .arg(QString::fromStdString(value.name))
            .arg(value.value)
            .arg(shortPath(value.file));
    };
    for (const PairingCheck& check : verdict.checks) {
        const QString relation = check.at_most ? (check.ok() ? Words::tr("≤") : Words::tr("is more than"))
                                 : check.ok()  ? Words::tr("=")
                                               : Words::tr("is not");
        told.lines.append(
            {check.ok(), QStringLiteral("%1 %2 %3").arg(number(check.left), relation, number(check.right))});
    }
    if (!verdict.fits()) {
        told.state = PairVerdict::State::misfits;
        told.summary = Words::tr("These parts do not fit together.");
    } else {
        told.state = PairVerdict::State::fits;
        told.summary =
            verdict.untrained
                ? Words::tr(
                      "The parts fit. The new projector will be untrained: until it is trained, what the model "
                      "says about pictures is noise.")
                : Words::tr("The parts fit.");
    }
    return told;
}

HubListingView listing(const HubListing& listing, qint64 freeBytes, const QString& target) {
    HubListingView shown{
        .hubId = listing.hubId, .freeBytes = static_cast<quint64>(std::max<qint64>(freeBytes, 0)), .target = target};
    for (const HubFile& file : listing.files) {
        QString purpose = Words::tr("not read by Vitrine");
        if (file.needed || file.purpose != HubFile::Purpose::other) {
            switch (file.purpose) {
                case HubFile::Purpose::weights:
                    purpose = file.needed ? Words::tr("weights") : Words::tr("weights, not needed");
                    break;
                case HubFile::Purpose::configuration: purpose = Words::tr("configuration"); break;
                case HubFile::Purpose::tokenizer: purpose = Words::tr("tokenizer"); break;
                case HubFile::Purpose::other: break;
            }
        }
        shown.files.append(
            {file.name, bytes(static_cast<quint64>(file.size)), purpose, file.needed, static_cast<quint64>(file.size)});
    }
    return shown;
}

}  // namespace vitrine::view
