#include "ui/models/download_view.h"

#include "ui/icons.h"
#include "ui/models/icon_label.h"
#include "ui/models/rows_model.h"
#include "ui/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QProgressBar>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>

#include <utility>

namespace vitrine {
namespace {

constexpr int kBarSteps = 1000;

}  // namespace

DownloadView::DownloadView(QWidget* parent)
    : QWidget(parent),
      m_title(new QLabel(this)),
      m_state(new QLabel(this)),
      m_reasonIcon(new IconLabel(this)),
      m_reason(new QLabel(this)),
      m_bar(new QProgressBar(this)),
      m_pause(new QPushButton(icon(QStringLiteral("pause")), tr("&Pause"), this)),
      m_resume(new QPushButton(this)),
      m_cancel(new QPushButton(icon(QStringLiteral("close")), tr("&Cancel"), this)),
      m_rows(new RowsModel({tr("File"), tr("Size"), tr("Done"), tr("Note")}, this)),
      m_files(new QTableView(this)) {
    m_title->setFont(theme::titleFont(font()));
    for (QLabel* label : {m_title, m_state, m_reason}) {
        label->setTextFormat(Qt::PlainText);
        label->setWordWrap(true);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    }
    theme::setMuted(*m_state);
    m_bar->setRange(0, kBarSteps);
    m_bar->setTextVisible(false);
    m_bar->setAccessibleName(tr("Progress of the download"));

    auto* menu = new QMenu(m_cancel);
    menu->addAction(tr("Stop, and &keep what has come"), this, [this] { Q_EMIT cancelWanted(true); });
    menu->addAction(icon(QStringLiteral("delete")), tr("Stop, and &remove what has come"), this,
                    [this] { Q_EMIT cancelWanted(false); });
    m_cancel->setMenu(menu);
    connect(m_pause, &QPushButton::clicked, this, &DownloadView::pauseWanted);
    connect(m_resume, &QPushButton::clicked, this, &DownloadView::resumeWanted);

    m_files->setModel(m_rows);
    setUpTable(*m_files, tr("Files of this download"));

    auto* reason = new QHBoxLayout;
    reason->setSpacing(theme::kSpace);
    reason->addWidget(m_reasonIcon, 0, Qt::AlignTop);
    reason->addWidget(m_reason, 1);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(theme::kSpace);
    for (QPushButton* button : {m_resume, m_pause, m_cancel}) buttons->addWidget(button);
    buttons->addStretch();
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(theme::kPage, theme::kPage, theme::kPage, theme::kSpace);
    layout->setSpacing(theme::kSpace);
    layout->addWidget(m_title);
    layout->addWidget(m_state);
    layout->addWidget(m_bar);
    layout->addLayout(reason);
    layout->addLayout(buttons);
    layout->addSpacing(theme::kSpace);
    layout->addWidget(m_files, 1);
}

void DownloadView::setProgress(const DownloadProgress& progress) {
    const bool another = std::exchange(m_hubId, progress.hubId) != progress.hubId;
    m_title->setText(progress.hubId);
    QStringList state{progress.state, progress.amount, progress.pace};
    state.removeAll(QString());
    m_state->setText(state.join(QStringLiteral(" · ")));
    m_bar->setValue(static_cast<int>(progress.progress * kBarSteps));
    const bool told = !progress.reason.isEmpty();
    m_reason->setText(progress.reason);
    m_reason->setVisible(told);
    m_reasonIcon->setIcon(!told ? QString() : progress.failed ? QStringLiteral("error") : QStringLiteral("info"));
    m_pause->setVisible(progress.canPause);
    m_resume->setVisible(progress.canResume);
    m_resume->setText(progress.failed ? tr("Try &again") : tr("&Resume"));
    m_resume->setIcon(iconOnAccent(progress.failed ? QStringLiteral("retry") : QStringLiteral("play")));
    theme::setButtonKind(*m_resume, "primary");
    m_cancel->setVisible(progress.canCancel);

    QList<QList<RowsModel::Cell>> rows;
    for (const DownloadProgress::File& file : progress.files) {
        const bool complete = file.progress >= 1.0;
        rows.append(
            {{file.name},
             {.text = file.size, .right = true},
             {.text = complete ? tr("complete") : QStringLiteral("%1 %").arg(static_cast<int>(100 * file.progress)),
              .muted = complete,
              .right = true},
             {.text = file.note, .muted = true}});
    }
    const QModelIndex current = m_files->currentIndex();
    m_rows->setRows(std::move(rows));
    if (current.isValid()) m_files->setCurrentIndex(m_rows->index(current.row(), current.column()));
    if (another) fitColumns(*m_files);
}

}  // namespace vitrine
