#pragma once

#include <QIcon>
#include <QString>

namespace vitrine {

// One of the drawings in ui/icons, by its file's name ("chat", "zoom-in"), in the colour of the text around it: it
// follows light and dark, disabled and selected, at any scale. An unknown name gives an empty icon.
QIcon icon(const QString& name);

// The same in the accent's text colour, for buttons of the kind "primary".
QIcon iconOnAccent(const QString& name);

}  // namespace vitrine
