#pragma once

#include <QModelIndex>
#include <QString>

namespace vitrine {

// How the state of a row is told: a word, and a drawing beside it, so that no colour is needed to know it.
struct StateText {
    QString word;
    QString iconName;
    bool isFault = false;
};
StateText stateText(const QModelIndex& row);

}  // namespace vitrine
