"""Records the gradients of your own PyTorch job as a thinpipe trace (docs/trace-format.md).

    import thinpipe_capture
    capture = thinpipe_capture.ddp(model, "trace/", steps=8, every=100)   # model: your DDP model
    ...
    capture.loss(loss).backward()       # optional: without it the trace has no loss

The module is one file and needs only torch >= 1.13. Install it (`pip install .`) or copy it beside
your script. docs/capture.md, "From your own PyTorch job", describes what is recorded and its cost.
The training's results are the same bits as without the module. An error in the module ends the
recording with a message on standard error, and the training continues.

`python3 -m thinpipe_capture assemble DIR` rebuilds trace.json from the ranks' files in DIR.
"""
import atexit
import ctypes
import functools
import hashlib
import json
import math
import os
import platform
import queue
import re
import struct
import sys
import threading
import time
import weakref

try:
    import torch
except ImportError:  # `assemble` does not need torch
    torch = None

__version__ = "0.1.0"
__all__ = ["ddp", "module", "assemble", "Capture"]

MANIFEST = "manifest.jsonl"  # in each rank's folder: a header, a line a step, a line at the end
_DTYPES = {"float32": "F32", "bfloat16": "BF16", "float16": "F16"}
# Per-sample gradients are computed for several samples at once, within this many bytes.
_SQUARES_BYTES = 1 << 28
# Maximum wait for gloo's threads at the exit: another rank may have died in an all-reduce.
_EXIT_SECONDS = 2.0


# ---------------------------------------------------------------------------- starting a capture

def ddp(model, folder, *, then=None, **options):
    """Records what a DistributedDataParallel model hands to its all-reduce, bucket by bucket.

    Every rank calls it once, before the first step, with the same `folder` and options. It
    registers a communication hook that copies each bucket and then averages the bucket as DDP does
    without a hook. Pass your own hook as `then=(state, hook)` instead of registering it.
    The first iteration is never recorded, because DDP rebuilds its buckets after it.
    Options: see Capture.
    """
    _require_torch()
    if not isinstance(model, torch.nn.parallel.DistributedDataParallel):
        raise TypeError("thinpipe_capture.ddp takes a DistributedDataParallel model, not a "
                        f"{type(model).__name__}; use thinpipe_capture.module for a single process")
    group = model.process_group
    if then is not None and not (isinstance(then, (tuple, list)) and len(then) == 2 and
                                 callable(then[1])):
        raise ValueError("then: expected (state, hook), the arguments of register_comm_hook")
    if options.get("first") == 0:
        raise ValueError("first=0: DDP rebuilds its buckets after the first step, so this step "
                         "cannot be recorded; expected at least 1")
    capture = _DdpCapture(model.module, folder, torch.distributed.get_rank(group),
                          torch.distributed.get_world_size(group), options)
    capture.attach(model, group, then)
    return capture


def module(model, folder, *, accumulate=1, rank=0, ranks=1, **options):
    """Records the gradients of a model trained in one process, at the end of a backward pass.

    accumulate: number of backward passes in a training step, whose gradients add up (gradient
        accumulation). Ignored if you mark the steps by `with capture.step():`.
    rank, ranks: for data-parallel jobs without DDP. Every rank records its gradients before they
        are averaged.
    Options: see Capture.
    """
    _require_torch()
    if accumulate < 1:
        raise ValueError(f"accumulate={accumulate}: expected at least 1")
    capture = _ModuleCapture(model, folder, rank, ranks, options)
    capture.attach(model, accumulate)
    return capture


def _require_torch():
    if torch is None:
        raise ImportError("thinpipe_capture needs torch (1.13 or newer) to record")


def _bytes_of(limit):
    """Returns the bytes of a limit such as 2000000, "2MB" or "1.5 GiB"."""
    if not isinstance(limit, str):
        return int(limit)
    match = re.fullmatch(r"\s*([0-9.]+)\s*([kKMGT]?)(i?)B?\s*", limit)
    if not match:
        raise ValueError(f'limit="{limit}": expected bytes, for example 2000000, "2MB" or "1.5GiB"')
    base = 1024 if match[3] else 1000
    return int(float(match[1]) * base ** " KMGT".index(match[2].upper() or " "))


