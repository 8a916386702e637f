"""thinpipe.Compressor: payloads are those of the command, arrays of all kinds, errors that help."""
import array
import copy
import gc
import math
import os
import pickle
import tempfile
import threading
import unittest

from support import command, gradient, methods, thinpipe, write_safetensors

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch
except ImportError:
    torch = None

SHAPE = (24, 50)
ELEMENTS = 1200
STEPS = 6


class Payloads(unittest.TestCase):
    def test_are_those_of_thinpipe_compress_for_every_method(self):
        with tempfile.TemporaryDirectory(prefix="thinpipe-python-") as folder:
            for method in methods():
                with self.subTest(method["name"]):
                    self.check(method, os.path.join(folder, method["name"]))

    def check(self, method, path):
        compressor = thinpipe.Compressor(method["name"], SHAPE, name="w")
        receiver = thinpipe.Compressor(method["name"], SHAPE, name="w", rank=1)
        sent = 0
        for step in range(STEPS):
            values = gradient(ELEMENTS, step)
            squares = array.array("f", (0.1 * value * value for value in values))
            tensors = {"w": (SHAPE, values.tobytes())}
            if method["needs_squares"]:
                tensors["q:w"] = (SHAPE, squares.tobytes())
            write_safetensors(path + ".in", tensors)
            command("compress", "-c", method["name"], "-i", path + ".in", "-o", path + ".out", "--state",
                    path + ".state")
            if not compressor.exchanges:
                compressor.hold(values, squares=squares)
                continue
            payload = compressor.encode(values, squares=squares)
            with open(path + ".out", "rb") as file:
                frame = file.read()  # of one tensor: it ends with the payload and its checksum
            self.assertEqual(frame[-4 - len(payload):-4], payload, f"step {step}")
            self.assertEqual(len(payload), compressor.report.encoded_bytes)
            out = array.array("f", bytes(4 * ELEMENTS))
            receiver.decode_add(payload, out, 0.5)
            self.assertTrue(all(map(math.isfinite, out)))
            sent += sum(map(abs, out))
        with open(path + ".state", "rb") as file:
            self.assertIn(compressor.state(), file.read())
        self.assertTrue(sent > 0 or STEPS < compressor.properties.period)


