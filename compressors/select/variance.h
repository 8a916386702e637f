// Selections that send what is unambiguous over the batch, and Strom's fixed steps.
#pragma once

#include <memory>
#include <string>

#include "compressors/select/selector.h"

namespace thinpipe {

struct VarianceOptions {
  float alpha = 1;      ///< how unambiguous an element must be: r^2 > alpha v
  float zeta = 0.999F;  ///< decay of v in every step
  std::string tensor;   ///< its name, for errors
};

/// Variance-based compression (Tsuzuku et al., fig. 1), with r the residual and gradient added up
/// and v its own sum of the second moments: v += q; send r where r^2 > alpha v, v = 0 there;
/// elsewhere v = zeta v. Goes with a memory that clears r where something was sent.
/// select() @throws InputError when there are no second moments.
std::unique_ptr<Selector> make_variance_selector(std::size_t elements,
                                                 const VarianceOptions& options);

/// The same with |r| > tau as a second condition; S = tau with the sign of r is sent and
/// v = max(v - 2 S r + S^2, 0) where it was (Tsuzuku et al., fig. 2). Goes with a residual.
std::unique_ptr<Selector> make_hybrid_selector(std::size_t elements, float tau,
                                               const VarianceOptions& options);

/// tau with the sign of c where |c| > tau (Strom, 2015). Goes with a residual.
std::unique_ptr<Selector> make_strom_selector(std::size_t elements, float tau);

}  // namespace thinpipe
