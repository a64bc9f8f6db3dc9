#pragma once

#include "ui/insight/values.h"

#include <QString>

#include <vector>

// How the insight dock names and writes things, so that every part says the same.
namespace vitrine::insight {

QString nameOf(MapMethod method);
QString explain(Tower tower, MapMethod method);  // one sentence
QString nameOf(ScaleTransform transform);

// Those that mean something in this tower, the plainest first.
std::vector<MapMethod> methodsOf(Tower tower);
bool takesLayer(MapMethod method);
bool takesHead(MapMethod method);
bool hasHeads(MapMethod method);       // small maps of all heads share its unit
bool isShareOfARow(MapMethod method);  // its values can be told as times uniform

QString number(double value);   // three digits that count
QString percent(double share);  // "12 %", "3.4 %", "0.05 %"
QString quoted(const QString& word);
QString tokenLabel(const QString& text);  // whitespace made visible; a leading space is left out
QString patchName(int patch, int columns);
QString layerAndHead(int layer, int head);  // "layer 3, head 5", "all layers, head 5"

}  // namespace vitrine::insight
