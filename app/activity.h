#pragma once

#include <QElapsedTimer>
#include <QList>
#include <QObject>
#include <QString>

#include <memory>
#include <optional>

namespace vitrine {

// Something long that is going on: captions being written, a model loading, a download. Whoever does the work reports
// here; the status bar shows it. Lives on the UI thread.
class Activity : public QObject {
    Q_OBJECT

public:
    explicit Activity(QString title) : m_title(std::move(title)) { m_clock.start(); }

    const QString& title() const { return m_title; }
    const QString& detail() const { return m_detail; }
    double done() const { return m_done; }
    double total() const { return m_total; }  // 0: not known
    bool stopping() const { return m_stopping; }
    // Seconds that are left at the pace so far; absent while nothing can be said.
    std::optional<double> secondsLeft() const;

    void setTitle(const QString& title);
    void setProgress(double done, double total);
    void setDetail(const QString& detail);
    void stop();  // asks the one who works to end; it does so in its own time

Q_SIGNALS:
    void changed();
    void stopRequested();

private:
    QString m_title;
    QString m_detail;
    double m_done = 0.0;
    double m_total = 0.0;
    double m_first = 0.0;  // what was done before the clock began: resumed work says nothing about the pace
    bool m_measured = false;
    bool m_stopping = false;
    QElapsedTimer m_clock;
};

// All that is going on, oldest first.
class ActivityList : public QObject {
    Q_OBJECT

public:
    // The activity ends, and leaves the list, when the last copy of the pointer goes.
    std::shared_ptr<Activity> begin(const QString& title);
    QList<Activity*> all() const { return m_activities; }

Q_SIGNALS:
    void changed();

private:
    QList<Activity*> m_activities;
};

QString durationText(double seconds);  // "12 s", "3 min", "1 h 20 min"

}  // namespace vitrine
