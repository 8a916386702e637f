// Asks Perfetto's trace processor about a trace, by SQL: the engine that the Perfetto UI runs as a
// worker, as it is released (engine_bundle.js, trace_processor.wasm), in Node.
//
//   node trace_processor.mjs FOLDER TRACE < queries.json     an array of SQL texts
//
// Prints an array of results, each an array of rows, each an object by column. What the engine is
// told and answers are the messages of Perfetto's trace_processor.proto.
import {readdirSync, readFileSync} from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';

const [folder, trace] = process.argv.slice(2);
const file = (pattern) => {
  const name = readdirSync(folder).find((name) => pattern.test(name));
  if (!name) throw new Error(`${folder}: no file like ${pattern}`);
  return path.join(folder, name);
};
const kWasm = file(/^trace_processor\.wasm$/), kBundle = file(/^engine_bundle.*\.js$/);

// -- Protocol buffers: numbers of fields, and values by how they are stored.

function varint(value) {
  const bytes = [];
  for (let rest = BigInt(value); ; rest >>= 7n) {
    if (rest < 128n) return Buffer.from([...bytes, Number(rest)]);
    bytes.push(Number(rest & 127n) | 128);
  }
}
const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field, value) =>
    Buffer.concat([varint((field << 3) | 2), varint(value.length), value]);

class Reader {
  constructor(data) {
    this.data = data;
    this.at = 0;
  }
  get more() {
    return this.at < this.data.length;
  }
  varint() {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.data[this.at++];
      if (byte === undefined) throw new Error('the engine\'s answer ends in a number');
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asIntN(64, value);
    }
  }
  double() {
    this.at += 8;
    return this.data.readDoubleLE(this.at - 8);
  }
  // [field, value]: a whole or real number, or the bytes of whatever is longer.
  field() {
    const key = Number(this.varint());
    if ((key & 7) === 0) return [key >> 3, this.varint()];
    if ((key & 7) === 1) return [key >> 3, this.double()];
    if ((key & 7) !== 2) throw new Error(`the engine's answer has a field of type ${key & 7}`);
    const length = Number(this.varint());
    this.at += length;
    return [key >> 3, this.data.subarray(this.at - length, this.at)];
  }
}

// -- What a browser gives a worker, and the engine asks for.

const answers = [];  // bytes of TraceProcessorRpcStream
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = class {};
globalThis.location = {href: 'https://localhost/'};
globalThis.XMLHttpRequest = class {
  open() {}
  send() {
    this.response = readFileSync(kWasm);
  }
};
// Only the build for 32-bit memories is here: the small program with which the engine tries whether
// 64-bit ones work is refused.
const {Module} = WebAssembly;
WebAssembly.Module = function(program) {
  const kMemorySection = 5, kLimits64 = 4;
  if (program[8] === kMemorySection && program[11] === kLimits64) throw new Error('32 bits only');
  return new Module(program);
};
vm.runInThisContext(readFileSync(kBundle, 'utf8'), {filename: kBundle});
const port = {postMessage: (data) => answers.push(Buffer.from(data))};
self.onmessage({data: port});
await new Promise((resolve) => setTimeout(resolve));  // its promises are kept one by one

// -- Requests: TraceProcessorRpcStream.msg holds TraceProcessorRpc.

const kAppend = 1, kFinalize = 2, kQuery = 3;
let sequence = 0;

function ask(method, ...arguments_) {
  answers.length = 0;
  const request = Buffer.concat([number(1, ++sequence), number(2, method), ...arguments_]);
  port.onmessage({data: new Uint8Array(bytes(1, request))});
  const results = [];
  for (const stream = new Reader(Buffer.concat(answers)); stream.more;) {
    for (const message = new Reader(stream.field()[1]); message.more;) {
      const [field, value] = message.field();
      if (field === 5) throw new Error(`the engine failed: ${value}`);  // fatal_error
      if (field > 200) results.push(value);
    }
  }
  return results;
}

function append(data) {
  for (const result of ask(kAppend, bytes(101, data))) {
    for (const reader = new Reader(result); reader.more;) {
      const [field, value] = reader.field();
      if (field === 2) throw new Error(`${trace}: ${value}`);
    }
  }
}

// CellsBatch: the types of all cells, row by row, and one list of values for each type.
function cells_of(batch) {
  const types = [], whole = [], real = [], words = [];
  for (const reader = new Reader(batch); reader.more;) {
    const [field, value] = reader.field();
    if (field > 5) continue;
    const list = new Reader(value);
    if (field === 5) words.push(...value.toString().split('\0').slice(0, -1));
    while (field < 4 && list.more)
      [types, whole, real][field - 1].push(field === 3 ? list.double() : list.varint());
  }
  return types.map((type) => {
    switch (Number(type)) {
      case 1: return null;
      case 2: return Number(whole.shift());
      case 3: return real.shift();
      case 4: return words.shift();
      default: throw new Error(`a cell of type ${type}`);
    }
  });
}

function query(sql) {
  const names = [], cells = [];
  for (const result of ask(kQuery, bytes(103, bytes(1, Buffer.from(sql))))) {
    for (const reader = new Reader(result); reader.more;) {
      const [field, value] = reader.field();
      if (field === 1) names.push(value.toString());
      if (field === 2 && value.length > 0) throw new Error(`${sql}: ${value}`);
      if (field === 3) cells.push(...cells_of(value));
    }
  }
  const rows = [];
  while (cells.length > 0)
    rows.push(Object.fromEntries(names.map((name) => [name, cells.shift()])));
  return rows;
}

append(readFileSync(trace));
ask(kFinalize);
console.log(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(query)));
