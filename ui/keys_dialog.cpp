#include "ui/keys_dialog.h"

#include "ui/theme.h"

#include <QDialogButtonBox>
#include <QGridLayout>
#include <QLabel>
#include <QScrollArea>
#include <QVBoxLayout>

namespace vitrine {

KeysDialog::KeysDialog(const QList<KeyGroup>& groups, QWidget* parent) : QDialog(parent) {
    setWindowTitle(tr("Keys and hints"));
    setAttribute(Qt::WA_DeleteOnClose);
    auto* content = new QWidget;
    auto* grid = new QGridLayout(content);
    grid->setContentsMargins(theme::kPage, theme::kGroup, theme::kPage, theme::kGroup);
    grid->setHorizontalSpacing(theme::kPage);
    grid->setVerticalSpacing(theme::kTight);
    grid->setColumnStretch(1, 1);
    int row = 0;
    for (const KeyGroup& group : groups) {
        auto* title = new QLabel(group.title, content);
        title->setFont(theme::headingFont(font()));
        title->setContentsMargins(0, row == 0 ? 0 : theme::kGroup, 0, theme::kTight);
        grid->addWidget(title, row++, 0, 1, 2);
        for (const auto& [keys, what] : group.keys) {
            auto* left = new QLabel(keys, content);
            auto* right = new QLabel(what, content);
            theme::setMuted(*left);
            right->setWordWrap(true);
            grid->addWidget(left, row, 0, Qt::AlignTop);
            grid->addWidget(right, row++, 1);
        }
    }
    grid->setRowStretch(row, 1);

    auto* scroll = new QScrollArea(this);
    scroll->setWidget(content);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* layout = new QVBoxLayout(this);
    layout->addWidget(scroll, 1);
    layout->addWidget(buttons);
    resize(560, 620);
}

}  // namespace vitrine
