// From reports to the bytes of a batch.

const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

export const unhex = (digits) => (digits.match(/../g) ?? []).map((pair) => parseInt(pair, 16));

// The low bytes of a number, the lowest first.
const little = (number, length) =>
  Array.from({ length }, (_, place) => Number((number >> BigInt(8 * place)) & 0xffn));

const varint = (number) => {
  const bytes = [];
  for (; number > 0x7fn; number >>= 7n) bytes.push(Number(number & 0x7fn) | 0x80);
  return [...bytes, Number(number)];
};

const numberField = (field, value) => (value ? [...varint(BigInt(field << 3)), ...varint(BigInt(value))] : []);

const bytesField = (field, value) =>
  value.length ? [...varint(BigInt((field << 3) | 2)), ...varint(BigInt(value.length)), ...value] : [];

// A batch, as the message that travels; and the rows in it. `shapes` are those of all columns, by number.
export const batch = ({ digest, batch_id, epoch, segment_index, reports }, shapes) => {
  const rows = [];
  const wide = [];
  for (const [column, digits] of reports) {
    const payload = BigInt(`0x${digits}`);
    const shape = shapes[column];
    if (!shape.wide) rows.push(...little((BigInt(column) << 48n) | payload, 8));
    else wide.push([column, little(payload, Math.ceil((shape.name === "bitmap" ? shape.size : 32 * shape.size) / 8))]);
  }
  const request = [
    ...bytesField(1, unhex(batch_id)),
    0x11,
    ...little(BigInt(`0x${digest}`), 8),
    ...numberField(3, epoch),
    ...numberField(4, segment_index),
    ...bytesField(5, rows),
    ...wide.flatMap(([column, payload]) => bytesField(6, [...numberField(1, column), ...bytesField(2, payload)])),
  ];
  return {
    rows: hex(rows),
    wide_rows: wide.map(([column, payload]) => [column, hex(payload)]),
    request: hex(request),
  };
};

// Which of all combinations of a collection's segments a device is in.
export const segmentIndex = (segments, segment) =>
  segments.reduce((index, [name, values]) => index * values.length + values.indexOf(segment[name]), 0);
