"""--time-scale on a topology: the links between switches are slowed down too."""

from run_case import RunCase, main
from time_dilation import check_same_step


class ScaleTopologyTest(RunCase):
    def test_all_links_of_a_topology_are_slowed_down(self):
        # Two racks of one host each; the uplinks have a rate of their own and limit the exchange.
        points = self.measure(*self.sweep("-c", "none", link="rate=200mbit", steps=5, warmup=1,
                                          trace=self.trace(elements=100000, compute=0.01),
                                          topology="racks:uplink=(rate=40mbit)",
                                          time_scale="1|3"), timed=self.check_exchange)
        one, three = sorted(points, key=lambda point: point["axes"]["time_scale"])
        self.assertEqual((one["axes"]["time_scale"], three["axes"]["time_scale"]), (1, 3))
        check_same_step(self, three, one)

    def check_exchange(self, point):
        # 400 kB in each direction through 13.3 Mbit/s cannot take less.
        if point["axes"]["time_scale"] == 3:
            self.assertGreater(min(point["raw"]["exchange_time"]), 0.9 * 400e3 * 8 / (40e6 / 3))


if __name__ == "__main__":
    main()
