#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <stop_token>
#include <string>

namespace vitrine {

// The processes that train one model together, each with its share of every batch. All a step needs of them is a sum.
// Used on the thread that made it. Destroyed by an exception, it leaves without waiting for the others: they may wait
// for this process in a sum that it will never come to, and must learn that it is gone.
class Communicator {
public:
    virtual ~Communicator() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;
    virtual std::string remark() const { return {}; }  // what people should know about how the processes were started
    // Adds up `values` (fp32, contiguous) over all processes, in place, in the same order everywhere and in every run
    // of as many processes. Every process must call it. False, at once from then on, when a stop was asked for and the
    // others did not come in time; throws TrainingError when one of them is gone. Either way `values` are then
    // worthless.
    [[nodiscard]] virtual bool sum(at::Tensor values) = 0;
};

// The one that the environment asks for: MPI under mpirun (OMPI_COMM_WORLD_SIZE or PMI_SIZE; where this program is
// built with MPI), NCCL under torchrun (WORLD_SIZE, RANK, MASTER_ADDR, MASTER_PORT; on GPUs), else one process alone.
// Once a program. Throws TrainingError when several processes are asked for and cannot be had.
std::unique_ptr<Communicator> make_communicator(const at::Device& device, std::stop_token stop);

// Which of the processes on this host this one is; 0 when alone. It has the GPU of that number.
int local_rank();

}  // namespace vitrine
