#include "ui/insight/words.h"

#include <QCoreApplication>
#include <QLocale>

namespace vitrine::insight {
namespace {

QString tr(const char* text) {
    return QCoreApplication::translate("vitrine::insight", text);
}

}  // namespace

QString nameOf(MapMethod method) {
    switch (method) {
        case MapMethod::attention: return tr("Attention");
        case MapMethod::value_norm: return tr("Weighted by value");
        case MapMethod::relative: return tr("Relative");
        case MapMethod::relevance: return tr("Relevance");
        case MapMethod::lens: return tr("Logit lens");
        case MapMethod::rollout: return tr("Rollout");
    }
    return {};
}

QString explain(Tower tower, MapMethod method) {
    const bool language = tower == Tower::language;
    switch (method) {
        case MapMethod::attention:
            return language ? tr("Where the model looked when it chose this word.")
                            : tr("Which patches a patch looks at inside the vision tower; the question plays no part.");
        case MapMethod::value_norm:
            return language ? tr("Attention times the length of what it carries, so that empty looks fade.")
                            : tr("Attention between patches times the length of what it carries.");
        case MapMethod::relative:
            return tr("Attention divided by that under a neutral prompt: what the question adds. 1 is no change.");
        case MapMethod::relevance:
            return tr("Attention that changed the score of the word, followed through all layers.");
        case MapMethod::lens: return tr("How likely each patch alone would say this word after the chosen layer.");
        case MapMethod::rollout:
            return tr("Attention followed through all layers, back to the patches of the picture.");
    }
    return {};
}

QString nameOf(ScaleTransform transform) {
    switch (transform) {
        case ScaleTransform::linear: return tr("Linear");
        case ScaleTransform::log: return tr("Logarithmic");
        case ScaleTransform::clip99: return tr("Clip at 99 %");
    }
    return {};
}

std::vector<MapMethod> methodsOf(Tower tower) {
    if (tower == Tower::vision) return {MapMethod::attention, MapMethod::value_norm, MapMethod::rollout};
    return {MapMethod::attention, MapMethod::value_norm, MapMethod::relative, MapMethod::relevance, MapMethod::lens};
}

bool takesLayer(MapMethod method) {
    return method != MapMethod::relevance && method != MapMethod::rollout;
}
bool takesHead(MapMethod method) {
    return takesLayer(method) && method != MapMethod::lens;
}
bool hasHeads(MapMethod method) {
    return takesHead(method);
}
bool isShareOfARow(MapMethod method) {
    return method == MapMethod::attention || method == MapMethod::rollout;
}

QString number(double value) {
    return QLocale().toString(value, 'g', 3);
}

QString percent(double share) {
    const double hundredths = share * 100.0;
    const int decimals = hundredths >= 9.95 || hundredths == 0.0 ? 0 : hundredths >= 0.995 ? 1 : 2;
    return QLocale().toString(hundredths, 'f', decimals) + QStringLiteral("\u00A0%");
}

QString quoted(const QString& word) {
    return tr("“%1”").arg(word);
}

QString tokenLabel(const QString& text) {
    QString label = text;
    label.replace(u'\n', u'⏎').replace(u'\t', u'⇥');
    if (label.size() > 1 && label.front() == u' ') label.remove(0, 1);
    if (label.trimmed().isEmpty()) label.replace(u' ', u'␣');
    return label.isEmpty() ? QStringLiteral("∅") : label;
}

QString patchName(int patch, int columns) {
    return tr("row %1, column %2").arg(patch / columns).arg(patch % columns);
}

QString layerAndHead(int layer, int head) {
    const QString layers = layer == kAll ? tr("all layers") : tr("layer %1").arg(layer);
    const QString heads = head == kAll ? tr("all heads") : tr("head %1").arg(head);
    return tr("%1, %2").arg(layers, heads);
}

}  // namespace vitrine::insight
