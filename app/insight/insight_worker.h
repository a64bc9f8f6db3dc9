#pragma once

#include <QObject>
#include <QString>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace vitrine {

// Computes what the insight dock wants to see, on a thread of its own named "insight", one question after the other
// beside the engine. A question that is asked again before its turn has come replaces the older one, so a hand that
// moves fast never leaves a queue behind. Called from the UI thread, where answers arrive too.
class InsightWorker : public QObject {
    Q_OBJECT

public:
    enum class Question { picture, map, weights, heads, words, ranks, sinks, causal, save, scores };

    // Runs on the insight thread; what it returns runs on the UI thread (nothing: the answer is no longer wanted). What
    // it throws comes as failed().
    using Show = std::function<void()>;
    using Compute = std::function<Show(std::stop_token)>;

    explicit InsightWorker(QObject* parent = nullptr);
    ~InsightWorker() override;  // stops what runs, drops the rest

    void ask(Question question, Compute compute, int which = 0);
    void forget();  // nothing that was asked up to now is answered any more
    bool isBusy() const { return m_open > 0; }

Q_SIGNALS:
    void busyChanged(bool busy);
    void failed(vitrine::InsightWorker::Question question, const QString& message);

private:
    struct Task {
        Question question;
        int which;
        quint64 epoch;
        Compute compute;
        std::stop_source stop;
    };
    void run(const std::stop_token& quit);
    void end(quint64 epoch, const Show& show);

    quint64 m_epoch = 0;
    int m_open = 0;  // questions of this epoch without an answer
    std::mutex m_mutex;
    std::condition_variable_any m_wake;
    std::vector<Task> m_waiting;  // guarded by m_mutex, in the order asked
    std::stop_source m_running;   // guarded by m_mutex
    std::jthread m_thread;        // last: joined before the rest goes
};

}  // namespace vitrine
