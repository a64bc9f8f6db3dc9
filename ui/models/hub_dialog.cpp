#include "ui/models/hub_dialog.h"

#include "ui/icons.h"
#include "ui/theme.h"

#include <QDialogButtonBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <QPushButton>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace vitrine {
namespace {

QString sizeText(quint64 bytes) {
    return QLocale().formattedDataSize(static_cast<qint64>(bytes), 1, QLocale::DataSizeSIFormat);
}

}  // namespace

HubDialog::HubDialog(QWidget* parent)
    : QDialog(parent),
      m_id(new QLineEdit(this)),
      m_list(new QPushButton(icon(QStringLiteral("search")), tr("&Show files"), this)),
      m_message(new QLabel(this)),
      m_files(new QTreeWidget(this)),
      m_total(new QLabel(this)) {
    setWindowTitle(tr("Download from a hub"));
    auto* label = new QLabel(tr("&Name of the model on the hub"), this);
    label->setBuddy(m_id);
    m_id->setPlaceholderText(tr("owner/model, for example Qwen/Qwen3-0.6B"));
    m_id->setAccessibleName(tr("Name of the model on the hub"));
    m_id->setClearButtonEnabled(true);
    connect(m_id, &QLineEdit::returnPressed, this, &HubDialog::ask);
    connect(m_id, &QLineEdit::textChanged, this,
            [this](const QString& text) { m_list->setEnabled(!text.trimmed().isEmpty()); });
    connect(m_list, &QPushButton::clicked, this, &HubDialog::ask);
    m_list->setAutoDefault(false);
    m_list->setEnabled(false);

    m_message->setWordWrap(true);
    m_message->setTextFormat(Qt::PlainText);
    m_message->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_message->setText(
        tr("Vitrine reads a SigLIP vision tower, for example google/siglip-base-patch16-224, and a Qwen3 "
           "language model, for example Qwen/Qwen3-0.6B. Paired with a projector they make a model."));
    theme::setMuted(*m_message);
    theme::setMuted(*m_total);
    m_total->setWordWrap(true);

    m_files->setColumnCount(3);
    m_files->setHeaderLabels({tr("File"), tr("Size"), tr("What for")});
    m_files->setRootIsDecorated(false);
    m_files->setAccessibleName(tr("Files to download"));
    m_files->header()->setStretchLastSection(true);
    m_files->setStyleSheet(QStringLiteral("QHeaderView { border: none; }"));
    connect(m_files, &QTreeWidget::itemChanged, this, &HubDialog::showTotal);

    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    m_start = buttons->addButton(tr("&Download"), QDialogButtonBox::AcceptRole);
    m_start->setAutoDefault(false);
    m_start->setEnabled(false);
    theme::setButtonKind(*m_start, "primary");
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(m_start, &QPushButton::clicked, this, [this] {
        Q_EMIT startWanted(m_listing.hubId, ticked());
        accept();
    });

    auto* top = new QHBoxLayout;
    top->setSpacing(theme::kSpace);
    top->addWidget(m_id, 1);
    top->addWidget(m_list);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(theme::kPage, theme::kPage, theme::kPage, theme::kPage);
    layout->setSpacing(theme::kSpace);
    layout->addWidget(label);
    layout->addLayout(top);
    layout->addWidget(m_message);
    layout->addWidget(m_files, 1);
    layout->addWidget(m_total);
    layout->addSpacing(theme::kSpace);
    layout->addWidget(buttons);
    resize(fontMetrics().averageCharWidth() * 100, fontMetrics().height() * 30);
}

void HubDialog::setHost(const QString& host) {
    m_id->setToolTip(tr("Asked of %1 (HF_ENDPOINT). HF_TOKEN opens private models.").arg(host));
}

void HubDialog::ask() {
    const QString text = m_id->text().trimmed();
    if (text.isEmpty()) return;
    m_listing = {};
    m_files->clear();
    showTotal();
    m_message->setText(tr("Asking for the files…"));
    Q_EMIT listWanted(text);
}

void HubDialog::setListing(const HubListingView& listing) {
    m_listing = {};  // showTotal() is called while the rows come
    m_files->clear();
    for (const HubFileRow& file : listing.files) {
        auto* item = new QTreeWidgetItem(m_files, {file.name, file.size, file.purpose});
        item->setCheckState(0, file.needed ? Qt::Checked : Qt::Unchecked);
        item->setData(1, Qt::UserRole, file.bytes);
        item->setTextAlignment(1, Qt::AlignRight | Qt::AlignVCenter);
        item->setSizeHint(1, QSize(fontMetrics().horizontalAdvance(file.size), fontMetrics().height() + theme::kSpace));
    }
    for (int column = 0; column < 2; ++column) {
        m_files->resizeColumnToContents(column);
        m_files->setColumnWidth(column, m_files->columnWidth(column) + theme::kGroup);
    }
    m_listing = listing;
    const bool any =
        std::any_of(listing.files.begin(), listing.files.end(), [](const HubFileRow& file) { return file.needed; });
    m_message->setText(any ? tr("%1 has these files. Those that Vitrine reads are ticked.").arg(listing.hubId)
                           : tr("%1 has no file that Vitrine reads.").arg(listing.hubId));
    showTotal();
}

void HubDialog::setFault(const QString& hubId, const QString& reason) {
    m_listing = {};
    m_files->clear();
    m_message->setText(hubId.isEmpty() ? reason : tr("%1: %2").arg(hubId, reason));
    showTotal();
}

QStringList HubDialog::ticked() const {
    QStringList names;
    for (int row = 0; row < m_files->topLevelItemCount(); ++row) {
        const QTreeWidgetItem* item = m_files->topLevelItem(row);
        if (item->checkState(0) == Qt::Checked) names.append(item->text(0));
    }
    return names;
}

void HubDialog::showTotal() {
    quint64 bytes = 0;
    int count = 0;
    for (int row = 0; row < m_files->topLevelItemCount(); ++row) {
        const QTreeWidgetItem* item = m_files->topLevelItem(row);
        if (item->checkState(0) != Qt::Checked) continue;
        bytes += item->data(1, Qt::UserRole).toULongLong();
        ++count;
    }
    const bool listed = !m_listing.hubId.isEmpty();
    const bool room = bytes <= m_listing.freeBytes;
    m_start->setEnabled(listed && count > 0 && room);
    if (!listed) return m_total->clear();
    const QString files = count == 1 ? tr("1 file") : tr("%1 files").arg(count);
    const QString free = sizeText(m_listing.freeBytes);
    m_total->setText(room ? tr("%1, %2. %3 are free at %4.").arg(files, sizeText(bytes), free, m_listing.target)
                          : tr("%1, %2: not enough room, only %3 are free at %4.")
                                .arg(files, sizeText(bytes), free, m_listing.target));
}

}  // namespace vitrine
