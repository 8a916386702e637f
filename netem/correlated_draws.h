// What netem makes of a chance with a correlation, and how to ask it for what is meant.
#pragma once

namespace thinpipe {

/// netem decides by draws that remember: x = (1 - c) u + c x', with u uniform on 0 to 1 and x' the
/// draw before (get_crandom in net/sched/sch_netem.c). Their mean is 1/2, but they crowd around it:
/// fewer than `threshold` of them are at or below a threshold under 1/2. With c = 25 %, netem's
/// loss of 1 % loses 0.00024 %.
///
/// This is the share at or below a threshold, both 0 to 1, for a correlation from 0 to 1: the
/// distribution of the sum of (1 - c) c^k u_k over all k, from its Fourier series on 0 to 1.
double correlated_share(double threshold, double correlation);

/// The threshold at or below which `share` of the draws are: what to ask netem for. 0 and 1 are
/// themselves. @throws InputError for a correlation of 1, under which the first draw decides all.
double correlated_threshold(double share, double correlation);

}  // namespace thinpipe
