#include "core/train/communicator.h"

#include "core/error.h"

#include <cstdlib>
#include <string>

namespace vitrine {
namespace {

class Alone final : public Communicator {
public:
    int rank() const override { return 0; }
    int size() const override { return 1; }
    void sum(at::Tensor) override {}
};

}  // namespace

std::unique_ptr<Communicator> make_communicator(const at::Device& /*device*/) {
    return std::make_unique<Alone>();
}

}  // namespace vitrine
