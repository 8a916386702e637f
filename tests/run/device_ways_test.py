"""device_test's comparisons with every collective and bucketing, for `./check --full`."""
from device_test import FEW, SIMULATED, DeviceCase
from run_case import main

BUCKETS = ("--overlap", "bucket", "--buckets", "first=1kb,rest=40kb")
# Settings of one run use one network and one calibration of its links, which takes longest.
NONE_OR_BUCKETS = ("--overlap", "none|bucket", *BUCKETS[2:])


class DeviceWaysTest(DeviceCase):
    def test_with_overlap_and_by_open_mpis_collectives(self):
        self.expect_same(*BUCKETS, "--collective", "openmpi")

    def test_open_mpi_takes_addresses_on_the_device(self):
        self.specs = FEW
        # Other collectives send in segments, from the host's memory.
        self.expect_same("--collective", "openmpi|ring", *NONE_OR_BUCKETS, settings=4,
                         simulated=SIMULATED | {"SIMULATED_CUDA_MPI": "1"},
                         copies=lambda collective: "openmpi" not in collective)
        self.assertTrue(self.records()[0]["mpi_takes_device_addresses"])

    def test_local_steps_and_an_outer_optimiser(self):
        self.specs = FEW
        self.expect_same("--local-steps", "2", "--outer", "diloco")

    def test_with_parameter_servers(self):
        self.specs = FEW
        self.expect_same("--collective", "ps:servers=2|ps:pull=fp16", *NONE_OR_BUCKETS, settings=4)

    def test_elements_that_are_selected_again_on_their_way(self):
        self.specs = ["topk:ratio=0.05", "dgc:ratio=0.05", "ef21:ratio=0.05", "threshold:tau=0.001"]
        self.expect_same("--collective", "gtopk|oktopk:thresholds=2", *NONE_OR_BUCKETS, settings=4)

    def test_what_a_collective_quantises_first(self):
        self.specs = ["fedavg:delay=2"]
        self.expect_same("--collective", "qgz:group=3|qgz:group=1,gather=int4", *NONE_OR_BUCKETS,
                         settings=4)

    def test_rounds_of_all_reduces(self):
        self.specs = ["powersgd:rank=2", "powersgd:rank=1,memory=ef21"]
        for point in self.expect_same("--collective", "ring|tree", *NONE_OR_BUCKETS,
                                      settings=4).values():
            self.assertTrue(all(s > 0 for s in point["metrics"]["compress_time"]["samples"]))

    def test_under_time_dilation(self):
        self.specs = FEW
        for point in self.expect_same("--time-scale", "2").values():
            self.assertEqual(point["axes"]["time_scale"], 2)


if __name__ == "__main__":
    main()
