#include "ui/status_bar.h"

#include "ui/icons.h"
#include "ui/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>

namespace vitrine {

StatusBar::StatusBar(QWidget* parent)
    : QStatusBar(parent),
      m_model(new QPushButton(this)),
      m_device(new QLabel(this)),
      m_memory(new QLabel(this)),
      m_jobText(new QLabel(this)),
      m_progress(new QProgressBar(this)),
      m_stop(new QPushButton(icon(QStringLiteral("stop")), tr("Stop"), this)) {
    setSizeGripEnabled(false);
    theme::setButtonKind(*m_model, "quiet");
    theme::setButtonKind(*m_stop, "quiet");
    m_model->setIcon(icon(QStringLiteral("models")));
    m_progress->setTextVisible(false);
    m_progress->setFixedWidth(140);
    m_progress->setAccessibleName(tr("Progress of the running job"));
    m_stop->setAccessibleName(tr("Stop the running job"));
    theme::setMuted(*m_device);
    theme::setMuted(*m_memory);

    addWidget(m_model);
    addWidget(m_device);
    addWidget(m_memory);
    addPermanentWidget(m_jobText);
    addPermanentWidget(m_progress);
    addPermanentWidget(m_stop);
    connect(m_stop, &QPushButton::clicked, this, &StatusBar::stopRequested);
    connect(m_model, &QPushButton::clicked, this, &StatusBar::modelClicked);
    setJob(std::nullopt);
}

void StatusBar::setModel(const QString& text, const QString& explanation) {
    m_model->setText(text);
    m_model->setToolTip(explanation);
    m_model->setAccessibleName(tr("Model: %1").arg(text));
}

void StatusBar::setDevice(const QString& text, const QString& explanation) {
    m_device->setText(text);
    m_device->setToolTip(explanation);
    m_device->setAccessibleName(tr("Device: %1").arg(text));
}

void StatusBar::setMemory(const QString& text, const QString& explanation) {
    m_memory->setText(text);
    m_memory->setToolTip(explanation);
    m_memory->setAccessibleName(tr("Memory: %1").arg(text));
}

void StatusBar::setJob(const std::optional<JobView>& job) {
    for (QWidget* widget :
         {static_cast<QWidget*>(m_jobText), static_cast<QWidget*>(m_progress), static_cast<QWidget*>(m_stop)}) {
        widget->setVisible(job.has_value());
    }
    if (!job) return;
    QString text = job->title;
    if (!job->detail.isEmpty()) text += QStringLiteral(" · ") + job->detail;
    if (job->others > 0) text += QStringLiteral(" · ") + tr("%n more", nullptr, job->others);
    m_jobText->setText(text);
    m_progress->setRange(0, job->fraction < 0 ? 0 : 1000);
    if (job->fraction >= 0) m_progress->setValue(qRound(job->fraction * 1000));
    m_stop->setEnabled(!job->stopping);
    m_stop->setText(job->stopping ? tr("Stopping…") : tr("Stop"));
}

}  // namespace vitrine
