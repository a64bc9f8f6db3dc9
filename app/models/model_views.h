#pragma once

#include "app/models/download.h"
#include "app/models/model_finder.h"
#include "core/model/pairing.h"
#include "ui/models/values.h"

#include <QList>
#include <QString>

#include <optional>

// What was found, read and downloaded, in the words of the models page. Functions without state.
namespace vitrine::view {

QString bytes(quint64 count);

// How a model stands to the memory of a device. `freed` is what unloading the present model gives back.
struct Estimate {
    Fit fit = Fit::unknown;
    QString brief;    // "needs 1.3 GB, 18 GB free"
    QString verdict;  // "fits", "does not fit, would fit in bf16"
    QString full;     // "Needs 1.3 GB; 18 GB are free on cpu: fits."
};
Estimate estimate(const FoundModel& model, std::optional<DType> dtype, const FoundDevice& device, quint64 freed);

QString detail(const FoundModel& found);  // "SigLIP, 224 px, width 768"
ModelEntry entry(const FoundModel& found);
ModelEntry entry(const DownloadStatus& status);
DownloadProgress progress(const DownloadStatus& status);

ModelDetails details(const FoundModel& found);
QList<MemoryRow> memory(const FoundModel& model, const QList<FoundDevice>& devices, quint64 freed);
// Fills in the tables; parameters are added to the facts.
void complete(ModelDetails& details, const std::vector<PartDescription>& parts);

PairChoices pairChoices(const QList<FoundModel>& models);
PairVerdict pairVerdict(const PairingVerdict& verdict);

HubListingView listing(const HubListing& listing, qint64 freeBytes, const QString& target);

}  // namespace vitrine::view
