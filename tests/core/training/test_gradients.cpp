#include "core/train/optimizer.h"
#include "core/train/task.h"
#include "training_support.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>

#include <numeric>
#include <set>

using namespace vitrine;

// Loss and gradients of a batch with pictures are PyTorch's, whatever is trained, with and without checkpointing.
class TestGradients : public QObject {
    Q_OBJECT

    static TrainingOptions options(const std::string& trainable, bool checkpointing) {
        TrainingOptions options;
        options.model = test::training_reference() / "model";
        options.data.path = test::training_reference() / "data" / "data.json";
        options.validation_samples = 0;
        options.trainable = trainable;
        options.gradient_checkpointing = checkpointing;
        options.dtype = "fp32";
        options.device = "cpu";
        options.threads = 2;
        options.cache_features = false;
        return options;
    }

private Q_SLOTS:
    void they_equal_autograd_data() {
        QTest::addColumn<QString>("trainable");
        QTest::addColumn<bool>("checkpointing");
        QTest::addColumn<int>("at_once");
        for (const char* trainable : {"projector", "projector+language", "all"})
            for (const bool checkpointing : {false, true})
                QTest::addRow("%s%s", trainable, checkpointing ? ", checkpointed" : "")
                    << trainable << checkpointing << 6;
        QTest::newRow("projector, two rows at a time") << "projector" << false << 2;
        QTest::newRow("all, one row at a time") << "all" << false << 1;
    }

    void they_equal_autograd() {
        QFETCH(QString, trainable);
        QFETCH(bool, checkpointing);
        QFETCH(int, at_once);
        const auto task =
            make_caption_task(options(trainable.toStdString(), checkpointing), [](const std::string&) {}, {});
        const std::uint64_t count = task->rows();
        QCOMPARE(count, std::uint64_t{6});
        FlatParameters parameters(task->trainable(), at::kFloat);
        double loss = 0.0;
        std::int64_t targets = 0;
        for (std::uint64_t first = 0; first < count; first += static_cast<std::uint64_t>(at_once)) {
            std::vector<std::uint64_t> rows(
                std::min<std::uint64_t>(count - first, static_cast<std::uint64_t>(at_once)));
            std::iota(rows.begin(), rows.end(), first);
            StepTimes times;
            const auto prepared = task->prepare(rows, times);
            QCOMPARE(prepared->ids.size(), rows.size());
            parameters.bind();
            const at::Tensor sum = task->losses(*prepared, times).sum();
            torch::autograd::backward({sum}, {});
            loss += sum.item<double>();
            targets += prepared->targets;
        }

        const SafetensorsFile reference = SafetensorsFile::open(test::training_reference() / "gradients.safetensors");
        QCOMPARE(targets, test::read_tensor(reference, "targets").item<std::int64_t>());
        const double mean = test::read_tensor(reference, "loss").item<double>();
        QVERIFY2(std::abs(loss / static_cast<double>(targets) - mean) < 1e-5 * mean, std::to_string(loss).c_str());

        int compared = 0;
        std::int64_t offset = 0;
        for (const Parameter& parameter : parameters.parameters()) {
            const at::Tensor gradient =
                parameters.gradient().narrow(0, offset, parameter.elements()).view(parameter.shape) /
                static_cast<double>(targets);
            offset += parameter.elements();
            std::string name = parameter.name;
            if (name.starts_with("vision.vision_model.")) name.erase(7, 13);
            if (name == "language.model.embed_tokens.weight") {
                const at::Tensor rows = test::read_tensor(reference, "embed_rows");
                const double error =
                    test::difference(gradient.index_select(0, rows), test::read_tensor(reference, "embed_gradient"));
                QVERIFY2(error < 1e-4, (name + ": " + std::to_string(error)).c_str());
                ++compared;
            } else if (reference.find(name) != nullptr) {
                const double error = test::difference(gradient, test::read_tensor(reference, name));
                QVERIFY2(error < 1e-4, (name + ": " + std::to_string(error)).c_str());
                ++compared;
            }
        }
        QCOMPARE(compared, trainable == "projector" ? 4 : trainable == "all" ? 28 : 17);
    }

    // Of all leaves that the loss hangs on, gradients reach the trained ones and no other.
    void what_is_frozen_gets_no_gradient_data() {
        QTest::addColumn<QString>("trainable");
        QTest::addColumn<bool>("checkpointing");
        for (const char* trainable : {"projector", "projector+language", "all"}) {
            QTest::newRow(trainable) << trainable << false;
            QTest::addRow("%s, checkpointed", trainable) << trainable << true;
        }
    }

    void what_is_frozen_gets_no_gradient() {
        QFETCH(QString, trainable);
        QFETCH(bool, checkpointing);
        const auto task =
            make_caption_task(options(trainable.toStdString(), checkpointing), [](const std::string&) {}, {});
        FlatParameters parameters(task->trainable(), at::kFloat);
        const std::vector<std::uint64_t> rows{0, 1, 2};
        StepTimes times;
        const auto prepared = task->prepare(rows, times);
        parameters.bind();
        const at::Tensor loss = task->losses(*prepared, times).sum();
        std::set<const torch::autograd::Node*> seen, leaves;
        std::vector<const torch::autograd::Node*> open{loss.grad_fn().get()};
        while (!open.empty()) {
            const torch::autograd::Node* const node = open.back();
            open.pop_back();
            if (node == nullptr || !seen.insert(node).second) continue;
            if (node->name() == "torch::autograd::AccumulateGrad") leaves.insert(node);
            for (const torch::autograd::Edge& edge : node->next_edges()) open.push_back(edge.function.get());
        }
        torch::autograd::backward({loss}, {});
        // Recomputed layers hang on no leaf until they are computed again.
        if (!checkpointing || trainable == "projector")
            QCOMPARE(leaves.size(), parameters.parameters().size());
        else
            QVERIFY(leaves.size() <= parameters.parameters().size());
        std::int64_t offset = 0;
        for (const Parameter& parameter : parameters.parameters()) {
            const at::Tensor gradient = parameters.gradient().narrow(0, offset, parameter.elements());
            offset += parameter.elements();
            QVERIFY2(gradient.abs().max().item<double>() > 0.0 || parameter.name.ends_with("k_proj.bias"),
                     parameter.name.c_str());
            QVERIFY(parameter.tensor->grad().is_alias_of(parameters.gradient()));
        }
    }
};

VITRINE_TEST(TestGradients)
#include "test_gradients.moc"
