#include "ui/captions/state_text.h"

#include "ui/captions/roles.h"

#include <QCoreApplication>

namespace vitrine {

StateText stateText(const QModelIndex& row) {
    const auto tr = [](const char* text) { return QCoreApplication::translate("vitrine::StateText", text); };
    switch (row.data(CaptionRoles::work).value<CaptionWork>()) {
        case CaptionWork::working: return {tr("Captioning…"), QStringLiteral("play")};
        case CaptionWork::queued: return {tr("Waiting"), QStringLiteral("more")};
        case CaptionWork::idle: break;
    }
    switch (row.data(CaptionRoles::state).value<CaptionState>()) {
        case CaptionState::machine: return {tr("Machine-made"), QStringLiteral("machine")};
        case CaptionState::edited: return {tr("Edited by hand"), QStringLiteral("edit")};
        case CaptionState::failed: return {tr("Failed"), QStringLiteral("error"), true};
        case CaptionState::none: break;
    }
    return {tr("No caption"), QStringLiteral("picture")};
}

}  // namespace vitrine
