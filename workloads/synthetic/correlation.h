// How correlated normal numbers must be for the values made of them to be as correlated as wanted.
#pragma once

#include <vector>

#include "workloads/synthetic/tables.h"

namespace thinpipe {

/// What CopulaTable says of one standard normal z: the reference of step_values().
double copula_value(const CopulaTable& table, double z);

/// Values T(z) of normal numbers z that correlate by r have the correlation sum_k p_k r^k, where
/// p_k is the share of T's variance that lies in its k-th Hermite polynomial (Mehler's formula).
class CopulaCorrelation {
 public:
  explicit CopulaCorrelation(const CopulaTable& table);

  double of_values(double of_normals) const;
  /// The inverse for a correlation in [0, 1).
  double of_normals(double of_values) const;

 private:
  std::vector<double> shares_;  ///< p_1, p_2, ...; the last one holds what is left
};

}  // namespace thinpipe