class Arrays(unittest.TestCase):
    def setUp(self):
        self.values = gradient(ELEMENTS, 5)
        self.payload = thinpipe.Compressor("topk:ratio=0.1").encode(self.values)

    def assert_same(self, values):
        self.assertEqual(thinpipe.Compressor("topk:ratio=0.1").encode(values), self.payload)

    def refused(self, values, *words):
        with self.assertRaises(thinpipe.InputError) as caught:
            thinpipe.Compressor("topk:ratio=0.1").encode(values)
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_the_buffer_protocol(self):
        self.assert_same(memoryview(self.values))
        self.assert_same(memoryview(self.values.tobytes()).cast("f"))  # read-only
        self.refused(memoryview(self.values)[::2], "contiguous")
        self.refused(array.array("d", [1.0]), "'d'", "float32")
        self.refused(b"1234", "'B'")
        self.refused([1.0, 2.0], "list")
        with self.assertRaisesRegex(thinpipe.InputError, "read-only"):
            thinpipe.Compressor("topk").decode_add(b"", memoryview(bytes(8)).cast("f"))

    @unittest.skipIf(numpy is None, "no NumPy")
    def test_numpy(self):
        matrix = numpy.array(self.values).reshape(SHAPE)
        self.assert_same(matrix)
        compressor = thinpipe.Compressor("topk:ratio=0.1")
        payload = compressor.encode(matrix)
        self.assertEqual(compressor.shape, SHAPE)
        decoded = compressor.decode(payload)
        self.assertEqual((decoded.shape, decoded.dtype), (SHAPE, numpy.float32))
        self.assertEqual(numpy.count_nonzero(decoded), ELEMENTS // 10)
        kept = numpy.abs(matrix) >= numpy.sort(numpy.abs(matrix), axis=None)[-ELEMENTS // 10]
        numpy.testing.assert_array_equal(decoded, numpy.where(kept, matrix, 0))
        self.refused(matrix.T, "contiguous")
        self.refused(matrix.astype("float64"), "float32")
        self.refused(matrix.astype(">f4"), "float32")
        self.refused(numpy.zeros(ELEMENTS, "datetime64[s]"), "gradient", "ndarray")
        self.assertEqual(thinpipe.Compressor("topk").encode(numpy.zeros((0, 3), "float32")), b"\0")
        self.assertEqual(thinpipe.Compressor("topk", numpy.int64(5)).shape, (5,))

    @unittest.skipIf(torch is None, "no torch")
    def test_torch(self):
        tensor = torch.tensor(list(self.values)).reshape(SHAPE)
        self.assert_same(tensor)
        compressor = thinpipe.Compressor("topk:ratio=0.1")
        room = torch.empty(100_000, dtype=torch.uint8)
        report = compressor.encode_into(room, tensor)
        self.assertEqual(bytes(room[:report.encoded_bytes].tolist()), self.payload)
        out = torch.zeros(SHAPE)
        compressor.decode_add(room[:report.encoded_bytes], out)
        self.assertEqual(int((out != 0).sum()), ELEMENTS // 10)
        self.refused(tensor.double(), "float64", ".float()")
        self.refused(tensor.bfloat16(), "bfloat16", "exactly")
        self.refused(tensor.t(), "contiguous")
        self.refused(tensor.to("meta"), "meta", "CPU")

    @unittest.skipIf(torch is None and not hasattr(numpy, "from_dlpack"), "no DLPack")
    def test_dlpack(self):
        class Only:
            """Has DLPack's protocol and no other."""

            def __init__(self, array):
                self.array = array

            def __dlpack__(self):
                return self.array.__dlpack__()

        owners = [] if torch is None else [torch.tensor(list(self.values))]
        if hasattr(numpy, "from_dlpack"):
            owners.append(numpy.array(self.values))
        for owner in owners:
            self.assert_same(Only(owner))
            self.assert_same(Only(owner.reshape(SHAPE)))
            self.refused(Only(owner.reshape(SHAPE)[:, :7]), "contiguous")
        if torch is not None:
            self.refused(Only(torch.zeros(4, dtype=torch.float64)), "64 bits")
            self.refused(Only(torch.zeros(4, requires_grad=True)), "gradient", "detach")
            self.assertEqual(thinpipe.Compressor("topk").encode(Only(torch.zeros(3, 0))), b"\0")
        gc.collect()


class Pairs(unittest.TestCase):
    def setUp(self):
        self.compressor = thinpipe.Compressor("topk:ratio=0.1", (ELEMENTS,))
        self.payload = self.compressor.encode(gradient(ELEMENTS, 5))

    def test_are_the_decoded_values_at_ascending_positions(self):
        positions, values = self.compressor.decode_pairs(self.payload)
        self.assertEqual((len(positions), len(values)), (ELEMENTS // 10, ELEMENTS // 10))
        self.assertEqual(list(positions), sorted(set(positions)))
        decoded = [0.0] * ELEMENTS
        for position, value in zip(positions, values):
            decoded[position] = value
        self.assertEqual(decoded, list(self.compressor.decode(self.payload)))

    def test_restored_values_are_sent_again(self):
        # The residual and the values that were sent are the gradient, and a gradient of zeros adds
        # nothing to it.
        self.compressor.give_back(*self.compressor.decode_pairs(self.payload))
        self.assertEqual(self.compressor.encode(array.array("f", bytes(4 * ELEMENTS))), self.payload)

    @unittest.skipIf(torch is None, "no torch")
    def test_torch(self):
        most = self.compressor.properties.max_pairs
        positions, values = torch.empty(most, dtype=torch.int32), torch.empty(most)
        count = self.compressor.decode_pairs_into(self.payload, positions, values)
        positions, values = positions[:count], values[:count]
        out = torch.zeros(ELEMENTS)
        self.compressor.decode_add(self.payload, out)
        self.assertTrue(torch.equal(torch.zeros(ELEMENTS).scatter(0, positions.long(), values), out))
        self.compressor.give_back(positions, values)
        with self.assertRaisesRegex(thinpipe.InputError, r"int64.*torch\.int32.*\.int\(\)"):
            self.compressor.give_back(positions.long(), values)

    def test_errors_name_argument_and_remedy(self):
        own, dense = self.compressor, thinpipe.Compressor("int8", (4,))
        self.assertEqual(dense.properties.max_pairs, 0)
        most = own.properties.max_pairs
        where, values = array.array("I", bytes(4 * most)), array.array("f", bytes(4 * most))
        for words, call, *arguments in (
                ("max_pairs", dense.decode_pairs, b""),
                ("max_pairs", dense.give_back, where, values),
                ("shape=", thinpipe.Compressor("topk").decode_pairs, b""),
                (f"found {most - 1}, .* {most} pairs", own.decode_pairs_into, self.payload, where,
                 values[:-1]),
                ("positions: .*'f'.*uint32", own.decode_pairs_into, self.payload, values, values),
                ("values: .*'I'.*float32", own.decode_pairs_into, self.payload, where, where),
                ("positions: .*read-only", own.decode_pairs_into, self.payload,
                 memoryview(where.tobytes()).cast("I"), values),
                ("values: found 1 elements, expected 2", own.give_back, array.array("I", [1, 2]),
                 array.array("f", [1])),
                ("7 after 7", own.give_back, array.array("I", [7, 7]), array.array("f", [1, 1])),
                (f"less than {ELEMENTS}", own.give_back, array.array("i", [-1]),
                 array.array("f", [1]))):
            self.assertRaisesRegex(thinpipe.InputError, words, call, *arguments)
        self.assertRaises(thinpipe.PayloadError, own.decode_pairs, self.payload[:-1])


class Interface(unittest.TestCase):
    def test_errors_name_argument_and_remedy(self):
        make, floats = thinpipe.Compressor, array.array("f", 4 * [1.0])
        compressor = make("topk", (4,))
        for words, call, *arguments in (
                ("topk", make, "tokp"), ("ratio", make, "topk:ratio=2"),
                ("shape", make, "topk", (2 ** 33,)), ("shape", make, "topk", (-1,)),
                ("shape=", make("topk").state),
                ("capacity", compressor.encode_into, bytearray(1), floats),
                ("elements: found 5, expected 4", compressor.encode, array.array("f", 5 * [1.0])),
                ("period", compressor.hold, floats),
                ("second moments", make("variance").encode, floats),
                ("nonexistent", thinpipe.load_plugin, "/nonexistent.so")):
            self.assertRaisesRegex(thinpipe.InputError, words, call, *arguments)
        for words, call, *arguments in (
                ("shape", make, "topk", (2.5,)), ("shape", make, "topk", (2 ** 64 + 4,)),
                ("step: found -1", lambda: compressor.encode(floats, step=-1))):
            self.assertRaisesRegex(thinpipe.InputError, words, call, *arguments)
        for option in ({"seed": -1}, {"rank": -1}, {"threads": 2 ** 40}, {"seed": 1.5}, {"rank": "0"}):
            self.assertRaisesRegex(thinpipe.InputError, list(option)[0], make, "topk", (4,),
                                   **option)
        self.assertRaisesRegex(thinpipe.PayloadError, ".", compressor.decode, b"\xff\xff\xff")

    def test_is_not_copied_with_its_handle(self):
        compressor = thinpipe.Compressor("topk", (4,))
        for action in (copy.copy, copy.deepcopy, pickle.dumps):
            self.assertRaisesRegex(TypeError, r"state\(\)", action, compressor)

    def test_slices_are_those_of_the_two_shot_exchange(self):
        ends = thinpipe._library.slice_ends
        self.assertEqual(ends("blockint4:block=256", 10000, 3), [14 * 256, 27 * 256, 10000])
        self.assertEqual(ends("3lc", 100, 4), [100])
        with self.assertRaisesRegex(thinpipe.InputError, "tokp"):
            ends("tokp", 100, 4)

    def test_state_goes_on_as_without_a_break(self):
        first = thinpipe.Compressor("dgc:ratio=0.05", (ELEMENTS,))
        for step in range(5):
            first.encode(gradient(ELEMENTS, step))
        second = thinpipe.Compressor("dgc:ratio=0.05", (ELEMENTS,))
        second.load_state(first.state())
        second.step = first.step
        for step in range(5, 10):
            self.assertEqual(first.encode(gradient(ELEMENTS, step)),
                             second.encode(gradient(ELEMENTS, step)))
        first.reset()
        self.assertEqual(first.step, 0)
        self.assertEqual(first.encode(gradient(ELEMENTS, 0)), thinpipe.Compressor(
            "dgc:ratio=0.05").encode(gradient(ELEMENTS, 0)))

    def test_a_state_is_in_memory_once(self):
        """The library's own copy is freed. It is above 32 MiB, which malloc returns to the system."""
        def resident():
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
        elements = 12_000_000
        compressor = thinpipe.Compressor("topk:ratio=0.01", elements)
        compressor.encode(array.array("f", bytes(4 * elements)))
        before = resident()
        state = compressor.state()
        self.assertGreaterEqual(len(state), 4 * elements)
        self.assertLess(resident() - before, 1.5 * len(state))

    def test_quality_figures(self):
        compressor = thinpipe.Compressor("topk:ratio=0.1,memory=none", (ELEMENTS,))
        values = gradient(ELEMENTS, 1)
        payload = compressor.encode(values)
        report = compressor.report
        self.assertEqual((report.k, report.k_hat, report.estimation), (120, 120, 1.0))
        left = sorted(value * value for value in values)
        expected = math.sqrt(sum(left[:-120]) / sum(left))
        self.assertAlmostEqual(compressor.distortion(values, payload).relative, expected, places=6)
        none = thinpipe.Compressor("none", (4,))
        none.encode(array.array("f", [1, 2, 3, 4]))
        self.assertTrue(math.isnan(none.report.estimation))

    def test_two_workers_rounds_and_scales(self):
        workers = [thinpipe.Compressor("powersgd", SHAPE, name="w", rank=rank) for rank in (0, 1)]
        values = [gradient(ELEMENTS, rank) for rank in (0, 1)]
        rooms = [bytearray(worker.properties.max_encoded_size) for worker in workers]
        sizes = [worker.first_round(room, value).encoded_bytes
                 for worker, room, value in zip(workers, rooms, values)]
        for _ in range(workers[0].properties.rounds):
            floats = [memoryview(room)[:size].cast("f") for room, size in zip(rooms, sizes)]
            mean = array.array("f", (0.5 * (a + b) for a, b in zip(*floats)))
            del floats
            sizes = [worker.next_round(mean, room) for worker, room in zip(workers, rooms)]
        self.assertEqual(rooms[0][:sizes[0]], rooms[1][:sizes[1]])
        own = bytearray(workers[0].properties.max_encoded_size)
        self.assertEqual(workers[0].own_payload(own), sizes[0])

        scaled = [thinpipe.Compressor("terngrad", SHAPE, name="w", rank=rank) for rank in (0, 1)]
        scale = max(worker.prepare(value) for worker, value in zip(scaled, values))
        payloads = [worker.encode(value, shared_scale=scale) for worker, value in zip(scaled, values)]
        heads = {payload[:4] for payload in payloads}
        self.assertEqual(len(heads), 1)  # the scale

    def test_threads_share_a_compressor_and_run_beside_each_other(self):
        compressor = thinpipe.Compressor("topk:ratio=0.1,memory=none", (ELEMENTS,))
        values = gradient(ELEMENTS, 1)
        expected, failures = compressor.encode(values), []

        def work():
            own = bytearray(compressor.properties.max_encoded_size)
            for _ in range(100):
                report = compressor.encode_into(own, values)
                if own[:report.encoded_bytes] != expected:
                    failures.append(report)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])


if __name__ == "__main__":
    unittest.main()
