// Serializes long responses in pieces.

const PIECE_LENGTH = 16 * 1024;

/**
 * Serializes a body to JSON in pieces of about 16 KiB. Array items are serialized one by one, so that no step takes
 * long.
 */
export function* jsonPieces(body: object): Generator<string> {
  let piece = '';
  for (const part of jsonParts(body)) {
    piece += part;
    if (piece.length < PIECE_LENGTH) continue;
    yield piece;
    piece = '';
  }
  yield piece;
}

function* jsonParts(body: object): Generator<string> {
  let separator = '{';
  for (const [name, member] of Object.entries(body)) {
    yield `${separator}${JSON.stringify(name)}:`;
    if (Array.isArray(member)) yield* arrayParts(member);
    else yield JSON.stringify(member);
    separator = ',';
  }
  yield separator === '{' ? '{}' : '}';
}

function* arrayParts(items: unknown[]): Generator<string> {
  let separator = '[';
  for (const item of items) {
    yield separator + JSON.stringify(item);
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}
