#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <stop_token>

namespace vitrine {

// The processes that train one model together, each with its share of every batch. All a step needs of them is a sum.
class Communicator {
public:
    virtual ~Communicator() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;
    // Adds up `values` (fp32, contiguous) over all processes, in place, in the same order everywhere. Every process
    // must call it. Throws TrainingError when another process is gone; `values` are then worthless.
    virtual void sum(at::Tensor values) = 0;
};

// The one that the environment asks for: MPI under mpirun (OMPI_COMM_WORLD_SIZE; where this program is built with MPI),
// NCCL under torchrun (WORLD_SIZE, RANK, MASTER_ADDR, MASTER_PORT; on GPUs), else one process alone. Throws
// TrainingError when several processes are asked for and cannot be had.
std::unique_ptr<Communicator> make_communicator(const at::Device& device);

}  // namespace vitrine
