#include "app/activity.h"

#include <QCoreApplication>
#include <QPointer>

#include <cmath>

namespace vitrine {

std::optional<double> Activity::secondsLeft() const {
    const double elapsed = static_cast<double>(m_clock.elapsed()) / 1000.0;
    const double gained = m_done - m_first;
    if (m_total <= 0.0 || gained <= 0.0 || elapsed < 1.0) return std::nullopt;
    return std::max(0.0, (m_total - m_done) * elapsed / gained);
}

void Activity::setTitle(const QString& title) {
    if (m_title == title) return;
    m_title = title;
    Q_EMIT changed();
}

void Activity::setProgress(double done, double total) {
    if (!m_measured) {
        m_measured = true;
        m_first = done;
        m_clock.restart();
    }
    if (m_done == done && m_total == total) return;
    m_done = done;
    m_total = total;
    Q_EMIT changed();
}

void Activity::setDetail(const QString& detail) {
    if (m_detail == detail) return;
    m_detail = detail;
    Q_EMIT changed();
}

void Activity::stop() {
    if (m_stopping) return;
    m_stopping = true;
    Q_EMIT changed();
    Q_EMIT stopRequested();
}

std::shared_ptr<Activity> ActivityList::begin(const QString& title) {
    const QPointer<ActivityList> list(this);
    std::shared_ptr<Activity> activity(new Activity(title), [list](Activity* ended) {
        if (list) {
            list->m_activities.removeOne(ended);
            Q_EMIT list->changed();
        }
        ended->deleteLater();
    });
    m_activities.append(activity.get());
    connect(activity.get(), &Activity::changed, this, &ActivityList::changed);
    Q_EMIT changed();
    return activity;
}

QString durationText(double seconds) {
    const auto whole = static_cast<qint64>(std::llround(seconds));
    if (whole < 90) return QCoreApplication::translate("Duration", "%1 s").arg(whole);
    if (whole < 90 * 60) return QCoreApplication::translate("Duration", "%1 min").arg((whole + 30) / 60);
    return QCoreApplication::translate("Duration", "%1 h %2 min").arg(whole / 3600).arg((whole % 3600) / 60);
}

}  // namespace vitrine