def _processor():
    """Returns the CPU's name, or its architecture if the system does not report a name."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return re.search(r"model name\s*: (.*)", file.read())[1]
    except (OSError, TypeError):
        return platform.processor() or platform.machine()


def _duration(seconds):
    """Returns a duration in s or ms as text, with three digits and without an exponent."""
    if seconds < 0.9995:
        return f"{1e3 * seconds:.3g} ms"
    return f"{seconds:.{3 if seconds < 999 else 6}g} s"


def _say(text):
    print(f"thinpipe_capture: {text}", file=sys.stderr, flush=True)


# -------------------------------------------------------------------------------- files of a trace

class _HashedFile:
    """A file that appears under its name only when complete, with its size and SHA-256."""

    def __init__(self, path, partial=None):
        self.path, self.partial = path, partial or path + ".partial"
        self.size, self.hash = 0, hashlib.sha256()
        self.file = open(self.partial, "wb")

    def write(self, data):
        self.hash.update(data)
        self.file.write(data)
        self.size += len(data)

    def write_tensor(self, tensor):
        """Writes the bytes of a CPU tensor without a copy. Needs no NumPy and supports bfloat16."""
        tensor = tensor.contiguous()  # the name keeps the memory alive for the pointer below
        size = tensor.numel() * tensor.element_size()
        self.write((ctypes.c_char * size).from_address(tensor.data_ptr()))

    def commit(self):
        self.file.close()  # some file systems report a full disk only here
        os.replace(self.partial, self.path)

    def discard(self):
        for undo in (self.file.close, lambda: os.unlink(self.partial)):
            try:
                undo()
            except OSError:
                pass


def _prologue(tensors, dtype, squares):
    """Returns the bytes before the values of a step file, and the size of the values in bytes.
    Second moments (FP32) come first, so that they are aligned for every dtype of the gradients."""
    entries = [("q:" + t["name"], "F32", t["shape"]) for t in tensors] if squares else []
    entries += [(t["name"], dtype, t["shape"]) for t in tensors]
    header, offset = {"__metadata__": {"format": "thinpipe-trace"}}, 0
    for name, kind, shape in entries:
        end = offset + math.prod(shape) * (4 if kind == "F32" else 2)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % 64)
    return struct.pack("<Q", len(text)) + text, offset


def _rank_folder(rank):
    return f"rank-{rank:03d}"


def _read_manifest(path):
    """Returns (header, {step's number: line}, last line or None) of a rank's manifest. Ignores a
    line cut short by a kill."""
    header, steps, last = None, {}, None
    with open(path, encoding="utf-8") as file:
        for line in file:
            try:
                if not line.endswith("\n"):
                    break
                entry = json.loads(line)
            except ValueError:
                break
            if "training_step" in entry:
                steps[entry["training_step"]] = entry
            elif "thinpipe_capture" in entry:
                header = entry
            else:
                last = entry
    return header, steps, last


def _ready_order(ready):
    """Returns each gradient's position in ready order. Equal times put the later tensor first."""
    order = sorted(range(len(ready)), key=lambda i: (ready[i], -i))
    places = [0] * len(ready)
    for place, tensor in enumerate(order):
        places[tensor] = place
    return places


def _gather(folder):
    """Reads all ranks' manifests. Returns (trace in the form of trace.json, or None if no step is
    common to all ranks; reasons why the trace is incomplete)."""
    names = sorted(name for name in os.listdir(folder) if re.fullmatch(r"rank-\d{3,}", name))
    parts, missing = {}, []
    for name in names:
        path = os.path.join(folder, name, MANIFEST)
        if os.path.exists(path):
            header, steps, last = _read_manifest(path)
            if header:
                parts[header["rank"]] = (header, steps, last)
    if not parts:
        raise ValueError(f"{folder}: contains no manifest of a capture (expected "
                         f"{_rank_folder(0)}/{MANIFEST})")
    first = parts[min(parts)][0]
    for rank in range(first["ranks"]):
        header, _, last = parts.get(rank, (None, None, None))
        if header is None:
            missing.append(f"rank {rank}: no files in this folder")
            continue
        for member in ("ranks", "tensors", "dtype", "squares"):
            if header[member] != first[member]:
                raise ValueError(f"{folder}: rank {rank} and rank {first['rank']} differ in "
                                 f"{member}; the folder may contain several captures")
        if last is None:
            missing.append(f"rank {rank}: not closed: it is still recording, or ended early")
        elif "failed" in last:
            missing.append(f"rank {rank}: {last['failed']}")
    common = set.intersection(*(set(steps) for _, steps, _ in parts.values()))
    if len(parts) < first["ranks"] or not common:
        return None, missing
    ranks = range(first["ranks"])
    steps, of_micro_batches = [], False
    for number in sorted(common):
        workers = []
        for rank in ranks:
            worker = dict(parts[rank][1][number])
            del worker["training_step"]
            of_micro_batches |= worker.pop("squares_of", "samples") != "samples"
            workers.append(worker)
        steps.append({"training_step": number, "workers": workers})
    provenance = dict(first["provenance"])
    provenance.update(steps[0]["workers"][0].pop("provenance", {}))
    if parts[0][2]:
        provenance.update(parts[0][2].get("provenance", {}))
    for step in steps:
        for worker in step["workers"]:
            worker.pop("provenance", None)
    places = _ready_order(steps[0]["workers"][0]["ready"])
    trace = {"format": "thinpipe-trace", "version": 1, "origin": "training",
             "model": first["model"], "ranks": first["ranks"], "dtype": first["dtype"],
             "squares": first["squares"],
             "squares_of": "micro-batches" if of_micro_batches else "samples",
             "complete": not missing, "missing": missing, "provenance": provenance,
             "tensors": [dict(tensor, ready_order=place)
                         for tensor, place in zip(first["tensors"], places)],
             "steps": steps}
    return trace, missing


def _trace_text(trace):
    """Returns the text of trace.json, with one tensor and one step a line for readable diffs."""
    members = []
    for name, value in trace.items():
        text = json.dumps(value, allow_nan=False)
        if name in ("tensors", "steps"):
            text = "[\n  " + ",\n  ".join(json.dumps(v, allow_nan=False) for v in value) + "]"
        members.append(f"{json.dumps(name)}: {text}")
    return ("{\n" + ",\n".join(members) + "\n}\n").encode()


def assemble(folder):
    """Writes trace.json from the ranks' manifests, with the steps that every rank has. Any process
    may call it at any time, also several at once: a process that finds new entries after writing
    writes again. Returns (number of steps in the trace, reasons why it is incomplete)."""
    folder = os.fspath(folder)
    trace, missing = _gather(folder)
    while trace is not None:
        text = _trace_text(trace)
        # A unique name: ranks on several machines may write at the same moment.
        path = os.path.join(folder, "trace.json")
        file = _HashedFile(path, f"{path}.{platform.node()}-{os.getpid()}-{threading.get_ident()}"
                                 ".partial")
        try:
            file.write(text)
            file.commit()
        except OSError:
            file.discard()
            raise
        trace, missing = _gather(folder)
        if _trace_text(trace) == text:
            return len(trace["steps"]), missing
    return 0, missing


# ----------------------------------------------------------------------------------- second moments

def _map_tensors(function, value):
    """Returns `value` with tensors in tuples, lists and dicts replaced by function(tensor)."""
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, (list, tuple)):
        items = [_map_tensors(function, item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {key: _map_tensors(function, item) for key, item in value.items()}
    return value


def _tensors_in(value):
    found = []
    _map_tensors(found.append, value)
    return found


def _functional():
    """Returns (vmap, grad, functional_call): from torch.func in 2.x, from functorch for 1.13."""
    if hasattr(torch, "func"):
        return torch.func.vmap, torch.func.grad, torch.func.functional_call
    from functorch import grad, vmap
    from torch.nn.utils.stateless import functional_call
    return vmap, grad, functional_call


class _Squares:
    """Second moments: q_i = sum over the samples z of the batch B of (d loss(z) / d w_i / |B|)^2,
    for each weight w_i. If a layer mixes samples, the sum is over micro-batches."""

    def __init__(self, model, names, parameters, loss_of, batch_dim, micro_batch):
        self.model, self.names, self.parameters = model, names, parameters
        self.loss_of, self.batch_dim, self.micro_batch = loss_of, batch_dim, micro_batch
        self.by_vmap = True  # until vmap fails
        self.why = ""

    def compute(self, batch):
        """Returns (q of each parameter, norm of the mean gradient, "samples" or "micro-batches",
        the method in words). Restores the model's buffers and the random numbers' states; does not
        change .grad."""
        tensors = _tensors_in(batch)
        if not tensors:
            raise ValueError("squares: the batch given to capture.step(batch) contains no tensor")
        size = tensors[0].shape[self.batch_dim]
        devices = sorted({p.device.index for p in self.parameters if p.is_cuda})
        buffers = [(b, b.detach().clone()) for b in self.model.buffers()]
        try:
            with torch.random.fork_rng(devices=devices):
                return self._compute(batch, size)
        finally:
            with torch.no_grad():
                for buffer, before in buffers:
                    buffer.copy_(before)

    def _compute(self, batch, size):
        part = self.micro_batch or self._part_for_mixing_layers(size)
        if part:
            how = f"micro-batches of {part} of {size} samples" + self.why
            return (*self._one_by_one(batch, size, part), "micro-batches", how)
        if self.by_vmap:
            try:
                sums = self._by_vmap(batch, size)
                return (*sums, "samples", "per-sample gradients by vmap")
            except (RuntimeError, ValueError, NotImplementedError, TypeError) as error:
                self.by_vmap = False
                self.why = f" (vmap: {str(error).splitlines()[0][:120]})"
        sums = self._one_by_one(batch, size, 1)
        return (*sums, "samples", "a backward pass for each sample" + self.why)

    def _part_for_mixing_layers(self, size):
        """Returns the size of a micro-batch if batch normalisation mixes samples: an eighth of the
        mini-batch, at least 2. Returns None if no layer mixes samples."""
        for name, layer in self.model.named_modules():
            if isinstance(layer, torch.nn.modules.batchnorm._BatchNorm) and (
                    layer.training or not layer.track_running_stats):
                self.why = f" ({type(layer).__name__} '{name}' mixes samples)"
                return max(2, size // 8)
        return None

    def _start(self):
        zeros = [torch.zeros_like(p, dtype=torch.float32) for p in self.parameters]
        return zeros, [z.clone() for z in zeros]

    @staticmethod
    def _norm(tensors):
        return math.sqrt(sum(float(t.double().pow(2).sum()) for t in tensors))

    def _by_vmap(self, batch, size):
        vmap, grad, functional_call = _functional()
        values = {n: p.detach() for n, p in zip(self.names, self.parameters)}
        rest = {n: b.detach().clone() for n, b in self.model.named_buffers()}
        rest.update((n, p.detach()) for n, p in self.model.named_parameters() if n not in values)
        tensors = _tensors_in(batch)

        def loss(parameters, *sample):
            one = iter(sample)
            whole = _map_tensors(lambda _: next(one).unsqueeze(self.batch_dim), batch)

            def call(*inputs, **named):
                return functional_call(self.model, {**rest, **parameters}, inputs, named)
            return self.loss_of(call, whole)

        each = vmap(grad(loss), in_dims=(None,) + (self.batch_dim,) * len(tensors),
                    randomness="different")
        elements = sum(p.numel() for p in self.parameters)
        chunk = max(1, min(size, _SQUARES_BYTES // (4 * elements)))
        squares, means = self._start()
        for begin in range(0, size, chunk):
            count = min(chunk, size - begin)
            gradients = each(values, *(t.narrow(self.batch_dim, begin, count) for t in tensors))
            for i, name in enumerate(self.names):
                part = gradients[name].detach().float() / size
                squares[i] += part.pow(2).sum(0)
                means[i] += part.sum(0)
        return squares, self._norm(means)

    def _one_by_one(self, batch, size, part):
        squares, means = self._start()
        begin = 0
        while begin < size:
            count = min(part, size - begin)
            if part > 1 and size - begin == part + 1:
                count += 1  # batch normalisation refuses a single sample
            piece = _map_tensors(lambda t: t.narrow(self.batch_dim, begin, count), batch)
            with torch.enable_grad():
                gradients = torch.autograd.grad(self.loss_of(self.model, piece), self.parameters,
                                                allow_unused=True)
            for i, gradient in enumerate(gradients):
                if gradient is not None:
                    value = gradient.to_dense() if gradient.is_sparse else gradient
                    value = value.detach().float() * (count / size)
                    squares[i] += value.pow(2)
                    means[i] += value
            begin += count
        return squares, self._norm(means)


# ----------------------------------------------------------------------- writing a step to disk

class _Slot:
    """Reusable host memory for the gradients of one step."""

    def __init__(self, parameters, squares):
        self.pinned = any(p.is_cuda for p in parameters)
        self.memory = {}
        for dtype in {p.dtype for p in parameters}:
            self._room(dtype, sum(p.numel() for p in parameters if p.dtype == dtype))
        self.squares = None
        if squares:
            self.squares = [torch.zeros(p.shape, dtype=torch.float32) for p in parameters]
        self.clear(len(parameters))

    def clear(self, tensors):
        self.used = {}
        self.values = [None] * tensors  # views into memory; None: no gradient

    def _room(self, dtype, elements):
        memory = self.memory.get(dtype)
        if memory is None or memory.numel() < elements:
            # zeros touches the pages now, so that no page fault is in the step's times
            memory = torch.zeros(elements, dtype=dtype, pin_memory=self.pinned)
            self.memory[dtype] = memory
        return memory

    def take(self, tensor):
        """Copies a tensor into the slot. Returns (memory of its dtype, index of its first
        element)."""
        if tensor.is_sparse:
            tensor = tensor.to_dense()
        flat = tensor.detach().reshape(-1)
        begin = self.used.get(tensor.dtype, 0)
        end = begin + flat.numel()
        memory = self.memory.get(tensor.dtype)
        if memory is None or memory.numel() < end:
            memory = self._room(tensor.dtype, end)  # earlier tensors stay where they are
        memory[begin:end].copy_(flat, non_blocking=True)
        self.used[tensor.dtype] = end
        return memory, begin


class _Record:
    """One step that is being recorded: its slot and its measurements."""

    def __init__(self, step, slot, tensors):
        self.step, self.slot = step, slot
        self.begin = self.backward = self.end = None  # marks of the clock
        self.of_end = None  # `backward` and `passes` when `end` was set
        self.ready = [None] * tensors
        self.buckets = []  # (index, tensors, mark)
        self.losses = []
        self.passes = 0
        self.scale = 1.0
        self.squares_how = None
        self.squares_norm = None
        self.copied = None  # on an accelerator: the event after the last copy


class _Writer(threading.Thread):
    """Thread that writes steps to disk, from at most `buffers` slots of memory."""

    def __init__(self, capture, buffers):
        super().__init__(name="thinpipe_capture", daemon=True)
        self.capture = capture
        self.jobs = queue.Queue()
        self.free = queue.Queue()
        self.slots_left = buffers
        self.busy, self.begun = 0.0, None  # s in earlier jobs; begin of the current job
        self.last_assembly = (0.0, 0.0)  # begin, duration
        self.written = 0  # steps
        self.closed = False

    def slot(self, wait):
        """Returns a free slot, or None if all are in use and `wait` is false."""
        try:
            return self.free.get_nowait()
        except queue.Empty:
            pass
        if self.slots_left > 0:
            self.slots_left -= 1
            return _Slot(self.capture.parameters, self.capture.squares is not None)
        if not wait:
            return None
        while self.is_alive():
            try:
                return self.free.get(timeout=1)
            except queue.Empty:
                continue
        return None

    def run(self):
        while True:
            job = self.jobs.get()
            self.begun = time.perf_counter()
            try:
                if job is None or isinstance(job, str):
                    self._finish(failed=job)
                    return
                self._save(job)
                if self.written == self.capture.planned:
                    self._finish()  # all requested steps: later events cannot damage the trace
                    return
                self._assemble_now_and_then()
            except Exception as error:  # most often a full disk
                self._fail(error)
                return
            self.busy, self.begun = self.seconds(), None

    def seconds(self):
        """Returns the busy time so far, in s."""
        return self.busy + (time.perf_counter() - self.begun if self.begun else 0)

    def _save(self, record):
        capture, slot = self.capture, record.slot
        if record.copied is not None:
            record.copied.synchronize()
        entry = {"training_step": record.step}
        entry["file"] = f"{_rank_folder(capture.rank)}/step-{record.step:08d}.safetensors"
        file = _HashedFile(os.path.join(capture.folder, entry["file"]))
        try:
            file.write(capture.prologue)
            if slot.squares is not None:
                for q in slot.squares:
                    file.write_tensor(q)
            norm = 0.0
            for shape, value in zip(capture.shapes, slot.values):
                value = torch.zeros(shape) if value is None else value
                if slot.squares is not None:
                    norm += float(value.double().div(record.scale).pow(2).sum())
                if record.scale != 1:
                    value = value.float() / record.scale
                file.write_tensor(value.to(capture.dtype))
            file.commit()
        except BaseException:
            file.discard()
            raise
        entry.update(bytes=file.size, sha256=file.hash.hexdigest())
        entry.update(capture.clock.times(record))
        losses = [float(loss) for loss in record.losses]
        total = math.fsum(losses) if losses and all(map(math.isfinite, losses)) else None
        entry["loss"] = total
        if record.passes > 1:
            entry["forward_passes"] = record.passes
        if record.squares_how is not None:
            entry["squares_of"], how = record.squares_how
            entry["provenance"] = {"squares": how}
            ratio = record.squares_norm / math.sqrt(norm) if norm > 0 else 1.0
            if math.isfinite(ratio):
                entry["squares_norm_ratio"] = ratio
            if not 0.5 < ratio < 2:
                _say(f"step {record.step}: the mean gradient behind the second moments has "
                     f"{ratio:.3g} times the norm of the step's gradient, so the second moments "
                     "may be wrong. squares= must return the mean loss of the training, and "
                     "step(batch) must get the step's batch")
        capture.append(entry)
        self.written += 1
        slot.clear(len(capture.shapes))
        self.free.put(slot)

    def _assemble_now_and_then(self):
        """On rank 0, updates trace.json, so rarely that updates take at most 5 % of the time."""
        when, took = self.last_assembly
        begin = time.perf_counter()
        if self.capture.rank == 0 and begin - when >= 20 * took:
            assemble(self.capture.folder)
            self.last_assembly = (begin, time.perf_counter() - begin)

    def _finish(self, failed=None):
        last = {"closed": True, "provenance": self.capture.overhead(self.seconds())}
        self.capture.append({"failed": failed} if failed else last)
        assemble(self.capture.folder)
        self.closed = True
        self.capture.tell_summary()

    def _fail(self, error):
        self.closed = True
        reason = str(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        reason = " ".join(reason.split())
        self.capture.stop(f"stopped: {reason}")
        for last in (lambda: self.capture.append({"failed": reason}),
                     lambda: assemble(self.capture.folder)):
            try:
                last()
            except (OSError, ValueError):
                pass  # the disk is full; a manifest without a last line marks the failure
        while True:  # a training that waits for a slot must not wait for ever
            try:
                self.free.put(self.jobs.get_nowait().slot)
            except (queue.Empty, AttributeError):
                return


class _Clock:
    """Makes time marks, and computes the times between them. A mark is the CPU's clock minus the
    time in the capture's own code, in s, or an event on an accelerator's stream."""

    def __init__(self, capture, cuda):
        self.capture, self.cuda = capture, cuda

    def mark(self):
        if not self.cuda:
            # If mark() is called inside one of the capture's own calls, the mark is the moment at
            # which that call began, not the present. After that moment, another thread may hold the
            # interpreter for a while. This time counts as the capture's own and is subtracted from
            # the next mark. If this mark included the time, the next mark could lie before this
            # one.
            now = self.capture.entered
            return (time.perf_counter() if now is None else now) - self.capture.spent
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def _between(self, begin, end):
        seconds = begin.elapsed_time(end) / 1e3 if self.cuda else end - begin
        return max(0.0, seconds)

    def times(self, record):
        """Returns `forward`, `backward`, `ready` and `buckets` as in trace.json, in s."""
        backward = self._between(record.backward, record.end)

        def since(mark):  # a tensor without a gradient is ready when the pass has ended
            return backward if mark is None else min(backward, self._between(record.backward, mark))
        times = {"forward": self._between(record.begin, record.backward), "backward": backward,
                 "ready": [since(mark) for mark in record.ready]}
        if record.buckets:
            times["buckets"] = [{"index": index, "tensors": tensors, "ready": since(mark)}
                                for index, tensors, mark in record.buckets]
        return times


# ------------------------------------------------------------------------------------- the captures

def _ours(method):
    """Decorates an entry point: counts its time as the capture's own. An error in the entry point
    ends the recording, but not the training."""
    @functools.wraps(method)
    def timed(self, *arguments):
        if self.entered is not None:  # called by another entry point, which counts the time
            return method(self, *arguments)
        begin = self.entered = time.perf_counter()
        try:
            return method(self, *arguments)
        except Exception as error:
            self.stop(f"stopped: {type(error).__name__}: {error}", tell_writer=True)
        finally:
            self.entered = None
            self.spent += time.perf_counter() - begin
    return timed


class _Step:
    """The context manager of `with capture.step(batch):`."""

    def __init__(self, capture, batch):
        self.capture, self.batch = capture, batch

    def __enter__(self):
        self.capture._enter(self.batch)
        return self.capture

    def __exit__(self, kind, value, traceback):
        self.capture._leave()


class Capture:
    """A recording of some training steps. thinpipe_capture.ddp and .module create it.

    steps: number of steps to record.
    every: distance between recorded steps, in training steps.
    first: first recorded step, counted from 0 (default 3: earlier steps allocate memory and choose
        kernels).
    dtype: type of the written values: "float32", "bfloat16" or "float16". The default is the type
        of the gradients if it is one of these and the same for all, else float32. The trace notes
        a rounding.
    limit: maximum bytes of the whole trace, for example 2000000, "2MB" or "1.5GiB". Steps that
        would exceed it are not recorded.
    buffers: number of steps whose gradients fit in host memory. If all buffers wait for the disk,
        the training waits before its next recorded step (when_full="wait"), or the step is not
        recorded ("drop").
    squares: function loss_of(model, batch) that returns the mean loss of a batch. Second moments
        are then recorded too. The function must call the model that it gets. Mark each step by
        `with capture.step(batch):`, where the tensors in batch have the samples along dimension
        batch_dim.
    micro_batch: number of samples in each term of the second moments. The default is single
        samples, or micro-batches if batch normalisation mixes samples.
    scaler: your torch.cuda.amp.GradScaler. Values are divided by its scale.
    name: name of the model in the trace.
    """

    def __init__(self, model, folder, rank, ranks, options):
        self._settings(model, rank, ranks, **options)
        self.folder = os.fspath(folder)
        self.rank, self.ranks = rank, ranks
        header = {"thinpipe_capture": 1, "rank": rank, "ranks": ranks, "model": self.name,
                  "tensors": self.tensors, "dtype": _DTYPES[str(self.dtype)[6:]],
                  "squares": self.squares is not None, "provenance": self._provenance()}
        restarted = self._create_folder(header)
        cuda = any(p.is_cuda for p in self.parameters)
        self.clock = _Clock(self, cuda)
        self.spent = 0.0  # s in this module's code, in the training's thread
        self.entered = None  # begin of the current call into this module; see _Clock
        # By whether a step is recorded: steps, s, s in this module's code.
        self._counts = {True: [0, 0.0, 0.0], False: [0, 0.0, 0.0]}
        self._last_end = None
        self._waited, self._dropped = 0.0, 0
        # `thinpipe net torchrun` names a folder for each rank's report of its steps.
        reports = os.environ.pop("THINPIPE_STEPS", "")
        self._reported = os.path.isdir(reports) and open(
            os.path.join(reports, os.environ.get("RANK", str(rank))), "a", buffering=1)
        self._step, self._open, self._record, self._recorded = 0, False, None, False
        self._manual, self._off, self._said = False, False, False
        self._handles, self._gradient_handles = [], []
        self._pid = os.getpid()
        self._writer = _Writer(self, self.buffers)
        if restarted:
            self._off = self._said = self._writer.closed = True
            return
        self._writer.start()
        atexit.register(self.close)

    def _settings(self, model, rank, ranks, steps=8, every=1, first=3, dtype=None, limit=None,
                  buffers=2, when_full="wait", squares=None, batch_dim=0, micro_batch=None,
                  scaler=None, name=None):
        for word, value, least in (("steps", steps, 1), ("every", every, 1), ("first", first, 0),
                                   ("buffers", buffers, 1), ("rank", rank, 0),
                                   ("ranks", ranks, rank + 1)):
            if not isinstance(value, int) or value < least:
                raise ValueError(f"{word}={value!r}: expected a whole number of at least {least}")
        if when_full not in ("wait", "drop"):
            raise ValueError(f'when_full={when_full!r}: expected "wait" or "drop"')
        if squares is not None and not callable(squares):
            raise ValueError(f"squares={squares!r}: expected a function loss_of(model, batch)")
        if scaler is not None and not hasattr(scaler, "get_scale"):
            raise ValueError(f"scaler={scaler!r}: expected a GradScaler")
        self.every, self.first, self.asked = every, first, steps
        self.buffers, self.when_full, self.scaler = buffers, when_full, scaler
        self.name = name or type(model).__name__
        named = [(n, p) for n, p in model.named_parameters() if p.requires_grad and p.numel() > 0]
        if not named:
            raise ValueError(f"{self.name} has no parameter that requires a gradient")
        self.names = [n for n, _ in named]
        self.parameters = [p for _, p in named]
        self.shapes = [list(p.shape) for p in self.parameters]
        self.tensors = [{"name": n, "shape": s} for n, s in zip(self.names, self.shapes)]
        self._index = {id(p): i for i, p in enumerate(self.parameters)}
        # Strides of dense parameters; `None` where elements overlap or have gaps.
        self._strides = [p.stride() if torch.empty_like(p).stride() == p.stride() else None
                         for p in self.parameters]
        self.dtype = self._choose_dtype(dtype)
        self.squares = None
        if squares is not None:
            self.squares = _Squares(model, self.names, self.parameters, squares, batch_dim,
                                    micro_batch)
        self.prologue, values = _prologue(self.tensors, _DTYPES[str(self.dtype)[6:]],
                                          squares is not None)
        self.step_bytes = len(self.prologue) + values
        self.planned, self._limited = steps, None
        if limit is not None:
            self.planned = min(steps, _bytes_of(limit) // (self.step_bytes * ranks))
            if self.planned <= 0:
                raise ValueError(f"limit={limit!r}: one step of {ranks} ranks takes "
                                 f"{self.step_bytes * ranks} bytes")
            if self.planned < steps:
                self._limited = (f"the limit of {limit} allows {self.planned} of the {steps} "
                                 "requested steps")
                if rank == 0:
                    _say(self._limited)

    def _choose_dtype(self, wanted):
        kinds = {str(p.dtype)[6:] for p in self.parameters}
        self._rounded_from = None
        if wanted is None:
            wanted = kinds.copy().pop() if len(kinds) == 1 and kinds <= set(_DTYPES) else "float32"
        wanted = str(wanted).replace("torch.", "")
        if wanted not in _DTYPES:
            raise ValueError(f'dtype={wanted!r}: expected "float32", "bfloat16" or "float16"')
        if kinds - {wanted} and not (wanted == "float32" and kinds <= set(_DTYPES)):
            self._rounded_from = ", ".join(sorted(kinds))
        return getattr(torch, wanted)

    def _provenance(self):
        facts = {"program": "thinpipe_capture", "version": __version__, "hooks": self.hooks,
                 "torch": torch.__version__, "python": platform.python_version(),
                 "cpu": _processor(), "threads": torch.get_num_threads(),
                 "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                 "first": self.first, "every": self.every, "steps_asked": self.asked}
        cards = {torch.cuda.get_device_name(p.device) for p in self.parameters if p.is_cuda}
        if cards:
            facts["device"] = ", ".join(sorted(cards))
        if self._rounded_from:
            facts["rounded_from"] = self._rounded_from
        if self._limited:
            facts["stopped"] = self._limited
        return facts

    def _create_folder(self, header):
        """Creates the rank's folder. If a restarted job finds its earlier folder, returns True and
        writes nothing, so that the job does not fail again because of its own files."""
        own = os.path.join(self.folder, _rank_folder(self.rank))
        taken = own if os.path.exists(own) else None
        if self.rank == 0 and os.path.exists(os.path.join(self.folder, "trace.json")):
            taken = os.path.join(self.folder, "trace.json")
        if taken is None:
            os.makedirs(own)
            self.append(header)
            return False
        if any(os.environ.get(count, "0") not in ("", "0")
               for count in ("TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT")):
            if self.rank == 0:
                _say(f"{taken} exists from before this job's restart, so nothing is recorded")
            return True
        raise FileExistsError(f"{taken} already exists; expected a new folder (a trace is never "
                              "overwritten)")

    def append(self, entry):
        """Appends a line to this rank's manifest, in one write."""
        line = (json.dumps(entry, allow_nan=False) + "\n").encode()
        path = os.path.join(self.folder, _rank_folder(self.rank), MANIFEST)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            size = os.fstat(file).st_size
            if os.write(file, line) != len(line):
                os.ftruncate(file, size)
                raise OSError(28, "No space left on device", path)
        finally:
            os.close(file)

    # ---- what a training script calls

    def step(self, batch=None):
        """Marks a training step: `with capture.step():` around its forward and backward passes.
        Needed with squares=, and if the model runs forward with gradients outside of training
        steps. Otherwise steps are recognised automatically."""
        return _Step(self, batch)

    @_ours
    def _note_loss(self, loss):
        if self._record is not None:
            self._record.losses.append(loss.detach().clone())
        if self._record is not None or self._watches_every_backward():
            if loss.requires_grad:
                loss.register_hook(self._backward_begins)

    def loss(self, loss):
        """Records this step's loss and returns it. Several losses in one step are added, like their
        gradients."""
        self._note_loss(loss)
        return loss

    def close(self):
        """Ends the recording and waits until all is written. Called automatically at the exit."""
        if self._pid != os.getpid():
            return  # a forked child
        atexit.unregister(self.close)
        self._abandon()
        self._detach()
        if self._writer.is_alive():
            self._writer.jobs.put(None)
            self._writer.join()
        self.tell_summary()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self.close()

    # ---- inside

    def stop(self, message, tell_writer=False):
        """Ends the recording; the training continues."""
        if self._off:
            return
        self._off = True
        _say(f"rank {self.rank}: {message}")
        if tell_writer:
            self._writer.jobs.put(message)
            self._abandon()

    def _abandon(self):
        self._drop_gradient_hooks()
        record, self._record = self._record, None
        if record is not None:
            record.slot.clear(len(self.shapes))
            self._writer.free.put(record.slot)

    def _detach(self):
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self._off = True

    def _drop_gradient_hooks(self):
        for handle in self._gradient_handles:
            handle.remove()
        self._gradient_handles = []

    def _is_due(self):
        since = self._step - self.first
        return (not self._off and since >= 0 and since % self.every == 0 and
                since // self.every < self.planned)

    def _begin(self, batch=None):
        """Begins a training step. If the step is due, takes memory for it and computes its second
        moments, before the step's clock starts."""
        self._open = True
        if not self._is_due():
            return
        before = time.perf_counter()
        slot = self._writer.slot(self.when_full == "wait")
        self._waited += time.perf_counter() - before
        if slot is None:
            if not self._off:
                self._dropped += 1
                _say(f"rank {self.rank}: step {self._step} is not recorded: all {self.buffers} "
                     "buffers wait for the disk")
            return
        record = _Record(self._step, slot, len(self.shapes))
        if self.squares is not None:
            if batch is None:
                self._writer.free.put(slot)
                raise ValueError("squares= needs `with capture.step(batch):` around each step")
            self._computing = True
            try:
                q, record.squares_norm, of, how = self.squares.compute(batch)
            finally:
                self._computing = False
            record.squares_how = (of, how)
            for mine, value in zip(slot.squares, q):
                mine.copy_(value)
        for i, parameter in enumerate(self.parameters):
            self._gradient_handles.append(
                parameter.register_hook(functools.partial(self._gradient_ready, i)))
        self._record = record
        self._starts = True  # the clock starts with the first forward pass

    _computing = False
    _starts = False

    def _watch(self, model):
        self._handles = [model.register_forward_pre_hook(self._before),
                         model.register_forward_hook(self._after_forward)]

    def _before(self, model, inputs):
        self._before_forward(model, inputs)
        self._start_clock()

    @_ours
    def _enter(self, batch):
        self._manual = True
        if not self._open:
            self._begin(batch)

    @_ours
    def _before_forward(self, _module, _inputs):
        if self._computing or not torch.is_grad_enabled():
            return
        if self._writer.closed and not self._reported:  # all steps are recorded
            self._detach()
            return
        if not self._open:
            if self._manual:
                return
            self._begin()
        record = self._record
        if record is not None:
            record.passes += 1
            record.backward = None  # the last pass sets it

    def _start_clock(self):
        """Starts the step's clock, after the time of _before_forward has been counted."""
        if self._starts and self._record is not None:
            self._record.begin = self.clock.mark()
        self._starts = False

    @_ours
    def _after_forward(self, _module, _inputs, outputs):
        if self._computing or not torch.is_grad_enabled():
            return
        if self._record is not None or self._watches_every_backward():
            for tensor in _tensors_in(outputs):
                if tensor.requires_grad:
                    tensor.register_hook(self._backward_begins)

    @_ours
    def _backward_begins(self, _gradient):
        record = self._record
        if record is not None and record.backward is None:
            record.backward = self.clock.mark()
        self._seen_backward()

    @_ours
    def _gradient_ready(self, index, _gradient):
        record = self._record
        if record is not None:
            record.ready[index] = self.clock.mark()
            if record.backward is None:  # no tensor was found in the output
                record.backward = record.ready[index]
        self._seen_backward()

    def _watches_every_backward(self):
        return False

    def _seen_backward(self):
        pass

    def _note_scale(self, record):
        """Notes the loss scale of the gradients that were just copied. It is not read at the step's
        end, because a marked step may contain `scaler.update()`."""
        if self.scaler is not None:
            record.scale = float(self.scaler.get_scale())

    def _end(self, end):
        """Ends a training step, and passes a recorded step to the writer. `end`: the mark of the
        end of the backward pass; None if the step is not recorded."""
        record, self._record = self._record, None
        self._drop_gradient_hooks()
        self._open = False
        self._step += 1
        if record is not None:
            record.end = end
            record.begin = record.begin if record.begin is not None else record.backward
            if self.clock.cuda:
                record.copied = torch.cuda.Event()
                record.copied.record()
            self._writer.jobs.put(record)
        now = time.perf_counter()
        if self._last_end is not None:
            if self._reported:
                self._reported.write(f'{{"step_time": {now - self._last_end[0]}}}\n')
            count = self._counts[record is not None]
            count[0] += 1
            count[1] += now - self._last_end[0]
            count[2] += self.spent - self._last_end[1]
        self._last_end = (now, self.spent)

    # ---- overhead

    def overhead(self, writer_seconds):
        """Returns the mean step times and the module's mean time in a step, in s, for the
        provenance."""
        facts = {"writer_seconds": round(writer_seconds, 6)}
        for recorded, word in ((True, "recorded"), (False, "other")):
            steps, seconds, ours = self._counts[recorded]
            if steps:
                facts[f"{word}_step_seconds"] = round(seconds / steps, 9)
                facts[f"{word}_step_overhead_seconds"] = round(ours / steps, 9)
        return {"overhead": facts}

    def tell_summary(self):
        if self.rank == 0 and not self._said:
            self._said = True
            _say(self._summary())

    def _summary(self):
        text = f"{self._writer.written} of {self.asked} steps recorded in {self.folder}"
        if self._step == 0:
            return text + (": no backward pass was seen; if the model's output is not a tensor, "
                           "tuple, list or dict, call capture.loss(loss) before the backward pass")
        text += f", {self._writer.written * self.step_bytes * self.ranks / 1e6:.3g} MB"
        for recorded, word in ((True, "a recorded step"), (False, "an unrecorded step")):
            steps, seconds, ours = self._counts[recorded]
            if steps:
                share = 100 * ours / seconds
                text += (f"; overhead {_duration(ours / steps)} of {_duration(seconds / steps)} "
                         f"({share:.{2 if share < 99 else 3}g} %) in {word}")
        text += f"; the writer thread was busy for {_duration(self._writer.seconds())}"
        if self._waited > 0.001:
            text += f"; the training waited {_duration(self._waited)} for the writer thread"
        if self._dropped:
            text += f"; {self._dropped} steps were dropped"
        return text


class _FirstTensor:
    """Callback that returns the only tensor in the list that an all-reduce returns."""

    def __call__(self, future):
        return future.value()[0]


class _DdpCapture(Capture):
    """Records gradients from the buckets of DistributedDataParallel."""

    hooks = "buckets of DistributedDataParallel"

    def attach(self, model, group, then):
        self._group, self._then = group, then
        self._divides = False
        self._callbacks = weakref.WeakSet()
        atexit.register(self._let_go)
        model.register_comm_hook(None, self._hook)
        model.register_forward_pre_hook(self._note_division)  # as long as the hook above
        self._watch(model)

    def _note_division(self, model, _inputs):
        # Without a hook, torch's reducer multiplies gradients by the reciprocal of the number of
        # ranks while it copies them into a bucket. If the gradients are already in the bucket, it
        # divides them by the number of ranks. The hook does the same arithmetic, so that it gives
        # the same bits.
        self._divides = model.gradient_as_bucket_view and self.parameters[0].grad is not None

    def _hook(self, _state, bucket):
        self._take_bucket(bucket)
        if self._then is not None:
            return self._then[1](self._then[0], bucket)
        values = bucket.buffer()
        if self._divides or values.is_sparse:
            values.div_(self.ranks)
        else:
            values.mul_(1.0 / self.ranks)
        reduction = torch.distributed.all_reduce(values, group=self._group, async_op=True)
        callback = _FirstTensor()
        self._callbacks.add(callback)
        return reduction.get_future().then(callback)

    def _let_go(self):
        """At the exit, waits until gloo's threads have released all callbacks of this module. A
        thread needs the interpreter for the release and aborts the process if the interpreter is
        gone, after all work is done (torch 1.13, also with its own Python hooks)."""
        if self._pid != os.getpid():
            return
        until = time.perf_counter() + _EXIT_SECONDS
        # A callback is released before its future; a few more turns let the future go too.
        turns = 5
        while turns > 0 and time.perf_counter() < until:
            turns = 5 if len(self._callbacks) > 0 else turns - 1
            time.sleep(0.001)

    @_ours
    def _take_bucket(self, bucket):
        record = self._record
        if record is not None:
            mark = self.clock.mark()
            values = bucket.buffer()
            memory, begin = record.slot.take(values)
            # DDP's buckets have parameters without elements too, which are not recorded.
            indices = [self._index.get(id(parameter)) for parameter in bucket.parameters()]
            members = [index for index in indices if index is not None]
            if values.is_sparse:  # the only gradient of its bucket
                shape = self.shapes[members[0]]
                record.slot.values[members[0]] = memory[begin:begin + math.prod(shape)].view(shape)
            else:  # views of the bucket, where DDP keeps the memory layout of the parameters
                begin -= values.storage_offset()
                for index, view in zip(indices, bucket.gradients()):
                    if index is None:
                        continue
                    record.slot.values[index] = torch.as_strided(
                        memory, view.size(), self._strides[index] or view.stride(),
                        begin + view.storage_offset())
            record.buckets.append((bucket.index(), members, mark))
            if bucket.is_last():
                if record.backward is None:
                    record.backward = mark
                self._note_scale(record)
                self._end(mark)
        elif bucket.is_last():
            self._end(None)

    @_ours
    def _leave(self):
        # The last bucket ends the step; without buckets (no_sync) the step continues. Without a backward
        # pass it was none, and its second moments are not those of the next.
        if self._record is not None and self._record.backward is None:
            self._abandon()
            self._open = False


class _ModuleCapture(Capture):
    """Records the gradients in .grad at the end of a backward pass."""

    hooks = "gradients at the end of the backward pass"

    def attach(self, model, accumulate):
        self._accumulate, self._passes = accumulate, 0
        # Of the callback at the end of the current backward pass. Only torch's engine has a strong
        # reference to the callback, and drops it unused if the pass fails.
        self._callback = None
        self._watch(model)

    def _watches_every_backward(self):
        return self._open and not self._manual

    def _seen_backward(self):
        if self._open and (self._callback is None or self._callback() is None):
            callback = functools.partial(self._backward_ends)
            self._callback = weakref.ref(callback)
            torch.autograd.Variable._execution_engine.queue_callback(callback)

    @_ours
    def _before_forward(self, module, inputs):
        if self._callback is not None and self._callback() is None:
            # The last backward pass failed. Its step begins anew.
            self._callback, self._passes = None, 0
            if not self._manual:
                self._abandon()
                self._open = False
        super()._before_forward(module, inputs)

    @_ours
    def _backward_ends(self):
        self._callback = None
        self._passes += 1
        record = self._record
        whole = self._manual or self._passes == self._accumulate
        if record is not None and whole:
            record.end = self.clock.mark()
            record.of_end = record.backward, record.passes
            record.slot.clear(len(self.shapes))
            for i, parameter in enumerate(self.parameters):
                if parameter.grad is not None:
                    memory, begin = record.slot.take(parameter.grad)
                    record.slot.values[i] = memory[begin:begin + parameter.numel()].view(
                        parameter.shape)
            self._note_scale(record)
        if whole and not self._manual:
            self._passes = 0
            self._end(record.end if record is not None else None)

    @_ours
    def _leave(self):
        record = self._record
        if record is not None and record.end is None:  # not a step, without a backward pass
            self._abandon()
            self._open = False
            return
        if record is not None:  # without forward passes after the last backward pass
            record.backward, record.passes = record.of_end
        self._end(record.end if record is not None else None)


def main(words):
    if len(words) != 2 or words[0] != "assemble":
        print("usage: python3 -m thinpipe_capture assemble DIR", file=sys.stderr)
        return 2
    try:
        steps, missing = assemble(words[1])
    except (OSError, ValueError) as error:
        print(f"thinpipe_capture: {error}", file=sys.stderr)
        return 2
    print(f"{words[1]}: {steps} steps recorded by all ranks" +
          ("; complete" if not missing else "; incomplete: " + "; ".join(missing)))
    return 4 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
